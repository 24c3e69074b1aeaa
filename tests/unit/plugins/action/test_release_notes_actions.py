# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The actions release_notes (on a simulated machine), image_release and image_comparison."""

from __future__ import annotations

import dataclasses
import datetime
import hashlib
import json
import types
import typing as t
from pathlib import Path

import pytest
from integration.imaging import install, put
from unit.action_run import PSRP, Connection, Node, run, run_on
from unit.image_contents import CONTENTS, HOSTILE_CONTENTS

from ansible_collections.winkube.node.plugins.action import image_comparison, image_release, release_notes
from ansible_collections.winkube.node.plugins.plugin_utils.release_notes import contents, files, observation, sbom
from ansible_collections.winkube.node.plugins.plugin_utils.values.errors import ResourceError
from ansible_collections.winkube.node.plugins.plugin_utils.windows import registry_fixes

CACHE = "C:\\ProgramData\\winkube\\cache"
COPY = "C:\\ProgramData\\winkube\\release-notes.json"
RELEASE = "20261126.1a2b3c4d"
PASSWORD = Connection({**PSRP, "remote_password": "s3cret-password"})
ARCHIVE = b"the archive"


@pytest.fixture
def node(node: Node) -> Node:
    """Return a machine with containerd, a cached artifact and registry fixes."""
    machine = node.machine
    install(machine, "2.3.7")
    path = f"{CACHE}\\nssm\\2.24\\nssm-2.24.zip"
    manifest = {"kind": "nssm", "version": "2.24", "custom": False, "sha256": hashlib.sha256(ARCHIVE).hexdigest()}
    manifest["source"] = "http://robot:s3cret@mirror.example/nssm-2.24.zip?sig=s3cret"
    put(machine, path, ARCHIVE)
    put(machine, f"{path}.manifest.json", json.dumps(manifest, indent=1).encode())
    return node


def options(tmp_path: Path, **more: t.Any) -> dict[str, t.Any]:
    return {"release": RELEASE, "directory": str(tmp_path / "notes"), **more}


def noted(result: t.Mapping[str, t.Any]) -> contents.ImageContents:
    return contents.from_json(Path(result["files"]["json"]).read_text(encoding="utf-8"), "notes")


def test_the_notes_are_what_the_machine_contains(node: Node, tmp_path: Path) -> None:
    machine = node.machine
    first = registry_fixes.fixes()[0]
    machine.registry.set(first["path"], first["name"], first["value"], "DWord")
    result = run_on(node, release_notes, options(tmp_path), connection=PASSWORD)
    folder = tmp_path / "notes" / RELEASE
    names = {"json": "node-1.json", "markdown": "node-1.md", "page": "node-1.html", "sbom": "node-1.cdx.json"}
    assert result["files"] == {kind: str(folder / name) for kind, name in names.items()}
    assert sorted(path.name for path in folder.iterdir()) == sorted(names.values())
    assert (result["changed"], result["release"], result["remote_commands"]) == (True, RELEASE, 2)
    assert [step for step, _private in node.steps] == [
        "read the contents of the image",
        "store the release notes in the image",
    ]
    notes = noted(result)
    assert (notes.host, notes.release, notes.runtime) == ("node-1", RELEASE, "containerd")
    assert (notes.windows.version, notes.windows.edition) == ("2022", "ServerDatacenter")
    assert notes.windows.build == "20348.2849"
    package = "Package_for_RollupFix~31bf3856ad364e35~amd64~~20348.2849.1.0"
    # Packages with a KB number in their names are the same updates.
    assert [update.id for update in notes.updates] == ["KB5044025", "KB5044414", "KB5046616", package]
    assert {service.name: service.state for service in notes.services}["containerd"] == "Running"
    states = {(fix.path, fix.value_name): fix.state for fix in notes.registry_fixes}
    assert states[first["path"], first["name"]] == "set"
    assert {entry["os"] for entry in registry_fixes.fixes()} > {"2022", "*"}
    assert len(states) == sum(1 for entry in registry_fixes.fixes() if entry["os"] in ("2022", "*"))
    (artifact,) = notes.artifacts
    digest = hashlib.sha256(ARCHIVE).hexdigest()
    assert (artifact.kind, artifact.version, artifact.sha256, artifact.size) == ("nssm", "2.24", digest, len(ARCHIVE))
    assert (artifact.source, artifact.verified) == ("http://mirror.example/nssm-2.24.zip", True)
    assert 0 < (notes.disk.free or 0) < (notes.disk.total or 0)
    assert "warnings" not in result


def test_the_notes_contain_what_identifies_the_build_machine(node: Node, tmp_path: Path) -> None:
    put(node.machine, "C:\\ProgramData\\ssh\\ssh_host_ed25519_key", b"private")
    put(node.machine, "C:\\ProgramData\\ssh\\ssh_host_ed25519_key.pub", b"public")
    identity = noted(run_on(node, release_notes, options(tmp_path), connection=PASSWORD)).identity
    assert (identity.computer_name, identity.sid) == ("WIN1", node.machine.sid)
    # The private key is not even read.
    assert identity.host_keys == (hashlib.sha256(b"public").hexdigest(),)
    assert len(identity.certificates) == len(identity.remote_desktop) == 1
    assert identity.update_client == ""


def test_the_image_contains_a_copy(node: Node, tmp_path: Path) -> None:
    result = run_on(node, release_notes, options(tmp_path), connection=PASSWORD)
    assert node.machine.files.read_text(COPY) == Path(result["files"]["json"]).read_text(encoding="utf-8")
    result = run_on(node, release_notes, options(tmp_path, image_path=""), connection=PASSWORD)
    assert (result["changed"], result["image_path"]) == (False, "")
    assert len(node.steps) == 3


def test_no_secret_is_written(node: Node, tmp_path: Path) -> None:
    # For example, as the display name of a service or in the name of an image.
    path = f"{CACHE}\\app\\1\\s3cret-password.zip"
    put(node.machine, path, b"x")
    result = run_on(node, release_notes, options(tmp_path), connection=PASSWORD)
    texts = [Path(path).read_text(encoding="utf-8") for path in result["files"].values()]
    for text in (*texts, node.machine.files.read_text(COPY)):
        assert "s3cret" not in text
        assert "***.zip" in text


def test_an_artifact_that_differs_from_its_manifest_is_reported(node: Node, tmp_path: Path) -> None:
    path = f"{CACHE}\\nssm\\2.24\\nssm-2.24.zip"
    node.machine.files.write_bytes(path, b"other")
    result = run_on(node, release_notes, options(tmp_path), connection=PASSWORD)
    assert result["warnings"] == [f"node-1: {path} differs from its manifest or has no manifest"]
    (artifact,) = noted(result).artifacts
    assert (artifact.sha256, artifact.verified) == (hashlib.sha256(b"other").hexdigest(), False)


def test_an_image_without_a_cache_has_no_artifacts(node: Node, tmp_path: Path) -> None:
    result = run_on(node, release_notes, options(tmp_path, cache_dir="C:\\none"), connection=PASSWORD)
    assert noted(result).artifacts == ()


def test_check_mode_writes_nothing(node: Node, tmp_path: Path) -> None:
    result = run_on(node, release_notes, options(tmp_path), connection=PASSWORD, check_mode=True)
    assert (result["changed"], result["remote_commands"]) == (True, 1)
    assert not (tmp_path / "notes").exists()
    assert not node.machine.files.exists(COPY)


def test_notes_are_complete_or_a_failure(node: Node, tmp_path: Path) -> None:
    node.machine.services.stop("containerd")
    result = run_on(node, release_notes, options(tmp_path), connection=PASSWORD)
    assert result["failed"]
    assert result["msg"].startswith("node-1: read the contents of the image: the container images could not be read: ")
    assert not (tmp_path / "notes").exists()


def test_check_mode_accepts_a_machine_that_is_not_prepared(node: Node, tmp_path: Path) -> None:
    node.machine.services.stop("containerd")
    result = run_on(node, release_notes, options(tmp_path), connection=PASSWORD, check_mode=True)
    assert "failed" not in result
    assert result["warnings"][0].startswith("node-1: read the contents of the image: the container images could not")


def test_a_call_that_failed_is_named(node: Node, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answered = Node.answered

    def failing(self: Node, batch: t.Any, seen: dict[str, t.Any]) -> None:
        for call_id in ("features", "hotfixes"):
            if call_id in seen["calls"]:
                error = {"category": "NotSpecified", "id": "x", "type": "y", "message": f"{call_id} failed"}
                seen["calls"][call_id] = {"ok": False, "seconds": 0.0, "attempts": 1, "output": [], "error": error}
        answered(self, batch, seen)

    monkeypatch.setattr(Node, "answered", failing)
    result = run_on(node, release_notes, options(tmp_path), connection=PASSWORD)
    expected = "the features of Windows could not be read: features failed; "
    assert result["msg"] == (
        f"node-1: read the contents of the image: {expected}the installed updates could not be read: hotfixes failed"
    )


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"release": "latest"}, "release: expected YYYYMMDD.commithash"),
        ({"image_path": "notes.json"}, "image_path: expected an absolute Windows path"),
        ({"cache_dir": "cache"}, "cache_dir: expected the absolute path"),
    ],
)
def test_wrong_options_are_rejected_before_the_machine_is_contacted(
    node: Node, tmp_path: Path, wrong: dict[str, str], message: str
) -> None:
    result = run_on(node, release_notes, options(tmp_path, **wrong), connection=PASSWORD)
    assert result["msg"].startswith(message)
    assert node.steps == []


def test_a_missing_library_is_reported_before_the_machine_is_contacted(
    node: Node, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sbom, "missing_library", lambda: "expected the Python package")
    result = run_on(node, release_notes, options(tmp_path), connection=PASSWORD)
    assert (result["msg"], node.steps) == ("node-1: expected the Python package", [])
    result = run_on(node, release_notes, options(tmp_path, sbom=False), connection=PASSWORD)
    assert sorted(result["files"]) == ["json", "markdown", "page"]
    assert run(image_release, {"release": RELEASE, "sbom": True}) == {
        "changed": False,
        "failed": True,
        "msg": "expected the Python package",
    }
    assert run(image_release, {"release": RELEASE})["release"] == RELEASE


def test_a_folder_that_cannot_be_written_is_named(node: Node, tmp_path: Path) -> None:
    (tmp_path / "notes").write_text("", encoding="utf-8")
    result = run_on(node, release_notes, options(tmp_path), connection=PASSWORD)
    assert result["msg"].startswith("directory: expected a writable folder (")


def test_the_release_that_a_user_names() -> None:
    assert run(image_release, {"release": RELEASE, "number": 7}) == {
        "changed": False,
        "release": RELEASE,
        "gallery_version": "2026.1126.7",
        "tags": {"release": RELEASE},
    }


@pytest.mark.parametrize(
    ("commit", "release", "warnings"),
    [
        (("", False), "20261126.00000000", ["/site has no Git commit, so the release is named 20261126.00000000"]),
        (("1a2b3c4d", False), "20261126.1a2b3c4d", None),
        (("1a2b3c4d", True), "20261126.1a2b3c4d", ["the files in /site differ from commit 1a2b3c4d"]),
    ],
)
def test_the_release_of_today(
    monkeypatch: pytest.MonkeyPatch, commit: tuple[str, bool], release: str, warnings: list[str] | None
) -> None:
    now = datetime.datetime(2026, 11, 26, 23, 59, tzinfo=datetime.UTC)
    clock = types.SimpleNamespace(datetime=types.SimpleNamespace(now=lambda _zone: now), UTC=datetime.UTC)
    monkeypatch.setattr(image_release, "datetime", clock)
    asked = []
    monkeypatch.setattr(image_release, "commit_of", lambda directory: asked.append(directory) or commit)
    result = run(image_release, {"directory": "/site"})
    assert (result["release"], result["gallery_version"], asked) == (release, "2026.1126.0", ["/site"])
    assert result.get("warnings") == warnings


def compared(tmp_path: Path, before: contents.ImageContents, after: contents.ImageContents, **more: t.Any) -> t.Any:
    """Return the result of a comparison of two files."""
    for name, one in (("before", before), ("after", after)):
        (tmp_path / f"{name}.json").write_text(contents.to_json(one), encoding="utf-8")
    paths = {name: str(tmp_path / f"{name}.json") for name in ("before", "after")}
    written = {"path": str(tmp_path / "new" / "c.json"), "page": str(tmp_path / "new" / "c.html")}
    return run(image_comparison, {**paths, **written}, **more)


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    lines: list[str] = []
    monkeypatch.setattr(image_comparison, "show", lines.append)
    return lines


def test_two_releases_are_compared(tmp_path: Path, shown: list[str]) -> None:
    later = dataclasses.replace(CONTENTS, release="20261210.5e6f7a8b", features=())
    result = compared(tmp_path, CONTENTS, later)
    total = "20261126.1a2b3c4d (builder) and 20261210.5e6f7a8b (builder): 0 added, 1 removed, 0 changed"
    assert shown == [*result["table"], "", total]
    document = json.loads((tmp_path / "new" / "c.json").read_text(encoding="utf-8"))
    assert document == {
        "schema_version": 1,
        "before": "20261126.1a2b3c4d",
        "after": "20261210.5e6f7a8b",
        "differences": result["differences"],
        "counts": {"added": 0, "removed": 1, "changed": 0},
    }
    assert result["differences"] == [
        {"section": "Windows features", "item": "Containers", "change": "removed", "before": "Containers", "after": ""}
    ]
    assert "Changes from 20261126.1a2b3c4d" in (tmp_path / "new" / "c.html").read_text(encoding="utf-8")


def test_equal_releases_have_no_table(tmp_path: Path, shown: list[str]) -> None:
    assert compared(tmp_path, CONTENTS, CONTENTS)["table"] == []
    assert len(shown) == 1


def test_check_mode_writes_no_comparison(tmp_path: Path, shown: list[str]) -> None:
    compared(tmp_path, CONTENTS, HOSTILE_CONTENTS, check_mode=True)
    assert not (tmp_path / "new").exists()
    assert not any("\x1b" in line for line in shown)


@pytest.mark.parametrize("missing", ["before", "after"])
def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, missing: str) -> None:
    (tmp_path / "notes.json").write_text(contents.to_json(CONTENTS), encoding="utf-8")
    paths = {"before": str(tmp_path / "notes.json"), "after": str(tmp_path / "notes.json"), missing: "/none/a.json"}
    with pytest.raises(ResourceError, match=rf"^{missing}: expected a JSON file of release notes \("):
        run(image_comparison, {**paths, "path": "a", "page": "b"})


def test_a_missing_variable_of_the_playbook_is_named() -> None:
    with pytest.raises(ResourceError) as error:
        run(image_comparison, {"before": "", "after": "", "path": "a", "page": "b"})
    expected = "before: expected a JSON file of release notes, got nothing. Set before (variable of the playbook"
    assert str(error.value).startswith(f"{expected}: compare_images_before) ")


def test_a_file_that_is_too_large_is_rejected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "_LARGEST", 10)
    with pytest.raises(ResourceError, match="before: expected a file of at most 10 bytes"):
        compared(tmp_path, CONTENTS, CONTENTS)


def test_the_services_that_are_listed_are_each_named_once() -> None:
    names = [name.casefold() for name in observation.service_names()]
    assert sorted(set(names)) == sorted(names)
