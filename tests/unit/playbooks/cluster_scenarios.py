# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Rehearsed runs of cluster.yml."""

from __future__ import annotations

from unit.calico_facts import facts
from unit.playbooks.fleet import KUBECONFIG
from unit.playbooks.rehearsal import Rehearsal


def clusters() -> dict[str, Rehearsal]:
    """Return runs of cluster.yml."""
    unbound = [{"namespace": "kube-system", "name": "kube-proxy", "owner": "", "managers": {}}]
    answers = {
        "cluster_info": {"api_server": "lb:6443", "node_version": "1.36.3", "unbound_daemon_sets": unbound},
        "cluster_objects": {"changed": True, "objects": []},
    }
    off = ("restrict_linux_daemon_sets", "kube_proxy_account", "runtime_classes")
    return {
        "cluster/plain": Rehearsal("cluster.yml", {}, answers, KUBECONFIG),
        "cluster/network": Rehearsal(
            "cluster.yml",
            {},
            {**answers, "k8s": {"changed": True, "result": {"results": []}}},
            {**KUBECONFIG, "cluster_support_network": True, "cni_flannel_backend": "vxlan"},
        ),
        # The changes of Calico that the variables request.
        "cluster/calico": Rehearsal(
            "cluster.yml",
            {},
            {
                **answers,
                "cluster_info": {
                    "api_server": "lb:6443",
                    "node_version": "1.36.3",
                    "service_subnet": "10.233.0.0/18",
                    "unbound_daemon_sets": [],
                    "calico": facts(strict_affinity=False),
                },
                "k8s": {"changed": True, "result": {"results": []}},
            },
            {
                **KUBECONFIG,
                "cluster_support_network": True,
                "cni_plugin": "calico",
                "cni_calico_set_strict_affinity": True,
                "kube_pods_subnet": "10.233.64.0/18",
            },
        ),
        "cluster/refused": Rehearsal(
            "cluster.yml",
            {},
            {**answers, "preflight_report": {"failed": True, "msg": "cni_flannel_backend: expected vxlan"}},
            {**KUBECONFIG, "cluster_support_network": True},
        ),
        "cluster/full": Rehearsal(
            "cluster.yml",
            {},
            answers,
            {
                "node_join_kubeconfig": "/own.conf",
                "node_join_kubeconfig_context": "prod",
                "node_join_delegate": "localhost",
                **{f"cluster_support_{name}": False for name in off},
                "cluster_support_log_shipper": True,
                "cluster_support_log_outputs": [{"name": "forward", "host": "logs.example", "shared_key": "s3cret"}],
                "cluster_support_log_builds": ["windows-2022"],
                "cluster_support_demo": True,
                "cluster_support_demo_builds": [],
                "cluster_support_demo_timeout": 5,
                "cluster_support_force_conflicts": True,
            },
        ),
    }
