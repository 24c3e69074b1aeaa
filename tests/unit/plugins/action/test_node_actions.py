# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Actions on one node: the complete result of each, on a simulated machine or one with the responses of a test."""

from __future__ import annotations

import dataclasses
import types
import typing as t
from pathlib import Path

import pytest
from ansible.errors import AnsibleConnectionFailure
from unit.action_run import PSRP, Answering, Connection, Node, run_on

from ansible_collections.winkube.node.plugins.action import (
    artifact_cache,
    hns_info,
    node_diagnosis,
    node_logs,
    patch_info,
)
from ansible_collections.winkube.node.plugins.plugin_utils.actions import node_action
from ansible_collections.winkube.node.plugins.plugin_utils.patches import observe
from ansible_collections.winkube.node.plugins.plugin_utils.remote.errors import NodeError

WINDOWS = {
    "product": "Windows Server 2022 Datacenter",
    "version": "2022",
    "build": 20348,
    "ubr": 2849,
    "pending_reboot": [],
}


def test_hns_of_a_machine_without_it(node: Node) -> None:
    assert run_on(node, hns_info, {}) == {
        "changed": False,
        "remote_commands": 1,
        "hns": {
            "answers": False,
            "problem": "this machine has no HNS (the Windows feature Containers is not installed)",
            "interrupted_cleanup": False,
            "runtime": {
                "asked": False,
                "names": [],
                "problem": "neither the containerd service nor the docker service can run",
            },
            **{name: [] for name in ("networks", "endpoints", "policy_lists", "namespaces", "services")},
            "port_pools": [],
            "state_files": [],
            "static_uplinks": [],
        },
    }
    assert node.steps == [("observe HNS", False)]


def test_the_diagnosis_of_a_machine_that_is_no_node(node: Node) -> None:
    cluster = {"failed": False, "msg": "the API server\ndoes not respond"}
    found = run_on(node, node_diagnosis, {"cluster": cluster, "node_name": "Win-1", "hns_grace": 0})
    causes = found["diagnosis"].pop("causes")
    assert [(one["cause"], one["consequence_of"]) for one in causes] == [
        ("not_prepared", ""),
        ("hns_missing", "not_prepared"),
    ]
    assert causes[0]["evidence"] == ["the service kubelet does not exist"]
    assert set(causes[0]) == {
        *("cause", "title", "effect", "evidence", "explanation", "fix", "source", "consequence_of"),
    }
    assert found == {
        "changed": False,
        "diagnosis": {
            "node_name": "win-1",
            "status": "not asked",
            "status_detail": "the API server does not respond",
        },
        "remote_commands": 1,
    }
    # The kubelet's kubeconfig may contain a key.
    assert node.steps == [("observe the node", True)]


def test_the_patches_of_a_node(node: Node) -> None:
    qfes = [
        {"id": "KB5044025", "description": "Update", "installed_on": "2024-10-09"},
        {"id": "KB5044414", "description": "Security Update", "installed_on": "2024-10-09"},
        {"id": "KB5046616", "description": "Security Update", "installed_on": "2024-11-13"},
    ]
    links = [{**one, "link": f"https://support.microsoft.com/?kbid={one['id'][2:]}"} for one in qfes]
    package = "Package_for_RollupFix~31bf3856ad364e35~amd64~~20348.2849.1.0"
    assert run_on(node, patch_info, {}) == {
        "changed": False,
        "os_build": "20348.2849",
        "system_info": {
            "os_name": "Windows Server 2022 Datacenter",
            "os_version": "20348.2849",
            "os_install_type": "Server Core",
        },
        "installed_qfes": links,
        "installed_packages": [{"name": package, "release_type": "SecurityUpdate"}],
        "pending": {"packages": [], "reasons": [], "reboot": False},
        "secure_boot": True,
        "test_signing": False,
        "release_notes": (
            "System Info\n"
            "\tOS Name        : Windows Server 2022 Datacenter\n"
            "\tOS Version     : 20348.2849\n"
            "\tOS InstallType : Server Core\n"
            "\n"
            "Installed QFEs\n"
            "\tKB5044025 : Update          : https://support.microsoft.com/?kbid=5044025\n"
            "\tKB5044414 : Security Update : https://support.microsoft.com/?kbid=5044414\n"
            "\tKB5046616 : Security Update : https://support.microsoft.com/?kbid=5046616\n"
        ),
        "remote_commands": 1,
    }
    assert node.steps == [("observe the patches", False)]


def test_patches_that_cannot_be_read_are_a_failure_or_a_warning(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    read = observe.read

    def doubtful(*answers: t.Any) -> observe.PatchObservation:
        found = read(*answers)
        return dataclasses.replace(found, warnings=("Get-HotFix failed",))

    monkeypatch.setattr(observe, "read", doubtful)
    assert run_on(node, patch_info, {})["warnings"] == ["node-1: Get-HotFix failed"]

    def unreadable(*dummy: t.Any) -> None:
        raise observe.PatchesUnreadable("DISM does not answer")

    monkeypatch.setattr(observe, "read", unreadable)
    message = "node-1: observe the patches: DISM does not answer"
    assert run_on(node, patch_info, {}) == {"failed": True, "msg": message}


PASSWORDS = Connection({**PSRP, "remote_password": "first-s3cret", "become_pass": None, "password": "second-s3cret"})


def logs(node: Node, folder: Path, *, check_mode: bool = False) -> dict[str, t.Any]:
    return run_on(node, node_logs, {"directory": str(folder)}, check_mode=check_mode, connection=PASSWORDS)


def test_logs_are_collected_or_only_listed(node: Node, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[str] = []
    monkeypatch.setattr(node_action, "show", shown.append)
    dry = logs(node, tmp_path / "logs", check_mode=True)
    assert shown == ["node-1: would collect 0 files (0 KB at most) and 1 event logs"]
    nothing = dict.fromkeys(("endpoints", "namespaces", "networks", "policy_lists", "stale"))
    assert {name: value for name, value in dry.items() if name not in ("boot", "time")} == {
        "changed": False,
        "event_logs": ["System"],
        "hns": nothing,
        "hns_problem": "this machine has no HNS (the Windows feature Containers is not installed)",
        "left_out": [],
        "problems": [],
        "remote_commands": 1,
        "selected": [],
        "services_not_running": [],
        "windows": WINDOWS,
        "without_log": [],
    }
    assert not (tmp_path / "logs").exists()


@pytest.mark.parametrize(
    ("error", "more"),
    [
        (NodeError("the log says first-s3cret and second-s3cret"), {"failed": True}),
        (AnsibleConnectionFailure("the log says first-s3cret and second-s3cret"), {"unreachable": True}),
    ],
)
def test_partial_results_of_a_failed_collection_are_kept_without_passwords(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, error: Exception, more: dict[str, bool]
) -> None:
    class Collection:
        """Fails during the collection."""

        def __init__(self, *dummy: object) -> None:
            self.outcome = types.SimpleNamespace(
                plan=lambda: {"selected": ["a"]}, to_result=lambda: {"files": 3, "problems": ["first-s3cret"]}
            )

        def collect(self) -> None:
            raise error

        def preview(self) -> None:
            raise error

    monkeypatch.setattr(node_logs, "Collection", Collection)
    found = logs(t.cast("Node", Answering()), tmp_path)
    assert "s3cret" not in str(found)
    assert found.pop("msg").startswith("the log says ")
    (problem,) = found.pop("problems")
    assert problem
    assert found == {"changed": False, "files": 3, "remote_commands": 0, **more}
    assert logs(t.cast("Node", Answering()), tmp_path, check_mode=True)["selected"] == ["a"]


CACHE = "C:\\ProgramData\\winkube\\cache"


def cached(node: Node, **options: t.Any) -> dict[str, t.Any]:
    return run_on(node, artifact_cache, options, check_mode=True)


def change(kind: str, name: str, action: str, why: str) -> dict[str, t.Any]:
    more = {"disrupts": False, "disruption": "", "seconds": 0.0}
    return {"type": kind, "name": name, "action": action, "why": why, **more}


def test_a_cache_is_compared_with_lists_of_versions(node: Node) -> None:
    found = cached(node, artifacts={"kubernetes": ["1.34.1"]})
    assert abs(found.pop("clock_skew")) < 5
    assert found == {
        "changed": True,
        "artifacts": [
            {
                "kind": "kubernetes",
                "version": "1.34.1",
                "path": f"{CACHE}\\kubernetes\\1.34.1\\kubernetes-node-windows-amd64.tar.gz",
                "sha256": None,
                "size": None,
                "source": None,
                "status": "missing",
                "custom": False,
                "msg": "",
            }
        ],
        "changes": [
            change("Directory", "C:\\ProgramData\\winkube", "create", "does not exist"),
            change("Directory", CACHE, "create", "does not exist"),
            change("Artifact", "kubernetes 1.34.1", "create", "is not on the node"),
        ],
        "deferred": [],
        "reboot_required": False,
        "rebooted": False,
        "remote_commands": 1,
        "windows": WINDOWS,
    }


def test_a_cache_in_another_folder_is_protected_and_pruned(node: Node) -> None:
    found = cached(node, artifacts={}, cache_dir="D:\\cache", prune=True)
    names = [(one["type"], one["name"]) for one in found["changes"]]
    assert names[:2] == [("Directory", "C:\\ProgramData\\winkube"), ("Directory", "D:\\cache")]
    assert found["artifacts"] == []
    assert "warnings" not in found


def test_unverified_downloads_are_warned_of(node: Node) -> None:
    url = "https://dl.example/a.tar.gz"
    own = {"kubernetes": [{"version": "1.34.1", "url": url}]}
    (warning,) = cached(node, artifacts=own)["warnings"]
    assert warning == (
        "kubernetes 1.34.1 (custom) is accepted unverified: a custom URL has no checksum; add a sha256 to its "
        "version to verify it"
    )
    assert "verify" in cached(node, artifacts=own, verify="strict")["msg"]


def test_a_list_that_is_not_accepted_touches_no_node(node: Node) -> None:
    found = cached(node, artifacts={"kubernetes": "1.34.1"})
    message = "node-1: no node was touched: artifacts.kubernetes: expected a list of versions, got '1.34.1'"
    assert found == {"failed": True, "msg": message}
    assert node.steps == []
