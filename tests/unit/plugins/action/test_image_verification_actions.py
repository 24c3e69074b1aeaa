# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The actions that verify an image: the plan, the comparison (with a simulated machine), and the report."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import typing as t
from pathlib import Path

import pytest
from integration.imaging import install, put
from unit.action_run import Node, run, run_on
from unit.image_contents import CONTENTS, HOSTILE, HOSTILE_CONTENTS

from ansible_collections.winkube.node.plugins.action import (
    image_verification,
    image_verification_plan,
    image_verification_report,
    release_notes,
)
from ansible_collections.winkube.node.plugins.plugin_utils.release_notes import contents
from ansible_collections.winkube.node.plugins.plugin_utils.values.errors import ResourceError

CACHE = "C:\\ProgramData\\winkube\\cache"
RELEASE = "20261126.1a2b3c4d"
ARCHIVE = f"{CACHE}\\nssm\\2.24\\nssm-2.24.zip"
SETUP = r"HKLM:\SOFTWARE\Microsoft\Windows\CurrentVersion\Setup\State"
FIRST_BOOT = "C:\\Windows\\winkube\\first-boot"


@pytest.fixture
def node(node: Node) -> Node:
    """Return a machine with containerd and a cached artifact."""
    install(node.machine, "2.3.7")
    put(node.machine, ARCHIVE, b"the archive")
    manifest = {"kind": "nssm", "version": "2.24", "sha256": hashlib.sha256(b"the archive").hexdigest()}
    put(node.machine, f"{ARCHIVE}.manifest.json", json.dumps(manifest).encode())
    return node


@pytest.fixture
def notes(node: Node, tmp_path: Path) -> Path:
    """Return the release notes of this machine, with the identity of another one."""
    result = run_on(node, release_notes, {"release": RELEASE, "directory": str(tmp_path), "sbom": False})
    path = Path(result["files"]["json"])
    change(path, identity={"computer_name": "BUILDER", "sid": "S-1-5-21-1-2-3", "host_keys": ["00"]})
    return path


def change(path: Path, **parts: t.Any) -> None:
    """Replace parts of release notes."""
    document = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps({**document, **parts}), encoding="utf-8")


def part(path: Path, name: str) -> t.Any:
    """Return a part of release notes."""
    return json.loads(path.read_text(encoding="utf-8"))[name]


def compare(node: Node, notes: Path, **more: t.Any) -> dict[str, t.Any]:
    return run_on(node, image_verification, {"release_notes": str(notes), **more})


def failed(result: t.Mapping[str, t.Any], status: str = "failed") -> set[tuple[str, str]]:
    """Return section and item of the checks with a status."""
    return {(one["section"], one["item"]) for one in result["checks"] if one["status"] == status}


def test_a_machine_from_the_image_passes_with_one_remote_command(node: Node, notes: Path) -> None:
    node.remote_commands = 0
    result = compare(node, notes)
    assert failed(result) == set()
    assert (result["changed"], result["remote_commands"], result["release"]) == (False, 1, RELEASE)
    # The release notes contain none of these.
    unknown = ("certificates", "Remote Desktop's certificate", "Windows Update client")
    assert failed(result, "not_checked") == {("Identity", item) for item in unknown}
    # Every item of the release notes is a check.
    checked = {(one["section"], one["item"]) for one in result["checks"]}
    sections = {
        "Windows features": [one["name"] for one in part(notes, "features")],
        "Installed updates": [one["id"] for one in part(notes, "updates")],
        "Services": [one["name"] for one in part(notes, "services")],
        "Registry fixes": [f"{one['path']}\\{one['value_name']}" for one in part(notes, "registry_fixes")],
        "Cached artifacts": [one["path"] for one in part(notes, "artifacts")],
        "Container images": [name for one in part(notes, "container_images") for name in one["names"]],
    }
    assert {(section, item) for section, items in sections.items() for item in items} <= checked
    assert result["counts"]["passed"] == len(failed(result, "passed")) > 70


def downloaded_artifact(node: Node) -> tuple[str, str]:
    """Put an artifact into the cache that the release notes do not list, and return its check."""
    path = f"{CACHE}\\nssm\\2.25\\nssm-2.25.zip"
    put(node.machine, path, b"new")
    return "Cached artifacts", path


def defects_of_machine(node: Node, notes: Path) -> set[tuple[str, str]]:
    """Change the machine in many ways, and return the checks that must fail."""
    machine, fix = node.machine, part(notes, "registry_fixes")[0]
    machine.services.stop("WinRM")
    machine.registry.set(r"HKLM:\SYSTEM\CurrentControlSet\Services\containerd", "Start", 3, "DWord")
    machine.registry.set(fix["path"], fix["value_name"], 7, "DWord")
    machine.registry.set(SETUP, "ImageState", "IMAGE_STATE_UNDEPLOYABLE", "String")
    machine.files.write_bytes(ARCHIVE, b"another")
    put(machine, f"{FIRST_BOOT}\\settings.json", b"{}")
    return {
        ("Services", "WinRM"),
        ("Services", "containerd"),
        ("Registry fixes", f"{fix['path']}\\{fix['value_name']}"),
        ("Image", "Windows Setup"),
        ("Image", "first boot"),
        ("Cached artifacts", ARCHIVE),
        downloaded_artifact(node),
    }


def defects_of_notes(node: Node, notes: Path) -> set[tuple[str, str]]:
    """Change the release notes, so that the machine lacks what they list, and return the checks that must fail."""
    pause, gone = "registry.k8s.io/pause:3.10.2", f"{CACHE}\\gone.zip"
    change(
        notes,
        release="20261125",
        windows={**part(notes, "windows"), "build": "20348.1"},
        features=[*part(notes, "features"), {"name": "Containers"}],
        updates=[*part(notes, "updates"), {"id": "KB1"}],
        services=[*part(notes, "services"), {"name": "flanneld", "state": "Stopped", "start_mode": "Manual"}],
        artifacts=[*part(notes, "artifacts"), {"kind": "x", "version": "1", "path": gone, "sha256": 64 * "0"}],
        container_images=[{"names": [pause], "digest": f"sha256:{64 * 'a'}"}],
        disk={"free": 1, "total": 10**15},
        identity={"sid": node.machine.sid, "computer_name": "WIN1"},
    )
    return {
        ("Image", "release notes in the image"),
        ("Windows", "OS build"),
        ("Windows features", "Containers"),
        ("Installed updates", "KB1"),
        ("Services", "flanneld"),
        ("Cached artifacts", gone),
        ("Container images", pause),
        ("Disk", "size"),
        ("Identity", "SID"),
        ("Identity", "computer name"),
    }


@pytest.mark.parametrize("defects", [defects_of_machine, defects_of_notes])
def test_each_defect_is_a_failure_and_nothing_else_is(
    node: Node, notes: Path, defects: t.Callable[[Node, Path], set[tuple[str, str]]]
) -> None:
    expected = defects(node, notes)
    assert failed(compare(node, notes)) == expected


def test_a_download_is_no_failure_unless_the_run_is_offline(node: Node, notes: Path) -> None:
    downloaded = downloaded_artifact(node)
    result = compare(node, notes, offline=False)
    assert failed(result) == set()
    assert downloaded in failed(result, "noted")


def test_a_full_disk_fails_and_an_image_without_release_notes_is_not_recognized(node: Node, notes: Path) -> None:
    result = compare(node, notes, max_fill_percent=1, image_path="C:\\none.json")
    assert failed(result) == {("Disk", "free space")}
    assert ("Image", "release notes in the image") in failed(result, "not_checked")


def test_a_machine_that_cannot_be_read_fails(node: Node, notes: Path) -> None:
    node.machine.services.stop("containerd")
    result = compare(node, notes)
    assert result["failed"]
    assert "read the contents of the machine: the container images could not be read" in result["msg"]


PLAN = {"create_command": ["up"], "delete_command": ["down"]}


@pytest.fixture
def document(tmp_path: Path) -> Path:
    """Return release notes as a file."""
    path = tmp_path / "builder.json"
    path.write_text(contents.to_json(CONTENTS), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("options", "name"),
    [({}, "verify-1a2b3c4d"), ({"name": "win-1"}, "win-1"), ({"delete_command": [], "keep": True}, "verify-1a2b3c4d")],
)
def test_the_plan_names_the_machine(document: Path, options: dict[str, t.Any], name: str) -> None:
    result = run(image_verification_plan, {"release_notes": str(document), **PLAN, **options})
    assert (result["name"], result["release"], result["host"]) == (name, RELEASE, "builder")
    assert (result["changed"], result["runtime"]) == (False, "containerd")
    assert "Windows Server 2022" in result["summary"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"release_notes": ""}, "release_notes: expected a JSON file of release notes, got nothing"),
        ({"release_notes": "/none.json"}, "verify_image_release_notes"),
        ({"create_command": []}, "verify_image_create_tasks: expected exactly one of them"),
        ({"delete_command": []}, "got nothing. verify_image_keep: true keeps the machine"),
        ({"create_command": [], "create_tasks": "/none.yml"}, "verify_image_create_tasks: expected the path"),
        ({"e2e_test": "/none"}, "verify_image_e2e_test: expected the path of Kubernetes' e2e.test"),
        ({"name": "Win_1"}, "verify_image_name: expected at most 63 lower-case letters"),
    ],
)
def test_bad_input_is_refused_before_a_machine_is_created(
    document: Path, options: dict[str, t.Any], message: str
) -> None:
    with pytest.raises(ValueError, match=r"expected") as error:
        run(image_verification_plan, {"release_notes": str(document), **PLAN, **options})
    assert message in str(error.value)


def test_a_limit_is_refused_because_it_leaves_out_the_machine(document: Path) -> None:
    with pytest.raises(ResourceError, match="--limit: expected no limit, got 'localhost'"):
        run(image_verification_plan, {"release_notes": str(document), **PLAN}, {"ansible_limit": "localhost"})


IMAGE = {"release": RELEASE, "host": "builder", "name": "verify-1a2b3c4d", "summary": "Windows Server 2022"}
PASSED = {"section": "Windows", "item": "OS build", "status": "passed", "expected": "1.2", "actual": "1.2"}
FAILED = {**PASSED, "item": "edition", "status": "failed", "actual": "other"}
JUNIT = """<testsuites><testsuite>
<testcase name="[sig-windows] runs"/><testcase name="[sig-windows] skipped"><skipped/></testcase>
{}</testsuite></testsuites>"""


def report(tmp_path: Path, **options: t.Any) -> dict[str, t.Any]:
    paths = {"path": str(tmp_path / "r.json"), "page": str(tmp_path / "r.html")}
    return run(image_verification_report, {"image": IMAGE, **paths, **options})


def written(tmp_path: Path) -> dict[str, t.Any]:
    return t.cast("dict[str, t.Any]", json.loads((tmp_path / "r.json").read_text(encoding="utf-8")))


def test_a_verification_that_passed_has_no_problem(tmp_path: Path) -> None:
    result = report(tmp_path, result={"checks": [PASSED]}, stages=[{"name": "delete", "failure": ""}])
    assert (result["problem"], result["table"]) == ("", [])
    assert result["total"] == (f"{RELEASE} (builder) on verify-1a2b3c4d; 0 failed, 0 not checked, 0 noted, 1 passed")
    assert written(tmp_path)["ok"] is True
    assert "The image passed." in (tmp_path / "r.html").read_text(encoding="utf-8")


def test_failures_come_first_and_are_counted(tmp_path: Path) -> None:
    result = report(tmp_path, result={"checks": [PASSED, FAILED]}, all=True)
    assert result["problem"] == "1 check failed"
    assert [line.split()[1] for line in result["table"][1:]] == ["failed", "passed"]
    assert [one["item"] for one in written(tmp_path)["checks"]] == ["edition", "OS build"]
    assert written(tmp_path)["ok"] is False
    assert len(report(tmp_path, result={"checks": [PASSED, FAILED]})["table"]) == 2


def test_without_a_comparison_the_image_has_not_passed(tmp_path: Path) -> None:
    assert report(tmp_path)["problem"] == "the machine was not compared with the release notes"
    result = report(tmp_path, stages=[{"name": "create and join", "failure": "no quota"}])
    assert result["problem"] == "create and join: no quota"
    assert "the machine was not compared" in result["total"]


def test_the_tests_of_a_program_count(tmp_path: Path) -> None:
    folder = tmp_path / "junit"
    folder.mkdir()
    stage = {"name": "tests", "failure": "", "junit": str(folder)}
    checks = {"checks": [PASSED]}
    assert report(tmp_path, result=checks, stages=[stage])["problem"].startswith("tests: no test ran")
    (folder / "junit_01.xml").write_text(JUNIT.format(""), encoding="utf-8")
    result = report(tmp_path, result=checks, stages=[stage])
    assert result["problem"] == ""
    assert result["total"].endswith("; tests: 1 passed, 0 failed, 1 skipped")
    broken = '<testcase name="[sig-windows] breaks"><failure message="">no pod\nmore</failure></testcase>'
    (folder / "junit_01.xml").write_text(JUNIT.format(broken), encoding="utf-8")
    result = report(tmp_path, result=checks, stages=[{**stage, "failure": "e2e.test ended with 1"}])
    assert result["problem"] == "tests: 1 test failed ([sig-windows] breaks). e2e.test ended with 1"
    assert written(tmp_path)["stages"][0]["failed"] == [{"name": "[sig-windows] breaks", "message": "no pod"}]
    (folder / "junit_02.xml").write_text("<testsuite>", encoding="utf-8")
    assert "expected a JUnit file" in report(tmp_path, result=checks, stages=[stage])["problem"]


def test_the_page_and_the_terminal_show_no_hostile_text(tmp_path: Path) -> None:
    hostile = dataclasses.asdict(HOSTILE_CONTENTS.windows)["product"]
    result = report(
        tmp_path,
        result={"checks": [{**FAILED, "item": hostile, "actual": hostile}]},
        stages=[{"name": "create and join", "failure": HOSTILE}],
    )
    html = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert "<script>alert" not in html
    for text in (*result["table"], result["problem"]):
        assert text.isprintable()


def test_check_mode_writes_no_report(tmp_path: Path) -> None:
    paths = {"path": str(tmp_path / "r.json"), "page": str(tmp_path / "r.html")}
    run(image_verification_report, {"image": IMAGE, **paths}, check_mode=True)
    assert list(tmp_path.iterdir()) == []


def test_a_stage_needs_a_name(tmp_path: Path) -> None:
    with pytest.raises(ResourceError, match="stages: expected a name for each stage"):
        report(tmp_path, stages=[{"failure": ""}])
