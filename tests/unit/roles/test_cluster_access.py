# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The access that is checked beforehand matches what the roles do in the cluster."""

from __future__ import annotations

import typing as t

import pytest
from unit.roles.rendered import node, resources
from unit.roles.templates import templar, value

from ansible_collections.winkube.node.plugins.module_utils.cluster_access import (
    APPLY,
    NEEDS,
    REMOVALS,
    removals,
)
from ansible_collections.winkube.node.plugins.plugin_utils.pod_networks.catalogue import NAMES, network
from ansible_collections.winkube.node.plugins.plugin_utils.pod_networks.network import (
    daemon_sets,
    former_account_objects,
)

JOINING = {"read", "join", "tokens", "approve", "change_network"}
"""What every run checks that joins machines."""


@pytest.mark.parametrize(
    ("purpose", "variable", "run_as"),
    [("flannel", "cni_cluster_objects", "daemonset"), ("services", "cni_account_objects", "service")],
)
def test_the_right_to_apply_every_object_is_checked(purpose: str, variable: str, run_as: str) -> None:
    asked = {(need.resource, need.namespace, need.name) for need in NEEDS[purpose] if set(APPLY) <= set(need.verbs)}
    applied = resources(node(cni_run_as=run_as), variable)
    metadata = [(f"{one['kind'].lower()}s", one["metadata"]) for one in applied]
    assert asked == {(kind, about.get("namespace", ""), about["name"]) for kind, about in metadata}
    assert len(asked) == len(applied)


@pytest.mark.parametrize("plugin", NAMES)
def test_the_right_to_remove_a_former_network_is_checked(plugin: str) -> None:
    """Every object that a change from this network removes is among the rights of one purpose."""
    removed = {("daemonsets", name) for name in daemon_sets(plugin)}
    removed |= {("configmaps", name) for name in network(plugin).files.config_maps if daemon_sets(plugin)}
    removed |= {
        (f"{one['kind'].lower()}s", f"{one['metadata'].get('namespace', '')}/{one['metadata']['name']}")
        for one in former_account_objects(plugin, ["none"])
    }
    purposes = [name for name, (_daemon_set, users) in REMOVALS.items() if plugin in users]
    checked = {
        (need.resource, f"{need.namespace}/{need.name}")
        for purpose in purposes
        for need in NEEDS[purpose]
        if "delete" in need.verbs
    }
    assert checked == removed


def test_only_a_change_of_the_network_needs_the_right_to_remove_it() -> None:
    existing = ["kube-flannel/kube-flannel-windows", "kube-system/calico-node-windows"]
    assert removals(["change_network"], existing, ["calico"]) == ["flannel_removal"]
    assert removals(["change_network"], existing, ["sdnbridge"]) == ["calico_removal"]
    assert removals(["change_network"], existing, ["calico", "flannel"]) == []
    assert removals(["change_network"], [], ["calico"]) == []
    assert removals(["read"], existing, ["calico"]) == []


def purposes(runtimes: t.Mapping[str, str], **variables: t.Any) -> set[str]:
    """Return the access that a run on hosts with these runtimes checks."""
    hosts = {host: {"container_runtime": runtime} if runtime else {} for host, runtime in runtimes.items()}
    known = {"inventory_hostname": "a", "ansible_play_hosts": list(hosts), "hostvars": hosts, **hosts["a"], **variables}
    return set(value(templar(["container_runtime", "cni", "node_join"], known), "node_join_purposes"))


@pytest.mark.parametrize(
    ("runtimes", "variables", "expected"),
    [
        ({"a": "", "b": "containerd"}, {}, JOINING | {"flannel"}),
        ({"a": "moby"}, {}, JOINING | {"services", "services_read"}),
        (
            {"a": "docker", "b": ""},
            {},
            JOINING | {"flannel", "services", "services_read"},
        ),
        ({"a": "docker", "b": ""}, {"cni_plugin": "none"}, JOINING),
        (
            {"a": ""},
            {"cni_run_as": "service"},
            JOINING | {"services", "services_read"},
        ),
        ({"a": ""}, {"node_join_approval": "cluster"}, {"read", "join", "tokens", "change_network", "flannel"}),
        (
            {"a": ""},
            {"node_join_token_source": "control_plane"},
            {"read", "join", "delete_tokens", "approve", "flannel", "change_network"},
        ),
        (
            {"a": ""},
            {"node_join_token_source": "control_plane", "node_join_approval": "cluster"},
            {"read", "join", "flannel", "change_network"},
        ),
        # Playbooks that drain live nodes.
        (
            {"a": ""},
            {"node_maintenance_drain": True},
            JOINING | {"flannel", "drain"},
        ),
        ({"a": ""}, {"node_maintenance_drain": True, "winkube_join": False}, {"read", "drain"}),
        # plan.yml, and site.yml without its join.
        # Calico's own objects on the Linux side.
        ({"a": ""}, {"cni_plugin": "calico"}, JOINING | {"calico_read", "calico"}),
        ({"a": "", "b": "moby"}, {"node_join_read_only": True}, {"read", "services_read"}),
        ({"a": ""}, {"winkube_join": False}, {"read"}),
    ],
)
def test_a_run_checks_the_rights_that_it_uses(
    runtimes: dict[str, str], variables: dict[str, t.Any], expected: set[str]
) -> None:
    assert purposes(runtimes, **variables) == expected


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({"cluster_support_network": False, "cni_plugin": "calico"}, []),
        ({}, ["read", "flannel"]),
        ({"cni_plugin": "none"}, ["read", "kube_proxy"]),
        ({"cni_plugin": "calico"}, ["read", "calico_read", "calico"]),
        (
            {"cni_plugin": "calico", "cni_calico_set_strict_affinity": True, "cni_calico_enable_windows": True},
            ["read", "calico_read", "calico_affinity", "calico_windows", "calico"],
        ),
    ],
)
def test_cluster_yml_checks_the_rights_for_the_network(variables: dict[str, t.Any], expected: list[str]) -> None:
    known = {"inventory_hostname": "localhost", "groups": {}, "hostvars": {}, "cluster_support_network": True}
    assert value(templar(["cni", "cluster_support"], {**known, **variables}), "cluster_support_purposes") == expected
