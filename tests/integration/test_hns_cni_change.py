# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A cluster's nodes change to another CNI plugin: the old network is removed from HNS, and reported when it is gone."""

from __future__ import annotations

import json
import threading
from dataclasses import dataclass, field
from typing import Any

import pytest
from integration.conftest import SiteFactory
from integration.playbooks import PlayRun, Site, cluster_api, cluster_nodes, node_name
from kubernetes import client
from simulator_tests.waiting import wait_for

from simulator.kubernetes_node import hns
from simulator.machine.machine import Machine

pytestmark = [
    pytest.mark.integration,
    pytest.mark.xdist_group("hns_cni_change"),
    pytest.mark.slow,
    # test_network_chain.py changes the networks of a node that has no static address.
    pytest.mark.variant,
]

NOTE = r"C:\ProgramData\winkube\cni.json"
HOST = "win22"


@pytest.fixture(scope="module")
def site(start_site: SiteFactory) -> Site:
    site = start_site(
        # The address is static. Creating the first network removes it, and so does each change of the CNI plugin.
        {"name": HOST, "windows": "2022", "link_drop_seconds": 0.3, "port_pool_seconds": 1, "uplink": {"static": True}},
        cluster={"kind": "memory"},
        kube_network_plugin="flannel",
        flannel_backend_type="host-gw",
    )
    site.run("site.yml").expect()
    assert has_its_address(site)
    return site


def has_its_address(site: Site) -> bool:
    """Return whether the node is reachable at its manually set address."""
    machine = site.machine(HOST)
    adapter = status_of(machine)
    return machine.network.is_up and not adapter["dhcp"] and machine.address in str(adapter["addresses"])


def status_of(machine: Machine) -> Any:
    found: Any = machine.families.status["network"](machine)
    return found.get("vEthernet (Ethernet)") or found["Ethernet"]


def networks(site: Site) -> set[str]:
    return {item.name for item in site.machine(HOST).part(hns.HnsState).networks.values() if item.external}


def noted(site: Site) -> dict[str, str]:
    found: dict[str, str] = json.loads(site.machine(HOST).files.read_text(NOTE))
    return found


def wait_for_networks(site: Site, expected: set[str]) -> None:
    """Wait until flannel's pod has created its network, so that the node has the expected networks."""
    wait_for(lambda: networks(site) == expected, f"the node has the networks {expected}", 20)


def network_pods(site: Site) -> dict[str, str]:
    """Return the uid and name of each pod of flannel and kube-proxy that is not terminating."""
    pods = client.CoreV1Api(cluster_api(site)).list_pod_for_all_namespaces(label_selector="winkube.node/revision").items
    return {pod.metadata.uid: pod.metadata.name for pod in pods if not pod.metadata.deletion_timestamp}


def is_cordoned(site: Site) -> bool:
    return bool(client.CoreV1Api(cluster_api(site)).read_node(node_name(HOST)).spec.unschedulable)


@dataclass
class Watch:
    """Observations of the cluster during the run."""

    before: dict[str, str]
    replaced_in_service: set[str] = field(default_factory=set)
    """Pods that were deleted while their node was not cordoned."""
    observations: int = 0
    was_cordoned: bool = False

    def observe(self, site: Site) -> None:
        """Observe once. Pods are read first, because the node is cordoned before they are deleted."""
        missing = self.before.keys() - network_pods(site).keys()
        self.was_cordoned = self.was_cordoned or is_cordoned(site)
        self.observations += 1
        if missing and not self.was_cordoned:
            self.replaced_in_service |= missing


@pytest.fixture(scope="module")
def watch(site: Site) -> Watch:
    assert noted(site) == {"plugin": "flannel", "mode": "host-gw", "network": "cbr0"}
    wait_for_networks(site, {"cbr0"})
    before = network_pods(site)
    assert len(before) == 2
    return Watch(before)


@pytest.fixture(scope="module")
def changed(site: Site, watch: Watch) -> PlayRun:
    site.variables["flannel_backend_type"] = "vxlan"
    ended = threading.Event()

    def observe_until_ended() -> None:
        while not ended.wait(0.1):
            watch.observe(site)

    thread = threading.Thread(target=observe_until_ended)
    thread.start()
    try:
        return site.run("join_nodes.yml").expect()
    finally:
        ended.set()
        thread.join()


def test_the_former_network_is_replaced_by_the_new_one(site: Site, changed: PlayRun) -> None:
    assert "HnsNetwork cbr0" in changed.changes(HOST)
    wait_for_networks(site, {"flannel.4096"})
    assert noted(site) == {"plugin": "flannel", "mode": "vxlan", "network": "flannel.4096"}
    services = site.machine(HOST).services
    assert {name: services.get(name).state for name in ("containerd", "kubelet")} == {
        "containerd": "Running",
        "kubelet": "Running",
    }
    assert cluster_nodes(site)[node_name(HOST)]["ready"]
    assert has_its_address(site)


def test_pods_of_the_network_are_replaced_when_the_node_is_drained(site: Site, watch: Watch, changed: PlayRun) -> None:
    assert watch.observations > 20
    assert watch.replaced_in_service == set()
    assert watch.before.keys().isdisjoint(network_pods(site))
    assert len(network_pods(site)) == 2
    assert not is_cordoned(site)


def test_a_further_run_leaves_the_network_alone(site: Site, changed: PlayRun) -> None:
    wait_for_networks(site, {"flannel.4096"})
    pods = network_pods(site)
    again = site.run("join_nodes.yml").expect()
    assert network_pods(site) == pods
    assert not [change for change in again.changes(HOST) if change.startswith("Hns")]
    assert networks(site) == {"flannel.4096"}
    assert site.counters(HOST)["remote_commands"] <= 8
