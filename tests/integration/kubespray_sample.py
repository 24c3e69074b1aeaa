# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""kubespray's sample inventory: the real one if WINKUBE_KUBESPRAY_SAMPLE names its folder, else the same variables.

Keys and values: kubernetes-sigs/kubespray v2.31.0, inventory/sample/group_vars, without those that this collection and
its tests do not share with kubespray. The sample sets neither kube_version nor how Calico encapsulates.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

_ALL: Mapping[str, Any] = {
    "bin_dir": "/usr/local/bin",
    "loadbalancer_apiserver_port": 6443,
    "loadbalancer_apiserver_healthcheck_port": 8081,
    "no_proxy_exclude_workers": False,
    "kube_webhook_token_auth": False,
    "ntp_enabled": False,
    "unsafe_show_logs": False,
    "allow_unsupported_distribution_setup": False,
}
_CLUSTER: Mapping[str, Any] = {
    "kube_config_dir": "/etc/kubernetes",
    "kube_cert_dir": "{{ kube_config_dir }}/ssl",
    "kube_owner": "kube",
    "kube_log_level": 2,
    "credentials_dir": "{{ inventory_dir }}/credentials",
    "kube_network_plugin": "calico",
    "kube_network_plugin_multus": False,
    "kube_service_addresses": "10.233.0.0/18",
    "kube_pods_subnet": "10.233.64.0/18",
    "kube_network_node_prefix": 24,
    "kube_apiserver_ip": "{{ kube_service_addresses | ansible.utils.ipaddr('net') }}",
    "kube_apiserver_port": 6443,
    "kube_proxy_mode": "ipvs",
    "cluster_name": "cluster.local",
    "ndots": 2,
    "dns_mode": "coredns",
    "enable_nodelocaldns": True,
    "nodelocaldns_ip": "169.254.25.10",
    "resolvconf_mode": "host_resolvconf",
    "dns_domain": "{{ cluster_name }}",
    "container_manager": "containerd",
    "k8s_image_pull_policy": "IfNotPresent",
    "event_ttl_duration": "1h0m0s",
}
_CALICO: Mapping[str, Any] = {"calico_cni_name": "k8s-pod-network", "calico_pool_blocksize": 26}
NETWORKS = {"pod_cidr": _CLUSTER["kube_pods_subnet"], "service_cidr": _CLUSTER["kube_service_addresses"]}
"""The networks of a cluster that kubespray creates with its sample, as options of a simulated cluster."""


def write(folder: Path, **cluster: Any) -> None:
    """Write the sample with its groups into a folder.

    Args:
        folder: a new folder.
        cluster: variables that an administrator changes for the whole cluster.
    """
    folder.mkdir()
    given = os.environ.get("WINKUBE_KUBESPRAY_SAMPLE")
    if given:
        shutil.copytree(Path(given) / "group_vars", folder / "group_vars")
    else:
        files = {
            "all/all.yml": _ALL,
            "k8s_cluster/k8s-cluster.yml": _CLUSTER,
            "k8s_cluster/k8s-net-calico.yml": _CALICO,
        }
        for name, variables in files.items():
            path = folder / "group_vars" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(dict(variables)), encoding="utf-8")
    if cluster:
        changes = folder / "group_vars" / "k8s_cluster" / "z-changes.yml"
        changes.write_text(json.dumps(cluster), encoding="utf-8")
    groups = {"kube_control_plane": {"hosts": {"node1": {}}}, "kube_node": {"hosts": {"node2": {}}}}
    inventory = {"all": {"children": {**groups, "etcd": {"hosts": {"node1": {}}}}}}
    inventory["all"]["children"]["k8s_cluster"] = {"children": {"kube_control_plane": {}, "kube_node": {}}}
    (folder / "hosts.yml").write_text(json.dumps(inventory), encoding="utf-8")
