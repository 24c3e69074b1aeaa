# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Calico starts on a node: pods that started before it get their network back, and so does a static address."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest
from integration.conftest import SiteFactory
from integration.playbooks import PlayRun, Site, cluster_nodes, node_name
from integration.test_network_chain import deploy_workload
from simulator_tests.waiting import wait_for

from simulator.kubernetes_node import hns
from simulator.kubernetes_node.cni.calico.node_service import _NodeService
from simulator.kubernetes_node.hns.objects import Endpoint

pytestmark = [
    pytest.mark.integration,
    pytest.mark.slow,
    pytest.mark.variant,
    pytest.mark.xdist_group("calico_starts"),
]

JOINS, CHANGES = "joins", "changes"


@pytest.fixture(scope="module")
def site(start_site: SiteFactory) -> Site:
    """A cluster with one Windows node on flannel, whose address is static, and a DaemonSet for Windows nodes."""
    quick = {"windows": "2022", "link_drop_seconds": 0.2, "time_scale": 0.02}
    site = start_site(
        {"name": CHANGES, "uplink": {"static": True}, **quick},
        {"name": JOINS, **quick},
        cluster={"kind": "memory", "calico": {"install": "kubespray", "strict_affinity": True}},
        kube_network_plugin="flannel",
        flannel_backend_type="vxlan",
        node_maintenance_hns_grace=0.5,
    )
    assert site.world.registry is not None
    mirror = {"mirrors": [site.world.registry.url]}
    names = ("registry.k8s.io", "mcr.microsoft.com", "quay.io")
    site.variables["container_runtime_registries"] = dict.fromkeys(names, mirror)
    site.run("site.yml", "--limit", CHANGES).expect()
    deploy_workload(site)
    return site


@pytest.fixture(scope="module")
def late_clean_up() -> Iterator[dict[str, int]]:
    """Delay the removal of HNS networks by Calico's node until a pod has an endpoint, as a slow pull of its image does.

    Yield the number of endpoints of pods at the removal, by the name of the machine.
    """
    lost: dict[str, int] = {}
    clean = _NodeService._clean

    def wait_and_clean(service: _NodeService) -> None:
        machine, end = service._machine, time.monotonic() + 30

        def owned() -> int:
            return sum(bool(one.container) for one in hns.store(machine).endpoints())

        while not owned() and time.monotonic() < end:
            time.sleep(0.05)
        lost[machine.name] = owned()
        clean(service)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_NodeService, "_clean", wait_and_clean)
        yield lost


@pytest.fixture(scope="module")
def run(site: Site, late_clean_up: dict[str, int]) -> PlayRun:
    site.variables["kube_network_plugin"] = "calico"
    return site.run("site.yml").expect()


def endpoints(site: Site, host: str) -> list[Endpoint]:
    """Return the endpoints of pods that are connected to the network Calico."""
    store = hns.store(site.machine(host))
    (network,) = [one for one in store.networks() if one.name == "Calico"]
    return [one for one in store.endpoints() if one.container and one.network == network.id]


@pytest.mark.parametrize("host", [JOINS, CHANGES])
def test_a_pod_that_started_before_calico_has_an_endpoint(
    site: Site, run: PlayRun, late_clean_up: dict[str, int], host: str
) -> None:
    assert late_clean_up[site.machine(host).name] == 1
    assert cluster_nodes(site)[node_name(host)]["ready"]
    wait_for(lambda: len(endpoints(site, host)) == 1, f"the pod on {host} has an endpoint", 30)


def adapter(site: Site, host: str) -> Any:
    found: Any = site.machine(host).families.status["network"](site.machine(host))
    return found["vEthernet (Ethernet)"]


def test_a_static_address_is_restored_after_calico_has_made_its_network(site: Site, run: PlayRun) -> None:
    found = adapter(site, CHANGES)
    assert not found["dhcp"]
    assert site.machine(CHANGES).address in str(found["addresses"])
    assert "Uplink Ethernet" in run.changes(CHANGES)
    guard = "Wait for the static address after the change of the network, and end its guard"
    assert [name for name in run.changed_tasks(CHANGES) if name.endswith(guard)]
    assert not site.machine(CHANGES).files.exists(r"C:\ProgramData\winkube\hns\uplink.json")
