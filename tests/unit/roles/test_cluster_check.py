# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The arguments of cluster_check in node_join's check.yml, from the roles' defaults and an inventory's variables."""

from __future__ import annotations

import typing as t

import pytest
from ansible.template import trust_as_template
from unit.roles.templates import task, templar

from ansible_collections.winkube.node.plugins.action.cluster_check import ActionModule

ROLES = ("windows_settings", "container_runtime", "cni", "kubernetes_node", "node_join")
CLUSTER: dict[str, t.Any] = {
    "kubernetes_version": "v1.36.2",
    "node_version": "1.36.2",
    "api_server": "10.3.0.1:6443",
    "pod_subnet": "10.233.64.0/18,fd00::/56",
    "service_subnet": "10.233.0.0/18",
    "flannel": {},
    "unbound_daemon_sets": [{"namespace": "default", "name": "x"}, {"namespace": "kube-system", "name": "kube-proxy"}],
}


def check(cluster: t.Mapping[str, t.Any] | None = None, **variables: t.Any) -> dict[str, t.Any]:
    """Return the result of the task for a host with these variables."""
    arguments = task("node_join", "check.yml", "Compare the variables with the cluster")["winkube.node.cluster_check"]
    magic = {
        "ansible_check_mode": False,
        "inventory_hostname": "win1",
        "ansible_host": "10.3.0.4",
        "groups": {},
        "hostvars": {},
    }
    known = templar(ROLES, {**magic, "node_join_cluster": {**CLUSTER, **(cluster or {})}, **variables})
    options = {
        name: known.template(trust_as_template(text)) if isinstance(text, str) else text
        for name, text in arguments.items()
    }
    assert set(options) == set(ActionModule.OPTIONS), "an option that no play gives"
    return ActionModule.perform(None, options, magic)  # type: ignore[arg-type]  # it needs nothing of the action


def test_values_missing_in_the_inventory_come_from_the_cluster() -> None:
    result = check()
    assert result["problems"] == []
    (warning,) = result["warnings"]
    assert "default/x" in warning
    assert "kube-system/kube-proxy" not in warning
    outcomes = {one["object"]: one["outcome"] for one in result["findings"]}
    assert outcomes == {"DaemonSet default/x": "reported", "DaemonSet kube-system/kube-proxy": "changed"}


def test_in_check_mode_the_table_replaces_the_warnings() -> None:
    result = check(ansible_check_mode=True)
    assert result["warnings"] == []
    assert len(result["findings"]) == 2


@pytest.mark.parametrize(
    ("cluster", "variables", "named"),
    [
        ({}, {"kube_version": "v1.37.1"}, ["kube_version", "1.36.2"]),
        ({"kubernetes_version": "v1.29.0", "node_version": "1.29.0"}, {}, ["1.30 to 1.37"]),
        ({}, {"kube_pods_subnet": "10.244.0.0/16"}, ["kube_pods_subnet", "10.233.64.0/18"]),
        ({}, {"kube_service_addresses": "10.96.0.0/12"}, ["kube_service_addresses", "10.233.0.0/18"]),
        (
            {"flannel": {"config_map": "a/b", "net_conf": {"Backend": {"Type": "vxlan"}}}},
            {"flannel_backend_type": "host-gw"},
            ["flannel_backend_type", "vxlan"],
        ),
        ({"api_server": "localhost:6443"}, {}, ["node_join_api_server", "localhost:6443"]),
        (
            {"api_server": "lb.example.com:6443"},
            {"windows_settings_hosts": {"lb.example.com": "127.0.0.1"}},
            ["node_join_api_server"],
        ),
        ({}, {"node_join_api_server": "https://k8s:6443"}, ["node_join_api_server", "HOST:PORT"]),
    ],
)
def test_a_mismatch_stops_the_run(cluster: dict[str, t.Any], variables: dict[str, t.Any], named: list[str]) -> None:
    result = check(cluster, **variables)
    assert (result["refused"], result["failed"]) == (True, False)
    assert "no node was touched" in result["msg"]
    (problem,) = result["problems"]
    for text in named:
        assert text in problem
