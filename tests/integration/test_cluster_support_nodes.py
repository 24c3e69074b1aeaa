# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The DaemonSets of cluster.yml on simulated nodes with each version of Windows: their pods run, and do their work."""

from __future__ import annotations

from typing import Any

import pytest
from integration import joined_nodes
from integration.conftest import SiteFactory
from integration.joined_nodes import join, server
from integration.playbooks import Site, cluster_api
from kubernetes import client
from simulator_tests.waiting import wait_for

from simulator.machine.listeners import Listeners
from simulator.windows.networking.firewall_rules import Firewall

pytestmark = [pytest.mark.waits, pytest.mark.integration, pytest.mark.xdist_group("cluster_support_nodes")]

HOSTS = ("win19", "win22", "win25")
UNINITIALIZED = "node.cloudprovider.kubernetes.io/uninitialized"
EVERYTHING: dict[str, Any] = {
    "cluster_support_windows_exporter": True,
    "cluster_support_log_shipper": True,
    "cluster_support_log_outputs": [{"name": "forward", "host": "logs.example", "port": 24224}],
    "cluster_support_csi_drivers": ["smb"],
    "cloud_provider": "azure",
}


@pytest.fixture(scope="module")
def site(start_site: SiteFactory) -> Site:
    nodes = [
        server(name, windows=f"20{name[3:]}", azure={"subnet": "10.1.0.0/24", "primary": f"10.1.0.{name[3:]}"})
        for name in HOSTS
    ]
    site = start_site(*nodes, cluster={"kind": "memory", "node_grace_period": 900.0})
    before = joined_nodes._KUBELET
    joined_nodes._KUBELET = f"{before} --cloud-provider=external --node-ip=0.0.0.0"
    try:
        join(site, HOSTS)
    finally:
        joined_nodes._KUBELET = before
    assert site.world.cluster is not None
    assert site.world.registry is not None
    mirror = f"server = 'https://ghcr.io'\n[host.'{site.world.registry.url}']\n  capabilities = ['pull', 'resolve']\n"
    for host in HOSTS:
        joined_nodes._write(site.machine(host), r"C:\certs.d\ghcr.io\hosts.toml", mirror)
    return site


def apply(site: Site, **variables: Any) -> None:
    """Run cluster.yml. It runs on localhost, which has no variables of the servers."""
    assert site.world.cluster is not None
    site.run("cluster.yml", variables={"kubeconfig": str(site.world.cluster.kubeconfig), **variables}).expect(0)


def node(site: Site, name: str) -> Any:
    return client.CoreV1Api(cluster_api(site)).read_node(name)


def tainted(site: Site) -> list[str]:
    return [name for name in HOSTS if UNINITIALIZED in [one.key for one in node(site, name).spec.taints or ()]]


def not_running(site: Site) -> list[str]:
    """Return the DaemonSets of the role whose pods are not all ready, with the reasons."""
    api = cluster_api(site)
    sets = client.AppsV1Api(api).list_daemon_set_for_all_namespaces(label_selector="winkube.node/cluster-support")
    missing = []
    for one in sets.items:
        name, space = one.metadata.name, one.metadata.namespace
        pods = client.CoreV1Api(api).list_namespaced_pod(space, label_selector=f"app={name}").items
        ready = [pod for pod in pods if is_ready(pod)]
        if len(ready) != (1 if name.startswith("windows-logs") else len(HOSTS)):
            missing.append(f"{name}: {[why(pod) for pod in pods if pod not in ready]}")
    return missing


def is_ready(pod: Any) -> bool:
    return any(one.type == "Ready" and one.status == "True" for one in pod.status.conditions or ())


def why(pod: Any) -> list[str]:
    """Return the states of a pod's containers."""
    statuses = [*(pod.status.init_container_statuses or ()), *(pod.status.container_statuses or ())]
    return [f"{pod.spec.node_name} {one.name}: {one.state} {one.last_state}" for one in statuses if not one.ready]


@pytest.fixture(scope="module")
def applied(site: Site) -> Site:
    assert tainted(site) == list(HOSTS)
    before = {host: site.counters(host)["connections"] for host in HOSTS}
    apply(site, **EVERYTHING)
    # No host was contacted.
    assert {host: site.counters(host)["connections"] for host in HOSTS} == before
    try:
        wait_for(lambda: not not_running(site), "all pods are ready", 90)
    except AssertionError:
        pytest.fail("\n".join(not_running(site)))
    return site


def test_the_exporter_serves_its_port(applied: Site) -> None:
    for host in HOSTS:
        machine = applied.machine(host)
        assert machine.part(Listeners).ports[9182].program == "windows_exporter"
        rules = [one for one in machine.part(Firewall).rules.values() if one.display_name == "winkube-windows-exporter"]
        assert [(one.local_port, one.direction, one.action) for one in rules] == [(("9182",), "Inbound", "Allow")]


def test_the_log_shipper_keeps_its_positions_on_the_node(applied: Site) -> None:
    for host in HOSTS:
        files = applied.machine(host).files
        for name in ("kubelet.db", "containerd.db", "event-windows.db", "event-hns.db"):
            assert files.is_file(rf"C:\var\lib\kubelet\winkube-logs\{name}")


def missing_sockets(site: Site) -> list[str]:
    """Return the drivers whose registration socket does not exist yet. A pod may be Ready before its driver has one."""
    return [
        f"{name} on {host}"
        for host in HOSTS
        for name in ("smb.csi.k8s.io", "disk.csi.azure.com", "file.csi.azure.com")
        if not site.machine(host).files.is_file(rf"C:\var\lib\kubelet\plugins_registry\{name}-reg.sock")
    ]


def test_the_drivers_are_offered_to_the_kubelet(applied: Site) -> None:
    wait_for(lambda: not missing_sockets(applied), "all drivers have a socket", 30)


def test_the_cloud_provider_initializes_the_nodes(applied: Site) -> None:
    wait_for(lambda: not tainted(applied), "all nodes are initialized", 30)
    for host in HOSTS:
        found = node(applied, host)
        assert found.spec.provider_id.startswith("azure:///subscriptions/")
        assert found.metadata.labels["topology.kubernetes.io/region"] == "westeurope"

        def has_address(host: str = host) -> bool:
            addresses = [one.address for one in node(applied, host).status.addresses if one.type == "InternalIP"]
            return f"10.1.0.{host[3:]}" in addresses

        wait_for(has_address, "the node has its address in Azure", 30)


def test_a_component_that_is_no_longer_requested_leaves_the_nodes(applied: Site) -> None:
    apply(applied, cloud_provider="azure")

    def is_gone() -> bool:
        return all(9182 not in applied.machine(host).part(Listeners).ports for host in HOSTS)

    wait_for(is_gone, "the exporter has ended", 60)
