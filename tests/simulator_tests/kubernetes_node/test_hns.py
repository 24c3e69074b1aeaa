# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""HNS: its cmdlets, what cannot be removed, and the effects on the link."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest
from simulator_tests.waiting import wait_for

from simulator.kubernetes_node import hns
from simulator.machine import commands
from simulator.machine.objects import CmdletError, PSObject
from simulator.windows.networking.network_state import state_of

from .conftest import Node

pytestmark = pytest.mark.waits


def run(node: Node, command: str, pipeline: list[object] | None = None, **parameters: object) -> list[PSObject]:
    found = commands.run(node.machine, command, parameters, pipeline=pipeline).objects
    return [item for item in found if isinstance(item, PSObject)]


@pytest.mark.parametrize("windows", ["2019", "2022", "2025"])
def test_a_network_with_endpoints_is_not_removed(make_node: Callable[..., Node], windows: str) -> None:
    node = make_node(windows)
    store = hns.store(node.machine)
    network = store.create_network("cbr0", "L2Bridge", "10.244.1.0/24", "10.244.1.1")
    endpoint = store.add_endpoint("cbr0_ep", network.id, "10.244.1.2")
    (listed,) = run(node, "Get-HnsNetwork")
    assert (listed["Name"], listed["Type"], listed["ID"]) == ("cbr0", "L2Bridge", network.id)

    with pytest.raises(CmdletError, match="still has references"):
        run(node, "Remove-HnsNetwork", [listed])
    run(node, "Remove-HnsEndpoint", list(run(node, "Get-HnsEndpoint", Id=endpoint.id)))
    run(node, "Remove-HnsNetwork", [listed])

    assert run(node, "Get-HnsNetwork") == []
    assert run(node, "Get-HnsEndpoint") == []


def test_an_external_network_takes_the_link_both_ways(make_node: Callable[..., Node]) -> None:
    from simulator.windows.networking.network import interfaces

    node = make_node(link_drop_seconds=0.3)
    store = hns.store(node.machine)

    network = store.create_network("cbr0", "L2Bridge", "10.244.1.0/24")

    wait_for(lambda: node.machine.network.drops == 1, "the link drops")
    wait_for(lambda: node.machine.network.is_up, "the link comes back")
    assert "vEthernet (Ethernet)" in [card.alias for card in interfaces(node.machine)]
    store.remove_network(network.id)
    wait_for(lambda: node.machine.network.drops == 2, "the link drops again")
    assert "vEthernet (Ethernet)" not in [card.alias for card in interfaces(node.machine)]


def test_a_nat_network_does_not_affect_the_link(make_node: Callable[..., Node]) -> None:
    node = make_node()

    hns.store(node.machine).create_network("nat", "NAT", "172.20.0.0/20")
    time.sleep(0.6)

    assert node.machine.network.drops == 0


def test_without_the_feature_its_module_does_not_exist(make_node: Callable[..., Node]) -> None:
    node = make_node(features=[])

    with pytest.raises(CmdletError) as caught:
        run(node, "Get-HnsNetwork")

    assert caught.value.error_id.startswith("CommandNotFoundException")


def test_a_restart_of_the_service_loses_endpoints_but_not_networks(make_node: Callable[..., Node]) -> None:
    node = make_node()
    store = hns.store(node.machine)
    network = store.create_network("cbr0", "L2Bridge", "10.244.1.0/24")
    store.add_endpoint("pod", network.id, "10.244.1.3", container="c", namespace="ns")
    store.add_endpoint("cbr0_ep", network.id, "10.244.1.2")
    assert "vEthernet (cbr0_ep)" in state_of(node.machine).interfaces

    node.machine.services.stop("hns", force=True)
    node.machine.services.start("hns")

    # The host's own endpoint is gone, too, and so is its interface.
    assert "vEthernet (cbr0_ep)" not in state_of(node.machine).interfaces
    assert [item.name for item in store.networks()] == ["cbr0"]
    assert store.endpoints() == []
    assert [item.default for item in store.namespaces()] == [True]


def test_an_address_is_given_once(make_node: Callable[..., Node]) -> None:
    store = hns.store(make_node().machine)
    network = store.create_network("cbr0", "L2Bridge", "10.244.1.0/24")
    store.add_endpoint("one", network.id, "10.244.1.3")

    with pytest.raises(hns.HnsError, match="0x803b002f"):
        store.add_endpoint("two", network.id, "10.244.1.3")
