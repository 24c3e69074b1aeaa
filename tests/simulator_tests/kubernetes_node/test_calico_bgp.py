# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Calico with BGP: confd configures the BGP router of Windows, which needs features of Remote Access."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from simulator_tests.waiting import wait_for

from simulator.kubernetes_node import hns
from simulator.kubernetes_node.registry.server import SimulatedRegistry
from simulator.machine import commands
from simulator.windows.networking.remote_access import RemoteAccessState

from .calico_nodes import CRD, calico_cluster, daemon_set, deploy, joined, logs, wait_calico, wait_log
from .conftest import Admin, Node
from .test_calico import block_of, endpoint_at, running

pytestmark = [pytest.mark.waits, pytest.mark.usefixtures("simulated_kubeadm")]

ROUTING = ("RemoteAccess", "DirectAccess-VPN", "RSAT-RemoteAccess-PowerShell", "Routing")
Make = Callable[..., Node]


@pytest.fixture
def bgp() -> Iterator[Admin]:
    """Start a cluster of kubespray with BGP, strict affinity and one Linux node."""
    found = calico_cluster(backend="bird", vxlan_mode="Never", strict_affinity=True, linux_nodes=1)
    yield found
    found.cluster.stop()


def test_bgp_needs_the_features_of_remote_access(bgp: Admin, make_node: Make, registry: SimulatedRegistry) -> None:
    node = joined(make_node, registry, bgp)
    deploy(bgp, daemon_set(bgp.cluster, bgp=True))
    wait_calico(bgp, node)
    wait_log(node, "node", "Failed to start service 'Routing and Remote Access (RemoteAccess)'")
    wait_log(node, "confd", "The term 'Get-BgpRouter' is not recognized")
    network = hns.store(node.machine).network_named("Calico")
    assert network is not None
    assert network.kind == "L2Bridge"
    pod = running(bgp, node, "first")
    gateway = endpoint_at(node, pod["status"]["podIP"]).gateway
    assert gateway == str(block_of(bgp, node)["cidr"]).replace("/26", "").rpartition(".")[0] + "." + str(
        int(str(block_of(bgp, node)["cidr"]).removesuffix("/26").rpartition(".")[2]) + 2
    )


def test_confd_configures_the_bgp_router(bgp: Admin, make_node: Make, registry: SimulatedRegistry) -> None:
    node = joined(make_node, registry, bgp, features=["Containers", *ROUTING])
    commands.run(node.machine, "Install-RemoteAccess", {"VpnType": "RoutingOnly"})
    peer = {"peerIP": "192.0.2.99", "asNumber": 64999}
    about = {"apiVersion": "crd.projectcalico.org/v1", "kind": "BGPPeer"}
    bgp.client.create(f"{CRD}/bgppeers", {**about, "metadata": {"name": "rack"}, "spec": peer})
    deploy(bgp, daemon_set(bgp.cluster, bgp=True))
    wait_calico(bgp, node)
    state = node.machine.part(RemoteAccessState)
    wait_for(lambda: state.routes, f"the node announces its block; logs: {logs(node)}")
    assert state.router == (node.machine.address, 64512)
    assert state.routes == [block_of(bgp, node)["cidr"]]
    known = {one.name: (one.local, one.address, one.asn) for one in state.peers.values()}
    own = node.machine.address
    # The Linux node of the mesh, and the global peer.
    assert known == {
        "Mesh_192_0_2_20": (own, "192.0.2.20", 64512),
        "Global_192_0_2_99": (own, "192.0.2.99", 64999),
    }

    # An annotation gives the node its own AS number. The peer of a deleted BGPPeer is removed.
    bgp.client.delete(f"{CRD}/bgppeers/rack")
    annotations = {"metadata": {"annotations": {"projectcalico.org/ASNumber": "65010"}}}
    bgp.client.patch(f"/api/v1/nodes/{node.name}", annotations)
    wait_for(lambda: state.router == (own, 65010), f"the router has the AS number; logs: {logs(node)}")
    wait_for(lambda: list(state.peers) == ["mesh_192_0_2_20"], "the removed peer is gone")
