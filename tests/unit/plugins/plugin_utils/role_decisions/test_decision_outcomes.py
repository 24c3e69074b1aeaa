# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Every decision on the hosts of a run, compared with golden files: which variables it reads, and what follows."""

from __future__ import annotations

import collections
import typing as t

import pytest
from ansible.errors import AnsibleError
from unit import outcomes
from unit.roles.templates import ROLES, templar

from ansible_collections.winkube.node.plugins.plugin_utils.role_decisions import table
from ansible_collections.winkube.node.plugins.plugin_utils.values.ansible_data import plain

LISTED = ("node_prepare_resources", "node_join_node_resources")
"""Decisions that are resources, of which only the number by type is compared."""
PODS = [
    {"namespace": "kube-flannel", "name": "flannel-1", "revision": "old", "daemon_set": "kube-flannel-windows"},
    {"namespace": "kube-system", "name": "proxy-1", "revision": "new", "daemon_set": "kube-proxy-windows"},
]
NODES = {
    "win-one": {
        "os": "windows",
        "ready": True,
        "version": "v1.35.6",
        "addresses": ["10.0.0.1"],
        "network_runs_as": "service",
        "pod_cidr": "10.244.1.0/24",
        "internal_ip": "10.0.0.1",
        "network_pods": PODS,
        "unschedulable": True,
        "cordon_owner": "site",
        "labels": {"topology.kubernetes.io/zone": "westeurope-2"},
    },
    "win-five": {"os": "windows", "ready": False},
    "linux": {"os": "linux", "ready": True, "addresses": ["10.0.0.9"]},
}
CLUSTER = {
    "api_server": "lb:6443",
    "ca_certificate": "PEM",
    "ca_cert_hash": "sha256:0",
    "node_version": "1.36.3",
    "pod_subnet": "10.1.0.0/16",
    "service_subnet": "10.2.0.0/16",
    "nodes": NODES,
}
DAEMON_SET = {"spec": {"template": {"metadata": {"labels": {"winkube.node/revision": "new"}}}}, "kind": "DaemonSet"}
ONE = {
    "ansible_host": "10.0.0.1",
    "kubernetes_node_hostname": "win-one",
    "node_join_info": {
        "joined": True,
        "node_name": "win-one",
        "self_named": False,
        "computer_name": "WIN-ONE",
        "clock_skew": 500.0,
        "cni": {"plugin": "flannel", "mode": "vxlan", "network": "flannel.4096"},
    },
    "node_prepare_converged": {"changed": True, "deferred": [{"name": "Hyper-V"}], "clock_skew": 300.0},
    "node_join_converged": {
        "changed": False,
        "deferred": [{"name": "kube-proxy"}],
        "changes": [{"name": "C:\\k\\kube-proxy\\config.yaml"}],
    },
    "node_join_untouched": False,
    "node_join_later": True,
    "cni_applied": {"changed": True, "result": {"results": [{"result": DAEMON_SET}]}},
    "cni_network_recorded": {"unreachable": True, "msg": "timeout"},
    "cni_expected_revisions": ["new"],
    "node_maintenance_state": {
        "host": "one",
        "node": "win-one",
        "stage": "worked",
        "work": True,
        "seen": {"ours": True},
    },
    "bundle_patches": {64 * "a": "/bundle/1.msu"},
    "bundle_sites": [{"url": "https://10.0.0.250:8443/x"}],
    "bundle_pushed": "C:\\ProgramData\\winkube\\bundle",
    "windows_patches_private": [{"kb": "KB1", "file": "1.msu", "sha256": 64 * "a"}],
    "windows_patches_public": "KB2",
    "windows_patches_result": {"failed": True, "msg": "WSUS is not reached"},
    "http_proxy": "http://proxy:3128",
    "kubernetes_node_version": "1.36.3",
    "group_names": ["node_windows", "node_maintenance_chosen"],
    "node_reset_cluster": {"nodes": {"win-one": {**NODES["win-one"], "generation": "g1", "replacement": {}}}},
    "node_replace_generation": "g2",
    "node_replace_create_command": ["make-vm", "{{ inventory_hostname }}"],
    "node_replace_planned": {
        "status": "replace",
        "host": "one",
        "node": "win-one",
        "new": "two",
        "begun": False,
        "old": "",
    },
    "node_replace_old_done": "reset",
    "node_replace_left": True,
    "node_replace_addresses": ["10.0.0.1"],
}
TWO = {
    "ansible_host": "10.0.0.2",
    "container_runtime": "moby",
    "node_join_info": {
        "joined": False,
        "node_name": "linux",
        "self_named": True,
        "computer_name": "LINUX",
        "clock_skew": 1.0,
        "cni": {},
    },
    "node_join_tokens": {"failed": False, "changed": True, "tokens": {"linux": "abcdef.0123456789abcdef"}},
    "node_join_approvals": {"refused": {"linux": "two keys"}, "approved": {"win-one": "csr-1"}, "msg": "ended"},
    "node_join_result": {"failed": True},
    "node_join_registered": {"nodes": {"linux": {"pod_cidr": "10.244.2.0/24", "internal_ip": "10.0.0.2"}}},
    "node_join_untouched": True,
    "node_join_reported_name_problems": {"two": "that is the name of another host"},
    "node_join_api_server": "10.3.0.1:6443",
    "node_join_kubelet_arguments": {"node-labels": "site=a"},
    "node_join_node_taints": [{"key": "os", "effect": "NoSchedule"}],
    "node_join_ignore_preflight_errors": ["Mem"],
    "cni_accounts": {"tokens": {"kube-flannel/flannel-windows": "t1"}},
    "kubernetes_node_version": "1.36.3",
    "node_join_rejoin": True,
    "node_join_kubeconfig": "",
    "image_cache_nano_server_name": "insider",
    "winkube_replaces_host": "one",
    "node_replace_generation": "g2",
    "node_replace_joined": True,
    "node_replace_created": {"address": "10.0.0.7", "variables": {"ansible_port": 5986}},
}
THREE: dict[str, t.Any] = {
    "kubernetes_node_hostname": "win-three",
    "cni_plugin": "none",
    "kube_version": "1.36.3",
    "image_cache_test_images": [{"name": "a:1"}],
}
HOSTS: dict[str, dict[str, t.Any]] = {"one": ONE, "two": TWO, "three": THREE}
RUN = {
    "groups": {"all": [*HOSTS], "node_windows": [*HOSTS], "node_maintenance_refused": ["three"]},
    "hostvars": HOSTS,
    "ansible_play_hosts": ["one", "two"],
    "ansible_play_batch": ["one", "two"],
    "ansible_play_hosts_all": [*HOSTS],
    "ansible_forks": 5,
    "ansible_run_tags": ["all"],
    "ansible_skip_tags": [],
    "kubeconfig": "/nonexistent",
    "node_maintenance_drain": True,
    "node_maintenance_owner": "site",
    "node_maintenance_nodes": NODES,
    "winkube_first_resources": [{"type": "File", "name": "C:\\first"}],
    "loadbalancer_apiserver": {"address": "10.0.0.99"},
    "apiserver_loadbalancer_domain_name": "LB.example",
}
WITH_CLUSTER = {"node_join_cluster": CLUSTER, "node_maintenance_node_name": "win-one"}


def value(found: t.Any, name: str) -> t.Any:
    """Return what is decided for a variable, or why nothing can be."""
    try:
        decided = plain(table.decide(name, table.of_host(found.available_variables, found.template)))
    except (KeyError, AnsibleError) as error:
        return f"refused: {error}"
    return dict(collections.Counter(one["type"] for one in decided)) if name in LISTED else decided


@pytest.mark.parametrize("host", HOSTS)
def test_every_decision(host: str) -> None:
    run = RUN | (WITH_CLUSTER if host != "three" else {})
    roles = [path.parts[-3] for path in sorted(ROLES.glob("*/vars/main.yml"))]
    found = templar(roles, {"inventory_hostname": host, **run, **HOSTS[host]})
    outcomes.check(f"role_decisions/{host}", {name: value(found, name) for name in sorted(table.DECISIONS)})
