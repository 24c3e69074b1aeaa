# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The report about a machine before it joins a cluster, and joining it once."""

from __future__ import annotations

import datetime
import json
import typing as t

import pytest
from unit.action_run import Answering, Node, move_clock, run_on

from ansible_collections.winkube.node.plugins.action import (
    join_info,
    kubeadm_join,
)
from ansible_collections.winkube.node.plugins.plugin_utils.lifecycle import join
from ansible_collections.winkube.node.plugins.plugin_utils.remote.errors import BatchLost
from ansible_collections.winkube.node.plugins.plugin_utils.remote.timeouts import Timeouts
from ansible_collections.winkube.node.plugins.plugin_utils.windows import node_paths
from ansible_collections.winkube.node.plugins.plugin_utils.wire.messages import Observation

SERVICE = "HKLM:\\SYSTEM\\CurrentControlSet\\Services\\kubelet"


def joined(node: Node, server: str) -> None:
    """Make the machine a node of the cluster at this server."""
    node.machine.files.make_directory("C:\\etc\\kubernetes")
    node.machine.files.write_text(node_paths.KUBELET_CONF, f"clusters:\n- cluster:\n    server: {server}\n")
    node.machine.registry.set(SERVICE, "ImagePath", "C:\\k\\nssm.exe")
    node.machine.files.make_directory("C:\\ProgramData\\winkube")
    node.machine.files.write_text(node_paths.NETWORK_RECORD, json.dumps({"plugin": "flannel"}))


def joins(node: Node, *, check_mode: bool = False, **options: t.Any) -> dict[str, t.Any]:
    """Return the report about a machine. The offset of its clock is known to be small."""
    found = run_on(node, join_info, options, check_mode=check_mode)
    assert abs(found.pop("clock_skew")) < 5
    assert found.pop("remote_commands") == node.remote_commands
    return found


PLAIN = {
    "changed": False,
    "joined": False,
    "server": "",
    "prepared": False,
    "computer_name": "WIN1",
    "node_name": "win1",
    "self_named": True,
    "ended_commands": None,
    "cni": {},
    "azure": False,
    "in_domain": False,
    "kubelet_launcher": False,
    "uplink_at_risk": False,
    "unsupported_windows": "",
}
JOINED = {**PLAIN, "joined": True, "server": "k8s:6443", "prepared": True, "cni": {"plugin": "flannel"}}


def test_a_plain_machine_has_not_joined(node: Node) -> None:
    assert joins(node) == PLAIN
    assert joins(node, node_name="win1") == {**PLAIN, "self_named": False}
    assert set(node.steps) == {("read whether it has joined", True)}


def test_a_node_reports_its_cluster(node: Node) -> None:
    joined(node, "https://k8s:6443")
    assert joins(node) == JOINED
    assert joins(node, cluster_server="k8s:6443", require_prepared=True, clock_skew_limit=100) == JOINED
    moved = joins(node, cluster_server="k8s:6443", api_server="10.0.0.1:6443")
    warning = (
        "node-1: the kubelet uses the API server at k8s:6443, not 10.0.0.1:6443; reset the machine and join it again "
        "to change that"
    )
    assert moved == {**JOINED, "warnings": [warning]}
    found = joins(node, cluster_server="other:6443", refuse_joined=True)
    assert found["msg"] == (
        "node-1: it is a node of the cluster at k8s:6443 (C:\\etc\\kubernetes\\kubelet.conf exists); reset it first, "
        "because an image must be built from a machine that is not a node; it is a node of another cluster, at "
        "k8s:6443; the cluster to join is at other:6443"
    )
    assert found["failed"] is True


def test_a_machine_that_is_not_prepared_is_refused_where_it_has_to_be(node: Node) -> None:
    assert joins(node, require_prepared=True)["msg"] == (
        "node-1: it is not prepared (there is no kubelet service); run site.yml, or start it from an image"
    )


def test_a_name_is_resolved_unless_the_hosts_file_will_contain_it(node: Node) -> None:
    words = "node-1: it cannot resolve the name of the control plane endpoint (k8s.example : DNS name does not exist)"
    assert joins(node, cluster_server="k8s.example:6443")["msg"].startswith(words)
    assert joins(node, cluster_server="k8s.example:6443", hosts={"K8S.example": "10.0.0.1"}) == PLAIN
    assert joins(node, cluster_server="k8s.example:6443", api_server="10.0.0.1:6443") == PLAIN
    assert joins(node, cluster_server="10.0.0.1:6443", api_server="k8s.example:6443")["msg"].startswith(words)


def test_a_name_that_the_computer_will_not_have_is_refused(node: Node) -> None:
    words = "node-1: its computer name is WIN1, so its kubelet would join as win1, not as other;"
    assert joins(node, node_name="other")["msg"].startswith(words)
    # A dry run has not renamed it.
    expected = {**PLAIN, "node_name": "other", "self_named": False}
    assert joins(node, node_name="other", check_mode=True) == expected
    assert joins(node, node_name="other", next_computer_name="OTHER") == expected


def test_a_clock_that_is_far_off_is_reported(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    move_clock(join_info, monkeypatch, datetime.timedelta(seconds=-600))
    found = run_on(node, join_info, {"clock_skew_limit": 240})
    assert 595 < found["clock_skew"] < 605
    assert found["clock_skew"] == round(found["clock_skew"], 3)
    assert "ahead of the controller's clock; expected at most 240 s" in found["msg"]
    assert "failed" not in run_on(node, join_info, {})


def test_an_unsupported_windows_is_reported_unless_it_is_allowed(node: Node) -> None:
    key = "HKLM:\\SOFTWARE\\Microsoft\\Windows NT\\CurrentVersion"
    node.machine.registry.set(key, "CurrentBuild", "14393")
    assert "14393" in joins(node)["unsupported_windows"]
    assert joins(node, allow_unsupported_windows=True)["unsupported_windows"] == ""


def answer(stopped: str = "", **calls: t.Any) -> Observation:
    """Return a node's response, and the call at which it stopped."""
    wire = {"state": "finished", "calls": calls, **({"stopped": {"id": stopped, "reason": "error"}} if stopped else {})}
    return Observation.from_wire(wire)


JOIN = {"configuration": "kind: JoinConfiguration", "timeout": 77, "discovery": "a kubeconfig", "kubeadm": "C:\\a.exe"}
CALLS = join.KubeadmJoin(
    configuration="kind: JoinConfiguration", kubeadm="C:\\a.exe", timeout=77, discovery="a kubeconfig"
)
CREATED = {"type": "Node", "name": "node-1", "action": "create", "why": "had not joined the cluster"}


def test_a_machine_is_joined_once(monkeypatch: pytest.MonkeyPatch) -> None:
    fresh = Answering(answer())
    assert run_on(fresh, kubeadm_join, JOIN) == {"changed": True, "changes": [CREATED], "remote_commands": 1}
    assert fresh.asked == [(join.calls(CALLS), "kubeadm join", True)]
    assert fresh.timeouts == Timeouts(batch=77, reboot=1800, reconnect=300)
    had = Answering(answer("stop-if-joined"))
    assert run_on(had, kubeadm_join, JOIN) == {"changed": False, "changes": [], "remote_commands": 1}
    dry = Answering()
    assert run_on(dry, kubeadm_join, JOIN, check_mode=True) == {
        "changed": True,
        "changes": [CREATED],
        "remote_commands": 0,
    }


def test_a_join_that_the_node_lost_is_begun_again_with_the_same_token() -> None:
    node = Answering(BatchLost("node-1: lost", None), answer())
    assert run_on(node, kubeadm_join, JOIN) == {"changed": True, "changes": [CREATED], "remote_commands": 2}
    assert node.asked[1] == (join.calls(CALLS, again=True), "kubeadm join", True)
    assert node.asked[0] != node.asked[1]


def test_a_failing_join_is_reported_with_kubeadms_message() -> None:
    failed = {
        "ok": False,
        "exit_code": 1,
        "stderr": "error execution phase preflight",
        "error": {"message": "it failed"},
    }
    node = Answering(answer("join", join=failed))
    message = "node-1: kubeadm join: join: exit code 1: error execution phase preflight"
    assert run_on(node, kubeadm_join, JOIN) == {"failed": True, "msg": message}
