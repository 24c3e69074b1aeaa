# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Check whether a machine's own networks are compatible with the cluster's pod network (no I/O).

The checks cover the MTU, the types of the HNS networks, and nodes in other subnets.
"""

from __future__ import annotations

import dataclasses
import ipaddress
import typing as t

from ..pod_networks.catalogue import Mode
from ..windows import azure_platform
from ..wire.calls import query
from ..wire.messages import Call, CallResult

_DEFAULT_ROUTE = "0.0.0.0/0"
_HNS = "hns-networks"
_HNS_TIMEOUT = 20.0
"""Seconds to wait for HNS, which may hang. If HNS hangs, the HNS networks are treated as unknown."""
_NAMED = 8
"""Maximum number of nodes that a message names. Any further nodes are only counted."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class NodeNetwork:
    """What a machine reports about its network adapters."""

    mtu: int | None = None
    """The largest MTU of the network adapters with a default route, or None if it is unknown."""
    addresses: tuple[ipaddress.IPv4Interface, ...] = ()
    """The machine's IPv4 addresses with their prefix lengths. Loopback and link-local addresses are left out."""
    hns: t.Mapping[str, str] = dataclasses.field(default_factory=dict)
    """Types of the HNS networks by name; empty if there are none, or if they are unknown."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class ClusterNetwork:
    """The properties of a cluster's pod network with which a machine's own networks must be compatible."""

    mtu: int = 0
    """The value of `cni_mtu`, which is the MTU of the pods' packets. The value 0 stands for the MTU of the network
    adapter minus the overlay's headers."""
    linux_mtu: int = 0
    """MTU of the pods' packets on Linux nodes, or 0 if no object in the cluster contains this MTU."""
    linux_setting: str = ""
    """The setting that determines the MTU on Linux nodes, and the object that contains the setting."""
    linux_remedy: str = ""
    """Advice on how to change the MTU on Linux nodes, with the placeholders `{mtu}` and `{adapter}`."""
    nodes: t.Mapping[str, str] = dataclasses.field(default_factory=dict)
    """Internal IP addresses of the cluster's nodes by name."""


def networks_call() -> Call:
    """Return the call that lists the HNS networks. The call fails if Windows lacks the Containers feature."""
    return query(_HNS, "Get-HnsNetwork", select=("Name", "Type"), timeout=_HNS_TIMEOUT)


def read(seen: t.Mapping[str, CallResult]) -> NodeNetwork:
    """Parse a machine's networks from the results of `networks_call` and of the calls in hns/facts/uplink.py."""

    def output(name: str) -> list[t.Mapping[str, t.Any]]:
        return list(seen[name].output) if name in seen and seen[name].ok else []

    routed = {one["InterfaceIndex"] for one in output("routes") if one.get("DestinationPrefix") == _DEFAULT_ROUTE}
    sizes = [one.get("NlMtu") for one in output("interfaces") if one["InterfaceIndex"] in routed]
    known = [size for size in sizes if isinstance(size, int) and size > 0]
    addresses = [_address(one) for one in output("addresses")]
    return NodeNetwork(
        mtu=max(known, default=None),
        addresses=tuple(one for one in addresses if one is not None),
        hns={str(one.get("Name") or ""): str(one.get("Type") or "") for one in output(_HNS)},
    )


def _address(item: t.Mapping[str, t.Any]) -> ipaddress.IPv4Interface | None:
    """Parse an IPv4 address and its prefix length. Return None for IPv6, loopback, and link-local addresses."""
    try:
        address = ipaddress.IPv4Interface(f"{item['IPAddress']}/{int(item['PrefixLength'])}")
    except (ValueError, KeyError):  # IPv6
        return None
    return None if address.is_loopback or address.is_link_local else address


def type_problem(own: NodeNetwork, mode: Mode) -> str:
    """Return a message about HNS networks whose type does not suit the pod network, or an empty string if all do.

    Args:
        own: the machine's networks.
        mode: the mode of the machine's pod network.
    """
    names = (mode.hns_network, *mode.other_networks) if mode.hns_type else ()
    wrong = {name: own.hns[name] for name in names if own.hns.get(name, mode.hns_type).lower() != mode.hns_type.lower()}
    return "; ".join(
        f"its HNS network {name} has the type {kind}, expected {mode.hns_type}. The collection did not create it. "
        f"Uninstall the software that created it, and then remove the network with the hns_cleanup role "
        f"(hns_cleanup_scope: networks, hns_cleanup_networks: [{name}])"
        for name, kind in wrong.items()
    )


def mtu_problem(own: NodeNetwork, mode: Mode, expected: ClusterNetwork) -> str:
    """Return a message if `cni_mtu` is too large for the machine's network adapter, or an empty string if it is not.

    The string is also empty if the MTU of the network adapter is unknown.

    Args:
        own: the machine's networks.
        mode: the mode of the machine's pod network.
        expected: the cluster's pod network.
    """
    if own.mtu is None or expected.mtu <= own.mtu - mode.mtu_overhead:
        return ""
    limit = own.mtu - mode.mtu_overhead
    minus = f" minus {mode.mtu_overhead} for the headers of the overlay" if mode.mtu_overhead else ""
    return (
        f"cni_mtu: expected at most {limit}, which is the MTU of its network adapter ({own.mtu}){minus}, got "
        f"{expected.mtu}. Reduce cni_mtu and the MTU of the Linux nodes, or increase the MTU of the network adapter"
    )


def mtu_warnings(
    own: NodeNetwork, mode: Mode, expected: ClusterNetwork, *, in_azure: bool, joined: bool
) -> t.Iterator[str]:
    """Yield warnings if the MTU of pods differs between Linux nodes and the machine, or is too large for Azure.

    Only overlay networks are checked.

    Args:
        own: the machine's networks.
        mode: the mode of the machine's pod network.
        expected: the cluster's pod network.
        in_azure: whether the machine is an Azure virtual machine. Azure's virtual networks have a smaller MTU than
            the machine's network adapters report.
        joined: whether the machine is already a node. If the MTU on Linux nodes is unknown, there is a warning only
            for Azure virtual machines that are not nodes yet.
    """
    if not mode.mtu_overhead or own.mtu is None:
        return
    azure = azure_platform.platform().virtual_network_mtu
    adapter = min(own.mtu, azure) if in_azure else own.mtu
    pods = expected.mtu or adapter - mode.mtu_overhead
    why = f"Azure's virtual network ({azure})" if in_azure and adapter == azure else f"its network adapter ({own.mtu})"
    reason = "cni_mtu" if expected.mtu else f"the MTU of {why} minus {mode.mtu_overhead}"
    if in_azure and pods > azure - mode.mtu_overhead:
        yield (
            f"cni_mtu is {pods}, expected at most {azure - mode.mtu_overhead} in Azure, which splits packets of more "
            f"than {azure} bytes"
        )
    if expected.linux_mtu and expected.linux_mtu != pods:
        remedy = expected.linux_remedy.replace("{mtu}", str(pods)).replace("{adapter}", str(pods + mode.mtu_overhead))
        yield (
            f"the MTU of pods on Linux nodes is {expected.linux_mtu} ({expected.linux_setting}), expected {pods}, "
            f"which is {reason}. {remedy}"
        )
    elif not expected.linux_mtu and in_azure and not joined:
        yield (
            "the MTU of pods on Linux nodes is unknown, because the cluster does not show it; expected "
            f"{pods}, which is {reason}. Set the MTU of the Linux nodes' network adapters to "
            f"{pods + mode.mtu_overhead}, or the MTU of their pods to {pods} in the settings of their network"
        )


def subnet_problem(own: NodeNetwork, mode: Mode, expected: ClusterNetwork) -> str:
    """Return a message about nodes outside the machine's subnets, or an empty string if there are none.

    The string is also empty if the pod network works across subnets, or if the machine's addresses are unknown.

    Args:
        own: the machine's networks.
        mode: the mode of the machine's pod network.
        expected: the cluster's pod network.
    """
    if not mode.other_subnets or not own.addresses:
        return ""
    far = [
        f"{name} ({address})"
        for name, address in sorted(expected.nodes.items())
        if (parsed := _parsed(address)) is not None and not any(parsed in one.network for one in own.addresses)
    ]
    if not far:
        return ""
    more = f" and {len(far) - _NAMED} more" if len(far) > _NAMED else ""
    subnets = ", ".join(dict.fromkeys(str(one.network) for one in own.addresses))
    return (
        f"its subnet is {subnets}, expected the same subnet as all other nodes, because the routes of this network "
        f"cannot cross a router. Nodes in other subnets: {', '.join(far[:_NAMED])}{more}. {mode.other_subnets}"
    )


def _parsed(address: str) -> ipaddress.IPv4Address | None:
    """Parse an IPv4 address. Return None if it is invalid, or if it is a loopback or link-local address."""
    try:
        parsed = ipaddress.IPv4Address(address)
    except ValueError:
        return None
    return None if parsed.is_loopback or parsed.is_link_local else parsed
