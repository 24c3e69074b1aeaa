# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Rehearsed runs of site.yml, by the names of their golden files."""

from __future__ import annotations

import typing as t
from dataclasses import replace

from unit import calico_facts
from unit.playbooks.fleet import (
    APPLIED,
    CLUSTER,
    DEFERRED,
    HOSTS,
    KUBECONFIG,
    LOST,
    MAINTAINED,
    NETWORK,
    RESULTS,
    cluster,
    daemon_set,
    facts,
    member,
)
from unit.playbooks.rehearsal import Rehearsal

SITE = Rehearsal("site.yml", HOSTS, RESULTS, KUBECONFIG)
SETTINGS = {
    "node_join_kubeconfig_context": "prod",
    "node_join_delegate": "bastion",
    "node_join_api_server": "10.3.0.1:6443",
    "windows_settings_hosts": {"api.example": "10.3.0.1"},
    "allow_unsupported_windows": True,
    "allowed_code_policies": ["site"],
    "hns_cleanup_containerd_namespaces": ["site"],
}
"""A variable for which all other runs use the default."""


def site() -> dict[str, Rehearsal]:
    """Return runs of site.yml."""
    nodes = {"docker": HOSTS["docker"], "live": HOSTS["live"]}
    converged: dict[str, t.Any] = {
        "cluster_info": cluster(win_live=member(13), docker1=member(12, network_runs_as="service")),
        "join_info@docker": facts("docker1", joined=True, cni={**NETWORK, "services": True}),
        "join_info@live": RESULTS["join_info@live"],
        "Read the tokens of the network and kube-proxy for nodes on which they are services": RESULTS[
            "Read the tokens that the cluster created for the accounts"
        ],
    }
    return {
        "first": SITE,
        "check": replace(SITE, checks=True),
        "nothing-to-do": Rehearsal("site.yml", nodes, converged, KUBECONFIG),
        "only-install": replace(SITE, tags=["install"]),
        "without-join": replace(SITE, variables={}, skip_tags=["join"]),
    }


def trouble() -> dict[str, Rehearsal]:
    """Return runs of site.yml with failures."""
    run = replace(SITE, variables={**KUBECONFIG, **SETTINGS})

    def with_results(**more: t.Any) -> Rehearsal:
        return replace(run, results={**RESULTS, **more})

    return {
        "unsupported": replace(
            run, results={**RESULTS, "join_info@docker": facts("docker1", unsupported_windows="Windows Server 2016")}
        ),
        "joins-fail": replace(
            run,
            results={
                **RESULTS,
                "Join the node@new": {"failed": True, "msg": "kubeadm has failed"},
                "Join the node@docker": LOST,
                "Read which certificates were approved": {
                    "finished": True,
                    "approved": {},
                    "refused": {"win-new": "csr-1: another name"},
                },
                "Cordon and drain": {
                    "failed": True,
                    "nodes": {"win-live": {"status": "timeout", "msg": "a pod stays"}},
                },
            },
        ),
        "no-token": replace(
            run, results={**RESULTS, "Create a bootstrap token for each node": {"failed": True, "msg": "forbidden"}}
        ),
        "no-control-plane-token": replace(
            run,
            variables={
                **run.variables,
                "node_join_token_source": "control_plane",
                "node_join_control_plane": "control1",
            },
            results={
                **RESULTS,
                "Create a bootstrap token for each node on the control plane host": {
                    "failed": True,
                    "stderr": "open /etc/kubernetes/admin.conf: permission denied\n",
                },
            },
        ),
        "not-registered": replace(
            run,
            results={
                **RESULTS,
                "Wait until the nodes are registered": {"nodes": {}, "waiting": ["win-new", "docker1"]},
                "Converge the node@live": [DEFERRED, LOST],
            },
        ),
        "not-ready": replace(
            run,
            results={
                **RESULTS,
                "Wait until the nodes are Ready": {"nodes": {"win-new": {"reason": "no CNI"}}, "waiting": ["win-new"]},
                MAINTAINED: {"nodes": {"win-live": {"reason": "kubelet stopped"}}, "waiting": ["win-live"]},
            },
        ),
        # The machine is new, and its old node still exists.
        "rejoin": replace(
            run,
            hosts={"new": HOSTS["new"]},
            variables={**run.variables, "node_join_rejoin": True},
            results={**RESULTS, "cluster_info": cluster(win_new=member(11))},
        ),
        "not-rejoin": replace(
            SITE, hosts={"new": HOSTS["new"]}, results={**RESULTS, "cluster_info": cluster(win_new=member(11))}
        ),
        "not-uncordoned": with_results(Uncordon={"nodes": {"win-live": {"failed": True, "msg": "forbidden"}}}),
        "too-many-failed": replace(
            run,
            hosts={**HOSTS, "live2": {**HOSTS["live"], "kubernetes_node_hostname": "win-live2"}},
            results={
                **RESULTS,
                "cluster_info": cluster(
                    win_live=member(13), win_live2=member(13, unschedulable=True, cordon_owner="site")
                ),
                "join_info@live2": facts("win-live2", joined=True, cni=NETWORK),
                "Cordon and drain": LOST,
            },
        ),
    }


def network() -> dict[str, Rehearsal]:
    """Return runs of site.yml on a live node whose network changes."""
    other = {"plugin": "flannel", "mode": "vxlan", "network": "flannel.4096"}
    hosts = {"live": HOSTS["live"]}
    results = {
        **RESULTS,
        "cluster_info": cluster(win_live=member(13, network_pods=CLUSTER["nodes"]["win-live"]["network_pods"])),
        "Converge the node@live": {},
    }
    without = {**KUBECONFIG, "cni_plugin": "none"}
    alone = {**results, "cluster_info": cluster(win_live=member(13), win_other=member(14))}
    return {
        "other-backend": Rehearsal(
            "site.yml", hosts, {**results, "join_info@live": facts("win-live", joined=True, cni=other)}, KUBECONFIG
        ),
        "flannel-goes": Rehearsal("site.yml", hosts, alone, {**without, "cni_remove_daemon_sets": True}),
        "flannel-is-needed": Rehearsal("site.yml", hosts, alone, without),
        "to-calico": Rehearsal(
            "site.yml",
            {**hosts, "new": HOSTS["new"]},
            {**results, **_calico()},
            {**KUBECONFIG, "cni_plugin": "calico"},
        ),
        "no-namespace": Rehearsal(
            "site.yml",
            hosts,
            {**results, APPLIED: {"failed": True, "reason": "Not Found", "msg": "namespaces"}},
            KUBECONFIG,
            checks=True,
        ),
    }


def _calico() -> dict[str, t.Any]:
    """Return results of a run in which one node changes from flannel to Calico, and another one joins with Calico."""
    applied = [daemon_set("calico-node-windows", "calico1"), daemon_set("kube-proxy-windows", "proxy2")]
    pods = CLUSTER["nodes"]["win-live"]["network_pods"]
    known = cluster(win_live=member(13, network_pods=pods, pod_network="", overlay_address=""))
    addressed = {"nodes": {"win-new": {"overlay_address": "10.233.64.1", "has_pods": True}}, "waiting": []}
    later = {"nodes": {"win-live": {"overlay_address": "10.233.64.65", "has_pods": True}}, "waiting": []}
    return {
        "cluster_info": {**known, "calico": calico_facts.facts()},
        APPLIED: {"changed": True, "result": {"results": applied}},
        "Wait until the network has assigned addresses to the nodes": [addressed, later],
        "Restart pods that lost their network when Calico started": {"changed": True},
        "Remove the network of the former CNI plugin": {"changed": True, "static_adapters": ["Ethernet"]},
        "Guard the static address while the new network is created": {"changed": False, "guard": {"key": "guard-2"}},
        "Wait for the static address after the change of the network, and end its guard": {"changed": True},
    }


SCENARIOS: dict[str, Rehearsal] = {
    **{f"site/{name}": run for name, run in {**site(), **trouble(), **network()}.items()},
}
