# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""HNS's objects, in the form in which the HNS cmdlets print them.

The sources are published outputs: networks and endpoints of Windows Server 2019 in projectcalico/calico#6996 and #4682,
those of Windows Server 2022 in microsoft/SDN#582 and kubernetes-sigs/sig-windows-tools#378, namespaces and policy lists
in projectcalico/calico#8465 and microsoft/Windows-Containers#485, Docker's endpoints in
microsoft/Windows-Containers#563.

Ids are in upper case. Since Windows Server 2022, the ids of endpoints, and the ids to which endpoints and policy lists
refer, are in lower case.
"""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Mapping
from typing import TYPE_CHECKING

from simulator.kubernetes_node.hns.adapters import management_ip
from simulator.kubernetes_node.hns.objects import Endpoint, Namespace, Network, PolicyList
from simulator.machine.objects import PSObject, custom_object

if TYPE_CHECKING:
    from simulator.machine.machine import Machine

# HNS's version as major << 32 | minor. 2019: 9.2, 2022: 13.3, 2025: 15.4 (kubernetes/kubernetes#131466).
VERSIONS = {"2019": 9 << 32 | 2, "2022": 13 << 32 | 3, "2025": 15 << 32 | 4}
_FILTERS = {
    "Microsoft Windows Filtering Platform": "E7C3B2F0-F3C5-48DF-AF2B-10FED6D72E7A",
    "Microsoft Azure VFP Switch Extension": "F74F241B-440F-4433-BB28-00F89EAD20D8",
    "Microsoft NDIS Capture": "430BDADD-BAB0-41AB-A369-94B67FA5BE0A",
}


class Views:
    """One machine's HNS objects, in the form in which the HNS cmdlets print them.

    Args:
        machine: the machine whose HNS objects are printed.
        networks: all networks, to look up the network of an endpoint.
        endpoints: all endpoints, to count those of a network.
    """

    def __init__(self, machine: Machine, networks: list[Network], endpoints: list[Endpoint]) -> None:
        self._machine = machine
        self._networks = {item.id: item for item in networks}
        self._counts: dict[str, int] = {}
        for item in endpoints:
            self._counts[item.network] = self._counts.get(item.network, 0) + 1
        self._version = VERSIONS.get(machine.windows.key, VERSIONS["2025"])
        self._management = management_ip(machine)

    def network(self, item: Network) -> PSObject:
        """Return a network as Get-HnsNetwork prints it."""
        count = self._counts.get(item.id, 0)
        policies = [custom_object(Type="VSID", VSID=item.vni)] if item.vni else []
        subnet = custom_object(
            AdditionalParams=custom_object(),
            AddressPrefix=item.subnet,
            Flags=0,
            GatewayAddress=item.gateway,
            Health=_health(),
            ID=_derived(item.id, "subnet"),
            IpSubnets=[],
            ObjectType=5,
            Policies=policies,
            State=0,
        )
        properties: dict[str, object] = {
            "ActivityId": _derived(item.id, "activity"),
            "AdditionalParams": custom_object(),
            "CurrentEndpointCount": count,
            "Extensions": [
                custom_object(Id=identity, IsEnabled=_enabled(item, name), Name=name)
                for name, identity in _FILTERS.items()
            ],
            "Flags": item.flags,
            "Health": _health(),
            "ID": item.id,
            "IPv6": False,
            "LayeredOn": _derived(item.adapter if item.external else item.id, "layer"),
            "MacPools": [custom_object(EndMacAddress="00-15-5D-2B-FF-FF", StartMacAddress="00-15-5D-2B-F0-00")],
            "MaxConcurrentEndpoints": count,
            "Name": item.name,
            "Policies": [_network_policy(policy) for policy in item.policies],
            "State": 1,
            "Subnets": [subnet] if item.subnet else [],
            "TotalEndpoints": count,
            "Type": item.type_text or item.kind,
            "Version": self._version,
            "Resources": _resources(item.id),
        }
        if item.external:
            properties |= {
                "DrMacAddress": "00-15-5D-00-00-01",
                "DNSServerCompartment": 3,
                # HNS does not print a property without a value.
                **({"ManagementIP": self._management} if self._management else {}),
                "NetworkAdapterName": item.adapter,
                "SwitchGuid": _derived(item.adapter, "switch"),
            }
        elif item.kind == "NAT":
            properties["NatName"] = f"NAT{_derived(item.id, 'nat')}"
        return PSObject(_TYPE, properties)

    def endpoint(self, item: Endpoint) -> PSObject:
        """Return an endpoint as Get-HnsEndpoint prints it."""
        network = self._networks.get(item.network)
        properties: dict[str, object] = {
            "ActivityId": _derived(item.id, "activity"),
            "AdditionalParams": custom_object(),
            "EncapOverhead": 50 if network and network.kind == "Overlay" else 0,
            "Flags": int(item.remote),
            "GatewayAddress": (item.gateway or network.gateway) if network and not item.remote else "",
            "Health": _health(),
            "ID": self._cased(item.id),
            "IPAddress": item.address,
            "MacAddress": item.mac,
            "Name": item.name,
            "Policies": _policies(item),
            "PrefixLength": int(network.subnet.partition("/")[2] or 0) if network else 0,
            "Resources": _resources(item.id),
            "SharedContainers": list(item.shared),
            "State": item.state,
            "Type": (network.type_text or network.kind) if network else "",
            "Version": self._version,
            "VirtualNetwork": self._cased(item.network),
            "VirtualNetworkName": network.name if network else "",
        }
        if item.dns.servers:
            properties["DNSServerList"] = ",".join(item.dns.servers)
        if item.dns.search:
            properties["DNSSuffix"] = ",".join(item.dns.search)
        # False values are not printed.
        if item.remote:
            properties["IsRemoteEndpoint"] = True
        if item.namespace:
            properties["Namespace"] = custom_object(ID=self._cased(item.namespace))
        return PSObject(_TYPE, properties)

    def policy(self, item: PolicyList) -> PSObject:
        """Return a policy list as Get-HnsPolicyList prints it."""
        inner = custom_object(
            ExternalPort=item.port,
            InternalPort=item.target_port,
            IsDSR=item.dsr,
            Protocol=item.protocol,
            SourceVIP=item.source_vip,
            Type="ELB",
            VIPs=[item.vip] if item.vip else [],
        )
        return PSObject(
            _TYPE,
            {
                "ActivityId": _derived(item.id, "activity"),
                "AdditionalParams": custom_object(),
                "Flags": 0,
                "Health": _health(),
                "ID": item.id,
                "IsApplied": True,
                "Policies": [inner],
                "References": [f"/endpoints/{self._cased(name)}" for name in item.endpoints],
                "Resources": _resources(item.id),
                "State": 2,
                "Version": self._version,
            },
        )

    def namespace(self, item: Namespace) -> PSObject:
        """Return a namespace as Get-HnsNamespace prints it."""
        properties: dict[str, object] = {
            "ActivityId": _derived(item.id, "activity"),
            "AdditionalParams": custom_object(),
            "CompartmentId": item.compartment,
            "Containers": [name[:12] for name in item.containers],
            "Flags": 0,
            "Health": _health(),
            "ID": item.id,
            "IsDefault": item.default,
            "Policies": [],
            "State": 1,
            "Version": self._version,
            "Resources": _resources(item.id),
        }
        if item.compartment:
            properties["CompartmentGuid"] = _derived(item.id, "compartment")
        if item.endpoints:
            properties["ResourceList"] = [
                custom_object(Data=custom_object(Id=name), Type="Endpoint") for name in item.endpoints
            ]
        return PSObject(_TYPE, properties)

    def _cased(self, identity: str) -> str:
        return identity if self._machine.windows.key == "2019" else identity.lower()


_TYPE = "System.Management.Automation.PSCustomObject"


def _derived(identity: str, what: str) -> str:
    """Derive an id from another id. The result depends only on the arguments."""
    return str(uuid.UUID(bytes=hashlib.md5(f"{identity}/{what}".encode(), usedforsecurity=False).digest())).upper()


def _enabled(item: Network, extension: str) -> bool:
    return "NDIS" in extension or ("Azure" in extension and item.external)


def _health() -> PSObject:
    return custom_object(LastErrorCode=0, LastUpdateTime=133590635864554881)


def _resources(identity: str) -> PSObject:
    return custom_object(
        AdditionalParams=custom_object(), AllocationOrder=1, ID=_derived(identity, "resources"), State=1
    )


def _policies(item: Endpoint) -> list[PSObject]:
    if item.remote:
        return [custom_object(Type="L2Driver"), *(custom_object(**policy) for policy in item.policies)]
    return [custom_object(**policy) for policy in item.policies]


def _network_policy(policy: Mapping[str, object]) -> PSObject:
    """Return a network's policy in the format of HNS's first API, which has no separate `Settings` object."""
    settings = policy.get("Settings")
    return custom_object(**{"Type": policy["Type"], **(settings if isinstance(settings, Mapping) else {})})
