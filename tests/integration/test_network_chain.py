# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A live node goes from flannel to Calico, to Azure CNI, and back to flannel: it ends as it was when it was new."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest
from integration.conftest import SiteFactory
from integration.network_traces import Traces, traces_at_rest
from integration.playbooks import PlayRun, Site, cluster_api, cluster_nodes, node_name
from integration.test_azure_and_sdn_networks import ARCHIVE
from kubernetes import client

from simulator.artifacts import catalog
import json, time

pytestmark = [pytest.mark.integration]

HOST = "vm1"
PODS = 8
AZURE = {
    "subnet": "10.244.0.0/16",
    "primary": "10.244.0.4",
    "secondary": [f"10.244.0.{number}" for number in range(5, 5 + PODS)],
}


def deploy_workload(site: Site) -> None:
    """Run a pod of a DaemonSet, which a drain leaves on the node, on each Windows node."""
    labels = {"app": "web"}
    container = {"name": "web", "image": "mcr.microsoft.com/oss/kubernetes/pause:3.10.2"}
    spec = {"containers": [container], "nodeSelector": {"kubernetes.io/os": "windows"}, "tolerations": [{"operator": "Exists"}]}
    body = {
        "metadata": {"name": "web"},
        "spec": {"selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels}, "spec": spec}},
    }
    client.AppsV1Api(cluster_api(site)).create_namespaced_daemon_set("default", body)


def test_chain(start_site: SiteFactory) -> None:
    pin = hashlib.sha256(catalog.content(ARCHIVE) or b"").hexdigest()
    calico = {"install": "kubespray", "strict_affinity": True, "linux_nodes": 1}
    site = start_site(
        {"name": HOST, "windows": "2022", "azure": AZURE, "link_drop_seconds": 0.2, "time_scale": 0.02},
        cluster={"kind": "memory", "calico": calico},
        kube_network_plugin="flannel",
        flannel_backend_type="vxlan",
        cni_azure_vnet_sha256=pin,
        kubernetes_node_kubelet_configuration={"maxPods": PODS},
        node_maintenance_hns_grace=0.5,
    )
    assert site.world.registry is not None
    mirror = {"mirrors": [site.world.registry.url]}
    site.variables["container_runtime_registries"] = dict.fromkeys(("registry.k8s.io", "mcr.microsoft.com", "quay.io"), mirror)
    def go(name):
        t=time.monotonic()
        site.variables["kube_network_plugin"] = name
        run = site.run("site.yml", timeout=150)
        print(name, run.exit_code, time.monotonic()-t, run.changes(HOST))
        if run.exit_code: print(run.output[-6000:])
        run.expect()
        tr=traces_at_rest(site, HOST, node_name(HOST))
        t=time.monotonic()
        again = site.run("site.yml").expect()
        print("again", time.monotonic()-t, again.recap[HOST], again.changes(HOST), again.changed_tasks(HOST), site.counters(HOST)["remote_commands"])
        tr=traces_at_rest(site, HOST, node_name(HOST))
        (open(f"/tmp/chain-{name}.json","w")).write(json.dumps(tr, indent=1, default=str))
        return tr
    first0 = go("flannel")
    deploy_workload(site)
    first=traces_at_rest(site, HOST, node_name(HOST))
    from integration.fault_lives import differences
    go("calico")
    go("azure")
    last = go("flannel")
    for line in differences(last, first): print(line)
    assert 0
