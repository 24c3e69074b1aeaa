# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""verify_image.yml with a machine that has a defect, and with a hook that fails.

The machine is a prepared server. The molecule scenario `image` builds an image, and verifies one that passes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from integration import image_hooks, joined_nodes
from integration.actions import connect, run_action
from integration.conftest import SiteFactory
from integration.playbooks import PlayRun
from integration.replacing import SiteWithSpares

pytestmark = [pytest.mark.integration, pytest.mark.xdist_group("verify_image")]

SPARE, NAME = "spare", "verify-1a2b3c4d"
CTR = r"C:\containerd\ctr.exe"
HIDDEN = "4f1c9e7a"
"""What a task with no_log prints. Nothing else hides it."""


@pytest.fixture(scope="module")
def site(start_site: SiteFactory) -> Iterator[SiteWithSpares]:
    """Yield a cluster without Windows nodes, and a prepared server, which the hooks hand out and power off."""
    server = joined_nodes.server(SPARE, windows="2022")
    site = SiteWithSpares.of(start_site(server, cluster={"kind": "memory"}), [], [SPARE])
    with connect(site.machine(SPARE)) as connection:
        options = {"release": "20261126.1a2b3c4d", "directory": str(site.folder), "ctr": CTR, "sbom": False}
        run_action(connection, "release_notes", options, host="builder")
    path = site.folder / "20261126.1a2b3c4d" / "builder.json"
    notes = json.loads(path.read_text(encoding="utf-8"))
    notes["features"].append({"name": "Telnet-Client", "display_name": ""})
    notes["identity"] = {"computer_name": "BUILDER", "sid": site.machine(SPARE).sid}
    path.write_text(json.dumps(notes), encoding="utf-8")
    with image_hooks.programs(site.hooks, site.world.fleet, SPARE):
        site.variables |= {
            "image_cache_ctr": CTR,
            "verify_image_release_notes": str(path),
            "verify_image_create_command": [str(site.hooks / "hook"), "create", "{{ inventory_hostname }}"],
            "verify_image_delete_command": [str(site.hooks / "delete"), "delete", "{{ inventory_hostname }}"],
            "verify_image_e2e_test": str(site.hooks / "e2e.test"),
            "verify_image_e2e_repo_list": str(path),
            # The server is prepared without a cache, so the programs of Kubernetes are downloaded.
            "verify_image_offline": False,
        }
        yield site


def run(site: SiteWithSpares, **changes: Any) -> PlayRun:
    """Run the playbook; the variables of hooks are those of the controller, too."""
    variables = {name: value for name, value in site.variables.items() if name.startswith("verify_image_")}
    return site.run("verify_image.yml", variables=variables | changes)


def failing_deletion(site: SiteWithSpares) -> dict[str, Any]:
    """Return the variables of a hook that deletes the machine, and then fails without showing why."""
    argv = site.variables["verify_image_delete_command"]
    path = site.hooks / "delete.yml"
    tasks = [
        {"name": "Call the hook", "ansible.builtin.command": {"argv": argv}},
        {"name": "End the session", "ansible.builtin.fail": {"msg": f"no session {HIDDEN}"}, "no_log": True},
    ]
    path.write_text(json.dumps(tasks), encoding="utf-8")
    return {"verify_image_delete_command": [], "verify_image_delete_tasks": str(path)}


@pytest.fixture(scope="module")
def not_created(site: SiteWithSpares) -> tuple[PlayRun, list[str], Mapping[str, Any]]:
    """Let the hooks fail; return the run, the calls of the hooks, and the report with its page."""
    failing = site.hooks / "create fails"
    failing.touch()
    found = run(site, **failing_deletion(site))
    page = (site.folder / "build" / "image-verification.html").read_text(encoding="utf-8")
    calls, known = site.calls(), {**report(site), "page": page}
    failing.unlink()
    return found, calls, known


@pytest.fixture(scope="module")
def lacking(site: SiteWithSpares, not_created: object) -> tuple[PlayRun, Mapping[str, Any], int]:
    """Verify the machine without downloads; returns the run, the report, and the number of requests for artifacts."""
    (site.hooks / "calls").unlink()
    site.machine(SPARE).power_on()
    before = requests(site)
    found = run(site, verify_image_offline=True)
    return found, {**report(site), "calls": site.calls()}, requests(site) - before


@pytest.fixture(scope="module")
def verified(site: SiteWithSpares, lacking: object) -> PlayRun:
    """Verify the machine."""
    (site.hooks / "calls").unlink()
    site.machine(SPARE).power_on()
    return run(site)


def requests(site: SiteWithSpares) -> int:
    """Return how many requests the server of artifacts got."""
    server = site.world.artifacts
    assert server is not None
    return sum(server.status()["requests"].values())


def report(site: SiteWithSpares) -> dict[str, Any]:
    document = json.loads((site.folder / "build" / "image-verification.json").read_text(encoding="utf-8"))
    assert isinstance(document, dict)
    return document


def with_status(site: SiteWithSpares, status: str) -> list[tuple[str, str]]:
    return [(check["section"], check["item"]) for check in report(site)["checks"] if check["status"] == status]


def test_a_machine_that_was_not_created_is_deleted(
    not_created: tuple[PlayRun, list[str], Mapping[str, Any]],
) -> None:
    found, calls, known = not_created
    found.expect(2)
    assert calls == [f"create {NAME}", f"delete {NAME}"]
    assert "verify_image_create_command ended with 1: no quota, password=***" in known["problem"]
    assert known["checks"] == []
    assert "s3cret" not in found.output


def test_no_report_contains_what_no_log_hides(not_created: tuple[PlayRun, list[str], Mapping[str, Any]]) -> None:
    found, _calls, known = not_created
    assert "delete: End the session: the task's message is hidden (no_log)" in known["problem"]
    assert HIDDEN not in json.dumps(known)
    # ansible-core 2.19.14 itself prints the message of such a task as an error.
    printed = [line for line in found.output.splitlines() if HIDDEN in line]
    assert [line for line in printed if not line.startswith("[ERROR]: Task failed: Action failed: no session")] == []


def test_what_the_image_lacks_is_named_and_not_downloaded(
    lacking: tuple[PlayRun, Mapping[str, Any], int],
) -> None:
    found, known, downloads = lacking
    found.expect(2)
    path = r"C:\\ProgramData\\winkube\\cache\\kubernetes\\[0-9.]+\\kubernetes-node-windows-amd64\.tar\.gz"
    assert re.search(
        r"Converge the node: verify-1a2b3c4d: expected a node that needs no downloads \(artifact_offline\), got one "
        rf"that would download Artifact kubernetes [0-9.]+ \({path}\): is not on the node",
        known["problem"],
    )
    assert (downloads, known["checks"]) == (0, [])
    assert known["calls"] == [f"create {NAME}", f"delete {NAME}"]


def test_a_machine_that_differs_does_not_pass(site: SiteWithSpares, verified: PlayRun) -> None:
    verified.expect(2)
    assert with_status(site, "failed") == [("Windows features", "Telnet-Client"), ("Identity", "SID")]
    # The preparation has downloaded programs, and has enabled fixes.
    assert {"Cached artifacts", "Registry fixes"} <= {section for section, _item in with_status(site, "noted")}
    document = report(site)
    assert document["problem"] == (
        "2 checks failed; tests of Kubernetes: 1 test failed ([sig-windows] DNS should resolve). "
        f"e2e.test ended with 1; see {folder(site)}/e2e.log"
    )
    assert document["problem"] in verified.messages(NAME)
    assert [stage["name"] for stage in document["stages"]] == ["create and join", "delete", "tests of Kubernetes"]
    assert sum(document["counts"].values()) > 100
    assert "Telnet-Client" in (site.folder / "build" / "image-verification.html").read_text(encoding="utf-8")


def test_the_machine_and_its_node_are_deleted(site: SiteWithSpares, verified: PlayRun) -> None:
    assert site.calls() == [f"create {NAME}", f"delete {NAME}"]
    assert site.machine(SPARE).power.state == "off"
    assert site.nodes() == {}


def test_the_comparison_is_one_remote_command(site: SiteWithSpares, verified: PlayRun) -> None:
    # As many as for the join of a prepared machine (docs/replacing.md), and one.
    assert site.counters(SPARE)["remote_commands"] <= 12


def folder(site: SiteWithSpares) -> Path:
    """Return the folder with the results of Kubernetes' tests."""
    (found,) = (site.folder / "build" / "image-tests").iterdir()
    return found / "kubernetes"


def test_kubernetes_tests_run_and_their_results_are_kept(site: SiteWithSpares, verified: PlayRun) -> None:
    assert sorted(path.name for path in folder(site).iterdir()) == ["e2e.log", "junit_01.xml"]
    assert "Ran 2 of 7000 Specs" in (folder(site) / "e2e.log").read_text(encoding="utf-8")
    options, repositories = image_hooks.e2e_call(site.hooks)
    assert options == {
        "--provider": "skeleton",
        "--kubeconfig": site.variables.get("kubeconfig", str(site.world.cluster and site.world.cluster.kubeconfig)),
        "--context": "",
        "--node-os-distro": "windows",
        "--non-blocking-taints": "os,node-role.kubernetes.io/control-plane",
        "--ginkgo.focus": r"\[sig-windows\]",
        "--ginkgo.skip": r"\[LinuxOnly\]|\[Serial\]|\[Slow\]",
        "--ginkgo.timeout": "4h",
        "--ginkgo.no-color": "",
        "--report-dir": str(folder(site)),
    }
    assert repositories == site.variables["verify_image_release_notes"]
