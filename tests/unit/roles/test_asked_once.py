# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""When the first result of cluster_info is sufficient, and the cluster is not queried again."""

from __future__ import annotations

import typing as t

import pytest
import yaml
from ansible.template import trust_as_template
from unit.roles.templates import ROLES, task, templar, value

HOSTS = ["one", "two"]
READY = {"nodes": {"n-one": {"ready": True}, "n-two": {"ready": True}, "linux": {"ready": False}}}


def facts(host: str, *, joined: bool = True) -> dict[str, t.Any]:
    return {"joined": joined, "node_name": f"n-{host}"}


def untouched(**variables: t.Any) -> bool:
    """Return whether a node's host has recorded that nothing was changed."""
    arguments = task(
        "node_join", "converge.yml", "Record whether the node was changed, and whether the run waits for it later"
    )
    found = templar(["cni", "node_join"], {"node_join_info": facts("one"), **variables})
    return bool(found.template(trust_as_template(arguments["ansible.builtin.set_fact"]["node_join_untouched"])))


def waits(hosts: t.Mapping[str, t.Mapping[str, t.Any]], cluster: t.Mapping[str, t.Any] = READY) -> bool:
    """Return whether the run waits for its nodes. Hosts that are missing have failed."""
    about = {host: {"node_join_info": facts(host), "node_join_later": False, **more} for host, more in hosts.items()}
    variables = {
        "hostvars": {host: about.get(host, {}) for host in HOSTS},
        "ansible_play_hosts": list(about),
        "ansible_play_batch": list(about),
        "ansible_play_hosts_all": HOSTS,
        "node_join_cluster": cluster,
    }
    condition = task("node_join", "converge.yml", "Wait until the nodes are Ready")["when"]
    return bool(value(templar(["cni", "node_join"], variables), condition))


SAME = {"node_join_untouched": True}


def test_unchanged_nodes_that_were_ready_are_not_waited_for() -> None:
    assert not waits(dict.fromkeys(HOSTS, SAME))


def test_a_change_on_one_node_makes_all_wait() -> None:
    assert waits({"one": SAME, "two": {"node_join_untouched": False}})


def test_a_changed_node_that_is_drained_later_makes_all_wait() -> None:
    assert waits({"one": SAME, "two": {"node_join_untouched": False, "node_join_later": True}})


def test_nodes_that_are_drained_later_are_not_waited_for() -> None:
    assert not waits({"one": SAME, "two": {**SAME, "node_join_later": True}}, {"nodes": {"n-one": {"ready": True}}})
    assert not waits({host: {**SAME, "node_join_later": True} for host in HOSTS}, {"nodes": {}})


def test_a_failed_host_makes_the_others_wait() -> None:
    assert waits({"one": SAME})


@pytest.mark.parametrize("nodes", [{"n-one": {"ready": True}}, {"n-one": {"ready": True}, "n-two": {"ready": False}}])
def test_a_node_that_was_not_ready_makes_all_wait(nodes: dict[str, t.Any]) -> None:
    assert waits(dict.fromkeys(HOSTS, SAME), {"nodes": nodes})


def test_a_machine_that_joins_is_not_untouched() -> None:
    assert untouched()
    assert untouched(node_prepare_converged={"changed": False}, cni_pods_deleted={"skipped": True, "changed": False})
    assert not untouched(node_join_info=facts("one", joined=False))


# They change nothing, or only what others have changed (deleted tokens of joining nodes, a guard's end).
READERS = {
    "ansible.builtin.assert",
    "ansible.builtin.async_status",
    "ansible.builtin.fail",
    "ansible.builtin.import_role",
    "ansible.builtin.import_tasks",
    "ansible.builtin.include_tasks",
    "ansible.builtin.set_fact",
    "kubernetes.core.k8s_info",
    "winkube.node.nodes_ready",
    "winkube.node.service_account_tokens",
}
FOLLOWERS = {
    "Approve the nodes' certificates in the background",
    "Delete the bootstrap tokens",
    "Delete the bootstrap tokens on the control plane host",
    # The machine joins, so it is not unchanged.
    "Delete the node of a machine that joins again",
    # The former network has been removed before.
    "Guard the static address while the new network is created",
    # Files for the resources that `Converge the node` then creates.
    "Push the files of the bundle that the node needs",
    "Wait for the static address, and end its guard",
}
FILES = {
    "node_join": ("converge.yml", "join.yml", "join_machine.yml", "metadata.yml", "apply.yml", "addressed.yml"),
    "cni": ("linux.yml", "services.yml", "calico.yml", "cluster.yml", "replace_network.yml", "pods.yml"),
    "node_prepare": ("converge.yml",),
}


def flat(tasks: t.Iterable[dict[str, t.Any]]) -> t.Iterator[dict[str, t.Any]]:
    """Yield tasks, including those in blocks."""
    for one in tasks:
        for part in ("block", "rescue", "always"):
            yield from flat(one.get(part, []))
        if "block" not in one:
            yield one


def changing() -> t.Iterator[tuple[str, str]]:
    """Yield the tasks of the join that may change something, with the names that they register."""
    for role, files in FILES.items():
        for name in files:
            for one in flat(yaml.safe_load((ROLES / role / "tasks" / name).read_text(encoding="utf-8"))):
                if not READERS & set(one) and one["name"] not in FOLLOWERS:
                    yield one["name"], one.get("register", "")


@pytest.mark.parametrize(("name", "registered"), list(changing()))
def test_every_change_of_a_run_is_noticed(name: str, registered: str) -> None:
    assert registered, f"{name}: register its result, and name that in role_decisions.node_join"
    assert not untouched(**{registered: {"changed": True}})


@pytest.mark.parametrize(
    ("node", "seen"),
    [
        ({"unschedulable": False, "cordon_owner": ""}, {"ours": False, "cordoned_before": False}),
        ({"unschedulable": True, "cordon_owner": ""}, {"ours": False, "cordoned_before": True}),
        ({"unschedulable": True, "cordon_owner": "patch_nodes"}, {"ours": False, "cordoned_before": True}),
        ({"unschedulable": True, "cordon_owner": "site"}, {"ours": True, "cordoned_before": True}),
    ],
)
def test_the_owner_of_a_cordon_is_read_at_the_beginning(node: dict[str, t.Any], seen: dict[str, bool]) -> None:
    begin = task("node_maintenance", "inspect.yml", "Begin the record of the node")["ansible.builtin.set_fact"]
    given = {"inventory_hostname": "one", "node_maintenance_owner": "site", "node_maintenance_node_name": "n-one"}
    labels, given["node_maintenance_ring_label"] = {"site": "a", "zone": "b"}, "site"
    found = templar(["node_maintenance"], {**given, "node_maintenance_nodes": {"n-one": {**node, "labels": labels}}})
    state = found.template(trust_as_template(begin["node_maintenance_state"]))
    assert state == {"host": "one", "node": "n-one", "stage": "waiting", "seen": {**seen, "labels": {"site": "a"}}}
    assert (
        value(templar(["node_maintenance"], {**given, "node_maintenance_state": state}), "node_maintenance_seen")
        == state["seen"]
    )
    assert not surveys(state)


def surveys(*states: t.Mapping[str, t.Any]) -> bool:
    """Return whether the cluster is queried for the nodes of hosts with these facts."""
    hosts = {state["host"]: {"node_maintenance_state": state} for state in states}
    variables = {"hostvars": {**hosts, "other": {}}, "ansible_play_hosts_all": [*hosts, "other"]}
    condition = task("node_maintenance", "inspect.yml", "Query the nodes in the cluster")["when"]
    return bool(value(templar(["node_maintenance"], variables), condition))


def test_the_cluster_is_queried_unless_an_earlier_task_did_so() -> None:
    begin = task("node_maintenance", "inspect.yml", "Begin the record of the node")["ansible.builtin.set_fact"]
    given = {"inventory_hostname": "one", "node_maintenance_node_name": "n-one"}
    state = templar(["node_maintenance"], given).template(trust_as_template(begin["node_maintenance_state"]))
    assert state == {"host": "one", "node": "n-one", "stage": "waiting"}
    assert surveys(state)
    assert surveys({**state, "seen": {}}, {**state, "host": "two"})
    assert not surveys()
    survey = {"nodes": {"n-one": {"ours": True}}}
    found = templar(["node_maintenance"], {"node_maintenance_state": state, "node_maintenance_inspected": survey})
    assert value(found, "node_maintenance_seen") == {"ours": True}
    # The survey was skipped, or its host has failed.
    assert value(templar(["node_maintenance"], {"node_maintenance_state": state}), "node_maintenance_seen") == {}
