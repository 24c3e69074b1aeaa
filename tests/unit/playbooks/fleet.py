# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The machines and the cluster of rehearsals, as modules report them."""

from __future__ import annotations

import typing as t

KUBECONFIG = {"kubeconfig": "/site/admin.conf"}
HOSTS: dict[str, dict[str, t.Any]] = {
    "new": {"ansible_host": "10.0.0.11", "kubernetes_node_hostname": "WIN-new", "container_runtime": "containerd"},
    "docker": {"ansible_host": "10.0.0.12", "container_runtime": "moby"},
    "live": {"ansible_host": "10.0.0.13", "kubernetes_node_hostname": "win-live", "container_runtime": "containerd"},
}
NETWORK = {"plugin": "flannel", "mode": "host-gw", "network": "cbr0"}
PODS = [
    {
        "namespace": "kube-flannel",
        "name": "kube-flannel-windows-a",
        "revision": "flannel2",
        "daemon_set": "kube-flannel-windows",
    },
    {
        "namespace": "kube-system",
        "name": "kube-proxy-windows-a",
        "revision": "proxy1",
        "daemon_set": "kube-proxy-windows",
    },
]


def facts(name: str, **more: t.Any) -> dict[str, t.Any]:
    """Return the report of a machine: by default it is prepared, and not a node.

    Args:
        name: the node's name.
        more: values that differ from the default.
    """
    usual = {
        "computer_name": name.upper(),
        "node_name": name,
        "joined": False,
        "self_named": False,
        "clock_skew": 1.5,
        "unsupported_windows": "",
        "in_domain": False,
        "uplink_at_risk": False,
        "ended_commands": None,
        "cni": {},
    }
    return {**usual, **more}


def member(number: int, **more: t.Any) -> dict[str, t.Any]:
    """Return the cluster's data about a node: by default it is Ready and runs Windows.

    Args:
        number: determines its addresses.
        more: values that differ from the default.
    """
    usual = {
        "version": "v1.36.1",
        "ready": True,
        "os": "windows",
        "addresses": [f"10.0.0.{number}"],
        "internal_ip": f"10.0.0.{number}",
        "pod_cidr": f"10.244.{number}.0/24",
        "unschedulable": False,
        "cordon_owner": "",
        "labels": {},
        "network_runs_as": "",
        "network_pods": [],
    }
    return {**usual, **more}


LINUX = {"version": "v1.36.3", "ready": True, "os": "linux", "addresses": ["10.0.0.1"]}


def cluster(**nodes: dict[str, t.Any]) -> dict[str, t.Any]:
    """Return cluster_info's result for a cluster with these Windows nodes. Underscores in names stand for dashes."""
    return {
        "api_server": "lb.cluster.local:6443",
        "node_version": "1.36.3",
        "ca_certificate": "a certificate",
        "ca_cert_hash": "sha256:00",
        "pod_subnet": "10.244.0.0/16",
        "service_subnet": "10.96.0.0/12",
        "unbound_daemon_sets": [
            {"namespace": "kube-system", "name": "kube-proxy"},
            {"namespace": "monitoring", "name": "exporter"},
        ],
        "nodes": {"linux1": LINUX, **{name.replace("_", "-"): about for name, about in nodes.items()}},
    }


NEW_PODS = "Wait for the new pods of the network and kube-proxy"
NEW_PODS_RUN = {
    "resources": [{"status": {"phase": "Running"}, "metadata": {"ownerReferences": [{"name": "kube-proxy-windows"}]}}]
}


def daemon_set(name: str, revision: str) -> dict[str, t.Any]:
    """Return the applied part of a DaemonSet."""
    labels = {"app": name, "winkube.node/revision": revision}
    return {"result": {"kind": "DaemonSet", "spec": {"template": {"metadata": {"labels": labels}}}}}


LOST = {"unreachable": True, "msg": "the connection is lost"}
DEFERRED = {"changed": True, "deferred": [{"name": "Hyper-V"}, {"name": "containerd"}]}
JOINING = ["win-new", "docker1"]
APPLIED = "Apply the network's and kube-proxy's DaemonSets for Windows"
APPROVALS = "Read which certificates were approved"
MAINTAINED = "Wait until the nodes and their HostProcess DaemonSets are ready"
CLUSTER = cluster(win_live=member(13, network_runs_as="service", network_pods=PODS))
RESULTS: dict[str, t.Any] = {
    "cluster_info": CLUSTER,
    "join_info@new": facts("win-new", clock_skew=-30),
    "join_info@docker": facts("docker1", self_named=True, uplink_at_risk=True),
    "join_info@live": facts("win-live", joined=True, cni=NETWORK),
    "Converge the node@new": {"changed": True, "rebooted": True, "clock_skew": 0.2},
    "Converge the node@docker": {"changed": True, "rebooted": True},
    # Once before it is drained, and once after that.
    "Converge the node@live": [DEFERRED, {"changed": True, "rebooted": True}],
    "Read the tokens of the network and kube-proxy for nodes on which they are services": {
        "tokens": {"kube-flannel/flannel-windows": "token 1"}
    },
    "Read the tokens that the cluster created for the accounts": {
        "changed": True,
        "tokens": {"kube-flannel/flannel-windows": "token 1", "kube-system/kube-proxy-windows": "token 2"},
    },
    "Create a bootstrap token for each node": {
        "changed": True,
        "tokens": {"win-new": "aaaaaa.1", "docker1": "bbbbbb.2"},
        "token_ids": {"win-new": "aaaaaa", "docker1": "bbbbbb"},
    },
    "node_csr_approval": {"ansible_job_id": "job.1", "started": True, "finished": False},
    APPROVALS: {"finished": True, "approved": {"win-new": ["csr-1"], "docker1": ["csr-2"]}, "refused": {}},
    "Guard the static address": {"changed": True, "guard": {"id": "guard-1"}},
    "Join the node": {"changed": True},
    "Wait until the nodes are registered": {"nodes": {"win-new": member(11), "docker1": member(12)}, "waiting": []},
    "Wait until the nodes are Ready": {"nodes": {}, "waiting": []},
    APPLIED: {
        "changed": True,
        "result": {"results": [daemon_set("flannel-windows", "flannel2"), daemon_set("kube-proxy-windows", "proxy2")]},
    },
    "Cordon and drain": {
        "changed": True,
        "nodes": {"win-live": {"status": "drained", "cordoned_by": "site on here since noon", "pods": ["a"]}},
    },
    MAINTAINED: {"nodes": {"win-live": {"reason": ""}}, "waiting": []},
    NEW_PODS: NEW_PODS_RUN,
    "Uncordon": {"changed": True, "nodes": {"win-live": {"failed": False, "unschedulable": False}}},
}

# Hosts and variables of other playbooks.
PLAIN: t.Mapping[str, t.Mapping[str, t.Any]] = {"win1": {"ansible_host": "10.0.0.21"}, "win2": {}}
PROXY = {"https_proxy": "http://proxy.example:3128", "no_proxy": "intranet.example"}
LOOSE = {"allow_unsupported_windows": True, "allowed_code_policies": ["site"]}
