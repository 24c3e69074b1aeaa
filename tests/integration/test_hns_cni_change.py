# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A cluster's nodes get another CNI plugin: the former network goes from HNS, and is noted when it has gone."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from integration.conftest import SiteFactory
from integration.playbooks import PlayRun, Site, cluster_nodes, node_name

from simulator.kubernetes_node import hns
from simulator.machine.machine import Machine

pytestmark = [
    pytest.mark.integration,
    pytest.mark.xdist_group("hns_cni_change"),
    pytest.mark.slow,
    pytest.mark.xfail(
        run=False,
        reason="join_nodes.yml waits in vain for the new network of a node with a static address (issue 12, open)",
    ),
]

NOTE = r"C:\ProgramData\winkube\cni.json"
HOST = "win22"


@pytest.fixture(scope="module")
def site(start_site: SiteFactory) -> Site:
    site = start_site(
        # Its address is static: the first network takes it away, and so does each change of the CNI.
        {"name": HOST, "windows": "2022", "link_drop_seconds": 0.3, "port_pool_seconds": 1, "uplink": {"static": True}},
        cluster={"kind": "memory"},
        kube_network_plugin="flannel",
        flannel_backend_type="host-gw",
    )
    site.run("site.yml").expect()
    assert has_its_address(site)
    return site


def has_its_address(site: Site) -> bool:
    """Whether the node can be reached, at an address that is set by hand."""
    machine = site.machine(HOST)
    card = status_of(machine)
    return machine.network.is_up and not card["dhcp"] and machine.address in str(card["addresses"])


def status_of(machine: Machine) -> Any:
    found: Any = machine.families.status["network"](machine)
    return found.get("vEthernet (Ethernet)") or found["Ethernet"]


def networks(site: Site) -> set[str]:
    return {item.name for item in site.machine(HOST).part(hns.State).networks.values() if item.external}


def noted(site: Site) -> dict[str, str]:
    found: dict[str, str] = json.loads(site.machine(HOST).files.read_text(NOTE))
    return found


def eventually(site: Site, wanted: set[str]) -> set[str]:
    """The networks of the node, when flannel's pod has made its own."""
    for dummy in range(100):
        if networks(site) == wanted:
            break
        time.sleep(0.2)
    return networks(site)


@pytest.fixture(scope="module")
def changed(site: Site) -> PlayRun:
    assert noted(site) == {"plugin": "flannel", "backend": "host-gw", "network": "cbr0"}
    assert eventually(site, {"cbr0"}) == {"cbr0"}
    site.variables["flannel_backend_type"] = "vxlan"
    return site.run("join_nodes.yml").expect()


def test_the_former_network_goes_and_the_new_one_comes(site: Site, changed: PlayRun) -> None:
    assert "HnsNetwork cbr0" in changed.changes(HOST)
    assert eventually(site, {"flannel.4096"}) == {"flannel.4096"}
    assert noted(site) == {"plugin": "flannel", "backend": "vxlan", "network": "flannel.4096"}
    services = site.machine(HOST).services
    assert {name: services.get(name).state for name in ("containerd", "kubelet")} == {
        "containerd": "Running",
        "kubelet": "Running",
    }
    assert cluster_nodes(site)[node_name(HOST)]["ready"]
    assert has_its_address(site)


def test_a_further_run_leaves_the_network_alone(site: Site, changed: PlayRun) -> None:
    eventually(site, {"flannel.4096"})
    again = site.run("join_nodes.yml").expect()
    assert not [change for change in again.changes(HOST) if change.startswith("Hns")]
    assert networks(site) == {"flannel.4096"}
    assert site.counters(HOST)["remote_commands"] <= 8
