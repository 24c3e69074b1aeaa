# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Policies of HNS endpoints in a CNI configuration: outbound NAT, routes, and access lists for Azure services.

CNI plugins accept two forms of a policy. Plugins that use the HCN API expect the settings under `Settings`. The older
HNS API, and azure-vnet with both APIs, expect the settings next to `Type`.
"""

from __future__ import annotations

import typing as t

from ..windows.azure_platform import PlatformService, platform
from .settings import NetworkSettings

EndpointPolicy: t.TypeAlias = dict[str, t.Any]
"""An entry of `policies` or `AdditionalArgs` in a CNI configuration."""
_TCP = "6"


def nested(kind: str, settings: t.Mapping[str, t.Any]) -> EndpointPolicy:
    """Return a policy in the form of the HCN API.

    Source: microsoft/hcsshim hcn/hcnpolicy.go.

    Args:
        kind: type of the policy.
        settings: settings of the policy.
    """
    return {"Name": "EndpointPolicy", "Value": {"Type": kind, "Settings": dict(settings)}}


def flat(kind: str, settings: t.Mapping[str, t.Any]) -> EndpointPolicy:
    """Return a policy in the form of the older HNS API, which azure-vnet also uses.

    Source: microsoft/hcsshim internal/hns/hnspolicy.go.

    Args:
        kind: type of the policy.
        settings: settings of the policy.
    """
    return {"Name": "EndpointPolicy", "Value": {"Type": kind, **settings}}


def access_list(settings: NetworkSettings) -> list[dict[str, t.Any]]:
    """Return the settings of the ACL policies, or an empty list if no Azure service is blocked.

    If an endpoint has an ACL, it denies everything that no ACL allows (microsoft/Windows-Containers#616). The last two
    entries therefore allow everything else. DNS (UDP and TCP 53) and DHCP at WireServer's address are not blocked.

    Args:
        settings: the network's variables.
    """
    known = platform()
    services = _blocked(settings)
    if not services:
        return []
    blocks = [
        {
            "Protocols": _TCP,
            "Action": "Block",
            "Direction": "Out",
            "RemoteAddresses": f"{service.address}/32",
            "RemotePorts": str(port),
            "Priority": known.block_priority,
            "RuleType": "Switch",
        }
        for service in services
        for port in service.ports
    ]
    allowed = [{"Action": "Allow", "Direction": way, "Priority": known.allow_priority} for way in ("In", "Out")]
    return [*blocks, *allowed]


def broadest(networks: t.Iterable[str]) -> list[str]:
    """Return the given networks. Of several networks with the same address, only the largest is returned.

    Windows Server 2019 ignores the prefix lengths when it compares exceptions from outbound NAT, and keeps only one of
    several networks with the same address (Azure/AgentBaker azurecnifunc.ps1, GetBroadestRangesForEachAddress). The
    shorter list has the same effect on every version of Windows.

    Args:
        networks: networks in CIDR notation; empty strings are left out.
    """
    chosen: dict[str, str] = {}
    for network in networks:
        address, _slash, length = network.partition("/")
        if address and (address not in chosen or int(length) < int(chosen[address].partition("/")[2])):
            chosen[address] = network
    return list(chosen.values())


def _blocked(settings: NetworkSettings) -> list[PlatformService]:
    known = platform()
    return [
        *([known.wire_server] if settings.block_wireserver else []),
        *([known.metadata_service] if settings.block_imds else []),
    ]
