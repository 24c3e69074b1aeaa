# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Parsing adapters, HNS objects of all forms, and the files of CNI plugins."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from unit import outcomes
from unit.hns_models import Model, result
from unit.hns_nodes import SECOND, failed

from ansible_collections.winkube.node.plugins.plugin_utils.hns.cleanup.plan import CleanupRequest
from ansible_collections.winkube.node.plugins.plugin_utils.hns.cleanup.planning import make_plan
from ansible_collections.winkube.node.plugins.plugin_utils.hns.facts import cni, objects, uplink
from ansible_collections.winkube.node.plugins.plugin_utils.hns.facts.node_facts import read_facts
from ansible_collections.winkube.node.plugins.plugin_utils.wire.messages import CallResult

ADAPTERS = [
    {"Name": "Ethernet", "ifIndex": 5, "MacAddress": "00-aa", "HardwareInterface": True, "Status": "Up"},
    {"Name": "Storage", "ifIndex": 6, "MacAddress": "00-bb", "HardwareInterface": True, "Status": "Disconnected"},
    {"Name": "Tunnel", "ifIndex": 7, "MacAddress": None, "HardwareInterface": False, "Status": "Up"},
]
SWITCH = {"Name": "vEthernet", "ifIndex": 8, "MacAddress": "00-AA", "HardwareInterface": None, "Status": "Up"}
NETWORK: dict[str, list[dict[str, Any]]] = {
    "adapters": ADAPTERS,
    "interfaces": [{"InterfaceIndex": number, "Dhcp": "Disabled"} for number in (5, 6, 7, 9)],
    "addresses": [
        {"InterfaceIndex": 5, "IPAddress": "10.0.0.5", "PrefixLength": "24", "PrefixOrigin": "Manual"},
        {"InterfaceIndex": 5, "IPAddress": "10.0.0.6", "PrefixLength": 24, "PrefixOrigin": "Dhcp"},
        {"InterfaceIndex": 6, "IPAddress": "10.1.0.5", "PrefixLength": 16, "PrefixOrigin": "Manual"},
        {"InterfaceIndex": 7, "IPAddress": "10.2.0.5", "PrefixLength": 16, "PrefixOrigin": "Manual"},
    ],
    "routes": [
        {"InterfaceIndex": 5, "DestinationPrefix": "0.0.0.0/0", "NextHop": "10.0.0.1", "RouteMetric": None},
        {"InterfaceIndex": 6, "DestinationPrefix": "10.9.0.0/16", "NextHop": "10.1.0.1", "RouteMetric": 7},
        {"InterfaceIndex": 5, "DestinationPrefix": "10.0.0.0/24", "NextHop": "0.0.0.0"},
        {"InterfaceIndex": 5, "DestinationPrefix": "::/0", "NextHop": "::"},
        {"InterfaceIndex": 5, "DestinationPrefix": "x", "NextHop": None},
    ],
    "dns": [
        {"InterfaceIndex": 5, "ServerAddresses": ["10.0.0.2", "10.0.0.3"]},
        {"InterfaceIndex": 6, "ServerAddresses": "10.0.0.4"},
    ],
}


def test_adapters_are_read() -> None:
    def read(**more: CallResult) -> object:
        return uplink.read({**{name: result(items) for name, items in NETWORK.items()}, **more})

    found = {
        "two cards": read(),
        "a switch": read(adapters=result([*ADAPTERS, SWITCH])),
        "DHCP": read(interfaces=result([{"InterfaceIndex": 5, "Dhcp": "Enabled"}])),
        "no name servers": read(dns=failed()),
        "nothing": uplink.read({}),
    }
    outcomes.check("hns/adapters", found)
    card = uplink.read({name: result(items) for name, items in NETWORK.items()}).uplinks[0]
    facts = uplink.AdapterFacts(uplinks=(card,))
    changes: list[dict[str, Any]] = [
        {"addresses": (*card.addresses, ("10.0.0.9", 24))},
        {"routes": (*card.routes, ("x", "y", 1))},
        {"dns": ()},
        {"mac": "z"},
    ]
    assert not uplink.lost(card, facts)
    assert [uplink.lost(dataclasses.replace(card, **change), facts) for change in changes] == [True] * 4
    more = dataclasses.replace(
        card, addresses=(*card.addresses, ("10.0.0.9", 24)), routes=(*card.routes, ("x", "y", 1))
    )
    assert not uplink.lost(card, uplink.AdapterFacts(uplinks=(SECOND, more)))


LISTED: dict[str, list[dict[str, Any]]] = {
    "networks": [
        {
            "ID": "{ab-1}",
            "Name": "cbr0",
            "Type": "L2Bridge",
            "ManagementIP": "10.0.0.5",
            "NetworkAdapterName": "Ethernet",
            "Subnets": [{"AddressPrefix": "10.244.1.0/24"}, {"AddressPrefix": None}, "x"],
        },
        {"ID": None, "Subnets": {"AddressPrefix": "10.9.0.0/16"}},
    ],
    "endpoints": [
        {
            "ID": "e1",
            "VirtualNetwork": "{ab-1}",
            "IsRemoteEndpoint": "TRUE",
            "SharedContainers": "AB",
            "Namespace": "{n1}",
            "State": "3",
        },
        {
            "ID": "e2",
            "SharedContainers": ["AB", None, "cd"],
            "Namespace": {"ID": "n2"},
            "State": "x",
            "VirtualNetworkName": "lab",
        },
        {"ID": "e3", "SharedContainers": "", "Namespace": {}},
    ],
    "policies": [
        {
            "ID": "p1",
            "Policies": {"Type": "ELB", "VIPs": "10.96.0.1", "ExternalPort": 53, "Protocol": 17},
            "References": "/endpoints/e1",
        },
        {
            "ID": "p2",
            "Policies": ["x", {"VIPs": [], "ExternalPort": 80, "Protocol": 6}],
            "References": ["/Endpoints/e2", "/x/e3", None],
        },
        {"ID": "p3", "Policies": [{"Type": "ROUTE"}], "References": None},
        {"ID": "p4", "Policies": [{"VIPs": ["a", "b"], "ExternalPort": 80, "Protocol": 132}]},
        {"ID": "p5", "Policies": [{"VIPs": ["a"], "ExternalPort": 80, "Protocol": "x"}]},
        {"ID": "p6"},
    ],
    "namespaces": [
        {
            "ID": "n1",
            "IsDefault": "True",
            "Containers": ["AB", ""],
            "ResourceList": [
                {"Type": "Container", "Data": {"Id": "EF"}},
                {"Type": "Endpoint", "Data": {"ID": "e1"}},
                {"Data": None},
                "x",
                {"Type": "container", "Data": {"Id": "ab"}},
            ],
        },
        {"ID": "n2", "IsDefault": None},
    ],
}


def test_objects_are_read_in_every_shape() -> None:
    found = objects.read_objects(LISTED)
    names = ["cbr0", "{AB-1}", "CBR0"]
    outcomes.check("hns/objects", {"objects": found, "called": [len(found.called([name])) for name in (*names, "x")]})
    inside = [sorted(found.in_namespace(one)) for one in found.namespaces]
    assert inside == [["E1"], ["E2"]]
    ids = ("1.endpoints", "remove-networks", "remove-policies-again", "namespaces-after", "other")
    commands = ["Get-HnsEndpoint", "Remove-HnsNetwork", "Remove-HnsPolicyList", "Get-HnsNamespace", "Get-HnsNetwork"]
    assert [objects.cmdlet(call) for call in ids] == commands
    types = ("L2Bridge", "overlay", "Transparent", "L2Tunnel", "nat", "ics")
    external = [objects.HnsNetwork(id="", name="", type=kind).external for kind in types]
    assert external == [True] * 4 + [False] * 2


@pytest.mark.parametrize(
    ("prefix", "subnets", "found"),
    [
        ("10.244.3.0/24", ["10.244.0.0/16"], True),
        ("10.245.3.0/24", ["10.244.0.0/16"], False),
        ("10.245.3.1", ["x", "fd00::/8", "10.245.0.0/16"], True),
        ("10.0.0.0/8", ["10.244.0.0/16"], False),
        ("x", ["10.244.0.0/16"], False),
        ("fd00:1::/64", ["fd00::/8"], True),
    ],
)
def test_routes_inside_subnets(prefix: str, subnets: list[str], found: bool) -> None:
    assert cni.inside(prefix, subnets) is found


@pytest.mark.parametrize(
    ("name", "made"),
    [
        *[
            (name, True)
            for name in ("CBR0", "l2bridge", "vxlan0", "flannel.4096", "azure", "azure-1", "calico", "Calico")
        ],
        *[
            (name, True)
            for name in ("External", "vpcbr0", "BaseOVNKubernetesHybrid", "ovnkubernetes", "antrea-hnsnetwork")
        ],
        *[(name, False) for name in ("cbr01", "vxlan", "lab", "antrea", "kubernetes", "my-azure", "nat", "")],
        ("Configured", True),
    ],
)
def test_networks_of_cnis_are_known_by_name(name: str, made: bool) -> None:
    known = cni.Cni(names=frozenset({"configured"}))
    assert known.made(objects.HnsNetwork(id="", name=name, type="L2Bridge")) is made
    for kind in ("nat", "ICS", "internal", "Private"):
        assert known.made(objects.HnsNetwork(id="", name=name, type=kind)) is (name == "Configured")


def test_state_files_are_removed_with_their_network() -> None:
    host_local, env = f"{cni.HOST_LOCAL}\\cbr0", cni.SUBNET_ENV
    calico = "C:\\var\\run\\calico\\nodename"
    azure = (f"{cni.HOST_LOCAL}\\azure", "C:\\k\\azure-vnet.json")
    files = cni.Cni(state_files=(host_local, azure[0], env, azure[1], calico))
    expected = {
        "cbr0": (host_local, env),
        "azure": azure,
        "calico": (calico,),
        "vxlan0": (env,),
        "flannel.1": (env,),
        "x": (),
    }
    assert {name: cni.state_of(files, [name], False) for name in expected} == expected
    assert cni.state_of(files, [], True) == files.state_files


def test_a_state_file_that_the_caller_names_as_well_is_removed_once() -> None:
    facts = read_facts(Model(pods=[], policies=[]).observation())
    state = ("C:\\Windows\\System32\\azure-vnet.json",)
    facts = dataclasses.replace(
        facts,
        cni=dataclasses.replace(facts.cni, state_files=state),
        extra_files=("C:\\WINDOWS\\system32\\azure-vnet.json", "C:\\Windows\\System32\\azure-vnet.log"),
    )
    plan = make_plan(CleanupRequest(scope="networks", networks=("azure",)), facts)
    assert [path.lower() for path in plan.files] == [
        "c:\\windows\\system32\\azure-vnet.json",
        "c:\\windows\\system32\\azure-vnet.log",
    ]
