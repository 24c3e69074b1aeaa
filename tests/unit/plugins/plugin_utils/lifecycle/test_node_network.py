# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A machine's network adapter compared with its pod network: MTU, and subnets of other nodes."""

from __future__ import annotations

import ipaddress
import typing as t

import pytest
from unit.resource_answers import answer, failure

from ansible_collections.winkube.node.plugins.plugin_utils.hns.facts import uplink
from ansible_collections.winkube.node.plugins.plugin_utils.lifecycle import node_network
from ansible_collections.winkube.node.plugins.plugin_utils.lifecycle.node_network import ClusterNetwork, NodeNetwork
from ansible_collections.winkube.node.plugins.plugin_utils.pod_networks.catalogue import Mode, network

VXLAN = network("flannel").mode("vxlan")
HOST_GW = network("flannel").mode("host-gw")
SDNBRIDGE = network("sdnbridge").mode("bridge")
NODES = {"linux1": "10.0.0.1", "linux2": "10.0.1.1", "six": "fd00::1", "new": ""}


def machine(mtu: int | None = 1500, *addresses: str) -> NodeNetwork:
    return NodeNetwork(mtu=mtu, addresses=tuple(ipaddress.IPv4Interface(one) for one in addresses))


def address(text: str, length: int, index: int = 5) -> dict[str, t.Any]:
    return {"InterfaceIndex": index, "IPAddress": text, "PrefixLength": length, "PrefixOrigin": "Dhcp"}


def test_the_adapter_with_the_default_route_counts() -> None:
    seen = {
        "interfaces": answer(
            {"InterfaceIndex": 1, "Dhcp": "Disabled", "NlMtu": 4294967295},
            {"InterfaceIndex": 5, "Dhcp": "Enabled", "NlMtu": 1400},
            {"InterfaceIndex": 6, "Dhcp": "Enabled", "NlMtu": 9000},
        ),
        "addresses": answer(
            address("127.0.0.1", 8, 1),
            address("10.0.0.5", 24),
            address("169.254.3.4", 16, 6),
            address("fe80::1%5", 64),
        ),
        "routes": answer(
            {"InterfaceIndex": 5, "DestinationPrefix": "0.0.0.0/0", "NextHop": "10.0.0.254"},
            {"InterfaceIndex": 6, "DestinationPrefix": "::/0", "NextHop": "fe80::9"},
        ),
    }
    assert node_network.read(seen) == machine(1400, "10.0.0.5/24")


def test_a_machine_that_reports_nothing() -> None:
    assert node_network.read({}) == NodeNetwork()
    gone = dict.fromkeys(("interfaces", "addresses", "routes"), failure("NotSpecified", "no"))
    assert node_network.read(gone) == NodeNetwork()


def test_the_mtu_is_part_of_the_batch() -> None:
    (call,) = (call for call in uplink.calls() if call.id == "interfaces")
    assert "NlMtu" in (call.select or ())


@pytest.mark.parametrize(
    ("mode", "adapter", "mtu", "text"),
    [
        (VXLAN, 1500, 0, ""),
        (VXLAN, 1500, 1450, ""),
        (VXLAN, 1500, 1451, "expected at most 1450, which is the MTU of its network adapter (1500) minus 50"),
        (VXLAN, None, 9000, ""),
        (HOST_GW, 1500, 1500, ""),
        (HOST_GW, 1500, 1501, "expected at most 1500, which is the MTU of its network adapter (1500), got 1501"),
    ],
)
def test_an_mtu_that_the_adapter_does_not_allow(mode: Mode, adapter: int | None, mtu: int, text: str) -> None:
    problem = node_network.mtu_problem(machine(adapter), mode, ClusterNetwork(mtu=mtu))
    assert text in problem
    assert bool(text) is bool(problem)


@pytest.mark.parametrize(
    ("adapter", "expected", "in_azure", "texts"),
    [
        (1500, ClusterNetwork(), False, []),
        (1500, ClusterNetwork(linux_mtu=1450), False, []),
        (9000, ClusterNetwork(linux_mtu=8950), False, []),
        (1500, ClusterNetwork(linux_mtu=1350, mtu=1350), False, []),
        (1500, ClusterNetwork(linux_mtu=1350), False, ["is 1350 (X), expected 1450, which is the MTU of its network"]),
        (1500, ClusterNetwork(linux_mtu=1450), True, ["is 1450 (X), expected 1350, which is the MTU of Azure's"]),
        (1500, ClusterNetwork(linux_mtu=1350), True, []),
        (1400, ClusterNetwork(linux_mtu=1350), True, []),
        (1500, ClusterNetwork(), True, ["is unknown, because the cluster does not show it; expected 1350"]),
        (
            1500,
            ClusterNetwork(linux_mtu=1400, mtu=1400),
            True,
            ["cni_mtu is 1400, expected at most 1350 in Azure"],
        ),
        (None, ClusterNetwork(linux_mtu=1350), True, []),
    ],
)
def test_differences_of_the_mtu(
    adapter: int | None, expected: ClusterNetwork, in_azure: bool, texts: list[str]
) -> None:
    fields = {"linux_setting": "X", "linux_remedy": "Set {mtu} or {adapter}."}
    given = ClusterNetwork(mtu=expected.mtu, linux_mtu=expected.linux_mtu, **fields)
    found = list(node_network.mtu_warnings(machine(adapter), VXLAN, given, in_azure=in_azure, joined=False))
    assert len(found) == len(texts)
    for one, text in zip(found, texts, strict=True):
        assert text in one
        assert "{" not in one


def test_what_cannot_be_known_is_reported_before_the_join_only() -> None:
    for mode, joined, count in ((VXLAN, False, 1), (VXLAN, True, 0), (HOST_GW, False, 0)):
        found = node_network.mtu_warnings(machine(), mode, ClusterNetwork(), in_azure=True, joined=joined)
        assert len(list(found)) == count


@pytest.mark.parametrize(
    ("mode", "addresses", "text"),
    [
        (HOST_GW, ["10.0.0.5/24"], "Nodes in other subnets: linux2 (10.0.1.1). Use VXLAN"),
        (SDNBRIDGE, ["10.0.0.5/24"], "cni_plugin: sdnoverlay"),
        (HOST_GW, ["10.0.0.5/23"], ""),
        # A second adapter is in the subnet of the other node.
        (HOST_GW, ["10.0.0.5/24", "10.0.1.5/24"], ""),
        (HOST_GW, [], ""),
        (VXLAN, ["10.0.0.5/24"], ""),
    ],
)
def test_nodes_in_other_subnets(mode: Mode, addresses: list[str], text: str) -> None:
    problem = node_network.subnet_problem(machine(1500, *addresses), mode, ClusterNetwork(nodes=NODES))
    assert text in problem
    assert bool(text) is bool(problem)


def test_nodes_with_loopback_addresses_are_not_compared() -> None:
    nodes = ClusterNetwork(nodes={"a": "127.0.0.9", "b": "169.254.1.1", "c": "fd00::1"})
    assert node_network.subnet_problem(machine(1500, "10.0.0.5/24"), HOST_GW, nodes) == ""


def test_many_nodes_are_counted() -> None:
    nodes = {f"n{number}": f"10.9.0.{number}" for number in range(1, 12)}
    problem = node_network.subnet_problem(machine(1500, "10.0.0.5/24"), HOST_GW, ClusterNetwork(nodes=nodes))
    assert "and 3 more" in problem
    assert "10.0.0.0/24" in problem
