# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Which machines are live nodes for the role node_join, and what it refuses to do to them."""

from __future__ import annotations

import json
import pathlib
import subprocess
import sys
import typing as t

import pytest
import yaml
from ansible.template import trust_as_template
from unit.roles.templates import ROLES, task, templar, value

JOINED = {"node_join_info": {"joined": True, "computer_name": "WIN1", "cni": {}}}
PLAIN = {"node_join_info": {"joined": False, "computer_name": "WIN1", "cni": {}}}
KNOWN = {"nodes": {"win1": {"version": "v1.34.4"}}}
UNKNOWN = {"nodes": {"other": {"version": "v1.34.4"}}}
MINOR = "Refuse to change the minor version of Kubernetes on a live node"


def evaluated(expression: str, **variables: t.Any) -> t.Any:
    return value(templar(["kubernetes_node", "cni", "node_join"], variables), expression)


@pytest.mark.parametrize(
    ("variables", "live"),
    [
        ({**JOINED, "node_join_cluster": KNOWN}, True),
        # The cluster does not have this node, so it runs no pods of the cluster.
        ({**JOINED, "node_join_cluster": UNKNOWN}, False),
        # The cluster could not be queried, so a machine that reports a join is spared.
        (JOINED, True),
        ({**JOINED, "node_join_cluster": {"skipped": True}}, True),
        ({**PLAIN, "node_join_cluster": KNOWN}, False),
        (PLAIN, False),
    ],
)
def test_a_node_is_live_if_it_has_joined_and_the_cluster_knows_it(variables: dict[str, t.Any], live: bool) -> None:
    assert bool(evaluated("node_join_is_live", **variables)) is live


@pytest.mark.parametrize(
    ("version", "requested", "accepted"),
    [
        ("v1.34.4", "1.34.4", True),
        ("v1.34.4", "1.34.9", True),
        ("v1.34.4", "1.35.0", False),
        ("v1.34.4", "1.36.2", False),
        ("v1.34.4", "1.33.8", False),
        ("v1.3.0", "1.34.4", False),
        ("", "1.36.2", True),
    ],
)
def test_another_minor_version_is_refused(version: str, requested: str, accepted: bool) -> None:
    cluster = {"nodes": {"win1": {"version": version}}}
    variables = {
        **JOINED,
        "node_join_cluster": cluster,
        "kubernetes_node_version": requested,
        "inventory_hostname": "one",
    }
    arguments = task("node_join", "live.yml", MINOR)["ansible.builtin.assert"]
    assert bool(evaluated(arguments["that"], **variables)) is accepted
    if not accepted:
        found = templar(["kubernetes_node", "cni", "node_join"], variables)
        message = str(found.template(trust_as_template(arguments["fail_msg"])))
        for text in ("win1", version.removeprefix("v"), requested, "upgrade_nodes.yml"):
            assert text in message


def test_a_machine_that_is_not_live_may_get_any_version() -> None:
    arguments = task("node_join", "live.yml", MINOR)["ansible.builtin.assert"]
    variables = {**PLAIN, "node_join_cluster": KNOWN, "kubernetes_node_version": "1.36.2"}
    assert evaluated(arguments["that"], **variables)


SAME = {"plugin": "flannel", "mode": "host-gw", "network": "cbr0"}
DEFERRED = {"deferred": [{"name": "Hyper-V"}]}


def pods(*revisions: str) -> dict[str, t.Any]:
    """Return the cluster's data about the node, on which pods with these revisions run."""
    found = [{"namespace": "kube-system", "name": f"pod-{one}", "revision": one} for one in revisions]
    return {"node_join_cluster": {"nodes": {"win1": {"network_pods": found}}}}


@pytest.mark.parametrize(
    ("variables", "left"),
    [
        ({}, False),
        ({"node_prepare_converged": {"deferred": []}, "node_join_converged": {"deferred": []}}, False),
        ({"node_prepare_converged": DEFERRED}, True),
        ({"node_prepare_converged": {"skipped": True}, "node_join_converged": DEFERRED}, True),
        # Another network, with the join as part of the run.
        ({"node_join_info": {"cni": {**SAME, "network": "flannel.4096"}}, "node_join_converged": {}}, True),
        ({"node_join_info": {"cni": {**SAME, "network": "flannel.4096"}}}, False),
        ({"node_join_info": {"cni": SAME}, "node_join_converged": {}}, False),
        # A pod of the network from an earlier DaemonSet.
        ({"cni_expected_revisions": ["a", "b"], "node_join_converged": {}, **pods("a", "b")}, False),
        ({"cni_expected_revisions": ["a", "b"], "node_join_converged": {}, **pods("a", "z")}, True),
        ({"cni_expected_revisions": ["a", "b"], "node_join_converged": {}, **pods("a", "")}, True),
        ({"cni_expected_revisions": ["a", "b"], **pods("a", "z")}, False),
        ({"node_join_converged": {}, **pods("a", "z")}, False),
    ],
)
def test_deferred_changes_are_applied_on_a_drained_node(variables: dict[str, t.Any], left: bool) -> None:
    assert bool(evaluated("node_join_has_deferred_changes", **{**JOINED, **variables})) is left


MAINTENANCE = (
    "node_prepare/tasks/converge.yml",
    "node_join/tasks/apply.yml",
    "cni/tasks/replace_network.yml",
    "cni/tasks/pods.yml",
)
"""The files whose tasks change a drained node."""


@pytest.mark.parametrize(
    "registered",
    [
        # A machine that is lost before its join is not among those that join.
        "node_join_domain_joined",
        "node_join_guard",
        *(
            one["register"]
            for name in MAINTENANCE
            for one in yaml.safe_load((ROLES / name).read_text(encoding="utf-8"))
            if "register" in one
        ),
    ],
)
def test_each_lost_connection_of_the_maintenance_is_noticed(registered: str) -> None:
    assert evaluated("node_join_unreachable", **{registered: {"unreachable": True, "msg": "timeout"}}) == "timeout"
    assert evaluated("node_join_unreachable", **{registered: {"changed": True, "msg": "fine"}}) == ""


@pytest.mark.parametrize(
    ("self_named", "addresses", "left", "refused"),
    [
        (True, ["10.0.0.9"], True, True),
        (True, ["10.0.0.1"], True, False),
        (True, ["10.0.0.9"], False, False),
        # The inventory itself sets the node's name.
        (False, ["10.0.0.9"], True, False),
    ],
)
def test_a_machines_own_report_does_not_cause_a_drain(
    self_named: bool, addresses: list[str], left: bool, refused: bool
) -> None:
    problem = evaluated(
        "node_join_drain_problem",
        inventory_hostname="one",
        ansible_host="10.0.0.1",
        node_join_info={**JOINED["node_join_info"], "self_named": self_named},
        node_join_cluster={"nodes": {"win1": {"addresses": addresses}}},
        node_prepare_converged=DEFERRED if left else {},
    )
    assert bool(problem) is refused
    if refused:
        assert "win1" in problem
        assert "kubernetes_node_hostname" in problem


@pytest.mark.parametrize(
    ("state", "good"),
    [
        ({}, True),
        ({"stage": "done", "work": True}, True),
        ({"stage": "failed", "work": True}, False),
        ({"stage": "waiting", "work": True}, False),
        ({"stage": "waiting", "work": False}, True),
        # An earlier run left it cordoned, and it is not Ready yet, or still waiting for its turn.
        ({"stage": "failed", "work": False, "ours": True}, False),
        ({"stage": "waiting", "work": False, "ours": True}, False),
    ],
)
def test_a_live_node_that_is_not_back_in_service_fails_the_run(state: dict[str, t.Any], good: bool) -> None:
    plays = yaml.safe_load((ROLES.parent / "playbooks/parts/live_nodes.yml").read_text(encoding="utf-8"))
    (report,) = plays[-1]["tasks"]
    known = templar([], {"winkube_state": state, "inventory_hostname": "one"})
    arguments = report["ansible.builtin.assert"]
    assert bool(value(known, arguments["that"])) is good
    if not good:
        reported = str(known.template(trust_as_template(arguments["fail_msg"])))
        assert ("still cordoned" in reported) is not state["work"]


def note(host: str, stage: str = "waiting", **more: t.Any) -> dict[str, t.Any]:
    state = {"host": host, "node": host, "stage": stage, "ours": False, "work": False, **more}
    return {"node_maintenance_state": state}


FLEET = {
    # A machine that has not joined has no such facts.
    "new": {},
    "done": note("done"),
    "work": note("work", work=True),
    "left": note("left", ours=True),
    "gone": note("gone", work=True),
}


def chosen(name: str, **variables: t.Any) -> list[str]:
    """Return the hosts that a task of choose.yml loops over. `gone` failed after the survey."""
    play = {"ansible_play_hosts_all": [*FLEET], "ansible_play_hosts": [host for host in FLEET if host != "gone"]}
    found = templar(["node_maintenance"], {"hostvars": FLEET, "groups": {}, **play, **variables})
    return list(found.template(trust_as_template(task("node_maintenance", "select.yml", name)["loop"])))


def test_nodes_that_an_earlier_run_left_come_first() -> None:
    assert chosen("Choose the nodes to work on") == ["left", "work"]


def test_only_nodes_that_have_work_are_drained() -> None:
    batch = [{"node": "a", "work": True}, {"node": "b", "work": False}, {"node": "c", "work": True}]
    drains = task("node_maintenance", "drain.yml", "Cordon and drain")
    for nodes, drained in ((batch, ["a", "c"]), (batch[1:2], [])):
        known = templar(["node_maintenance"], {"node_maintenance_batch": nodes, "node_maintenance_drain": True})
        assert known.template(trust_as_template(drains["winkube.node.nodes_drain"]["nodes"])) == drained
        assert bool(value(known, drains["when"])) is bool(drained)


def test_a_live_node_that_failed_before_its_turn_counts() -> None:
    assert chosen("Group the nodes that cannot be worked on") == ["gone"]
    failed = templar(
        ["node_maintenance"],
        {
            "hostvars": {**FLEET, "work": note("work", stage="failed")},
            "groups": {"node_maintenance_refused": ["gone"]},
            "ansible_play_hosts_all": ["work", "left"],
            "ansible_play_hosts": ["left"],
        },
    )
    assert value(failed, "node_maintenance_failed") == ["gone", "work"]


def test_a_play_without_nodes_selects_no_host(tmp_path: pathlib.Path) -> None:
    role = {"name": "winkube.node.node_maintenance"}
    member = {"node_maintenance_member": "{{ inventory_hostname == 'nobody' }}"}
    tasks = [
        {"ansible.builtin.import_role": {**role, "tasks_from": "inspect"}, "vars": member},
        {"ansible.builtin.import_role": {**role, "tasks_from": "select"}},
        {"ansible.builtin.assert": {"that": "groups['node_maintenance_chosen'] is not defined"}},
    ]
    play = {"hosts": "all", "gather_facts": False, "connection": "local", "tasks": tasks}
    playbook = tmp_path / "playbook.yml"
    playbook.write_text(json.dumps([play]), encoding="utf-8")
    program = pathlib.Path(sys.executable).with_name("ansible-playbook")
    run = subprocess.run([program, "-i", "one,two,", playbook], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr


def test_without_live_nodes_the_second_part_does_nothing() -> None:
    program = pathlib.Path(sys.executable).with_name("ansible-playbook")
    playbook = ROLES.parent / "playbooks" / "parts" / "live_nodes.yml"
    options = ["-i", "one,two,", "-e", "winkube_hosts=all", "-e", "ansible_connection=local"]
    run = subprocess.run([program, *options, playbook], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
    assert "Cordon and drain" not in run.stdout
