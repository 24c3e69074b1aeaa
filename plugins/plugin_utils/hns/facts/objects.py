# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The objects of Windows' Host Networking Service, as its cmdlets list them (no I/O).

Source of the objects' properties: hcsshim internal/hns (hnsnetwork.go, hnsendpoint.go, namespace.go) and hcn. The
cmdlets return some ids in upper case and some in lower case (projectcalico/calico#8465); this package converts the ids
of HNS objects to upper case.
"""

from __future__ import annotations

import dataclasses
import functools
import typing as t

from ...wire.calls import query
from ...wire.messages import Call
from ...wire.scopes import Scope

REMOVE = Scope("remove-")
"""Id prefix of the calls that remove objects. In each id, the kind of the objects follows this prefix."""
EXTERNAL = ("l2bridge", "overlay", "transparent", "l2tunnel")
"""Types of HNS networks that use a physical adapter. Creating or removing such a network may interrupt the node's
connections."""
LISTINGS: t.Mapping[str, tuple[str, tuple[str, ...]]] = {
    "policies": ("Get-HnsPolicyList", ("ID", "Policies", "References")),
    "namespaces": ("Get-HnsNamespace", ("ID", "IsDefault", "Containers", "ResourceList")),
    "endpoints": (
        "Get-HnsEndpoint",
        (
            "ID",
            "Name",
            "VirtualNetwork",
            "VirtualNetworkName",
            "IPAddress",
            "IsRemoteEndpoint",
            "SharedContainers",
            "Namespace",
            "State",
        ),
    ),
    "networks": ("Get-HnsNetwork", ("ID", "Name", "Type", "Subnets", "NetworkAdapterName")),
}
"""Maps each kind of HNS object to two values: the cmdlet that lists these objects, and the properties to read. Objects
are listed before the objects to which they refer, so that every reference points to an object in a later listing, even
if objects are created in the meantime."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class HnsNetwork:
    """An HNS network."""

    id: str
    name: str
    type: str
    subnets: tuple[str, ...] = ()
    adapter: str = ""

    @property
    def external(self) -> bool:
        """Whether the network uses a physical adapter."""
        return self.type.lower() in EXTERNAL

    def is_called(self, names: t.Iterable[str]) -> bool:
        """Return whether one of the names is the network's name or id, ignoring case."""
        return not {self.name.lower(), self.id.lower()}.isdisjoint(name.strip("{}").lower() for name in names)


@dataclasses.dataclass(frozen=True, kw_only=True)
class HnsEndpoint:
    """An HNS endpoint of a container or of the host, or a remote endpoint for an address on another node."""

    id: str
    name: str
    network: str
    """Id of the network."""
    network_name: str = ""
    address: str = ""
    remote: bool = False
    containers: tuple[str, ...] = ()
    """Lowercase ids of the endpoint's containers. Empty with Hyper-V isolation (projectcalico/calico#8913)."""
    shared: str = ""
    """The `SharedContainers` property as PowerShell prints it. A cleanup that stops no services removes the endpoint
    only if this value has not changed on the node."""
    namespace: str = ""
    """Id of the network namespace."""
    state: int = 0


@dataclasses.dataclass(frozen=True, kw_only=True)
class PolicyList:
    """An HNS policy list; kube-proxy uses policy lists as load balancers for endpoints."""

    id: str
    endpoints: frozenset[str]
    """Ids of the endpoints in the policy list."""
    name: str = ""
    """The purpose of the policy list, such as `10.96.0.10:53/UDP`, or its type."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Namespace:
    """The network namespace of a pod or the host."""

    id: str
    default: bool
    containers: tuple[str, ...] = ()
    """Lowercase ids of the namespace's containers, in full or shortened to the first twelve characters."""
    endpoints: frozenset[str] = frozenset()
    """Ids of the endpoints in the namespace."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class HnsObjects:
    """All objects of one observation of HNS."""

    networks: tuple[HnsNetwork, ...] = ()
    endpoints: tuple[HnsEndpoint, ...] = ()
    policies: tuple[PolicyList, ...] = ()
    namespaces: tuple[Namespace, ...] = ()

    def called(self, names: t.Collection[str]) -> tuple[HnsNetwork, ...]:
        """Return the networks with the given names or ids. Several networks may share a name (docker/for-win#2638)."""
        return tuple(item for item in self.networks if item.is_called(names))

    def in_namespace(self, namespace: Namespace) -> frozenset[str]:
        """Return the ids of the endpoints that a namespace lists, and of those that refer to the namespace."""
        return namespace.endpoints | self._by_namespace.get(namespace.id, set())

    @functools.cached_property
    def _by_namespace(self) -> t.Mapping[str, set[str]]:
        by_namespace: dict[str, set[str]] = {}
        for item in self.endpoints:
            by_namespace.setdefault(item.namespace, set()).add(item.id)
        return by_namespace


def cmdlet(call_id: str) -> str:
    """Return the name of a call's cmdlet for messages, such as `Get-HnsEndpoint` for `1.endpoints`."""
    kind = next((kind for kind in LISTINGS if kind in call_id), "networks")
    command = LISTINGS[kind][0]
    return command.replace("Get-", "Remove-") if call_id in REMOVE else command


def listing_calls(timeout: float) -> tuple[Call, ...]:
    """Return one listing call for each kind of HNS object, with the kind as its id.

    If a listing fails, the later ones are skipped.

    Args:
        timeout: time limit of each listing in seconds.
    """
    calls: list[Call] = []
    for kind, (command, select) in LISTINGS.items():
        needs = (calls[-1].id,) if calls else ()
        calls.append(query(kind, command, select=select, timeout=timeout, needs=needs))
    return tuple(calls)


def read_objects(listed: t.Mapping[str, t.Sequence[t.Any]]) -> HnsObjects:
    """Return the HNS objects that were listed.

    Args:
        listed: maps each kind of HNS object to the objects that the listing of this kind returned.
    """
    return HnsObjects(
        networks=tuple(_network(item) for item in listed.get("networks", ())),
        endpoints=tuple(_endpoint(item) for item in listed.get("endpoints", ())),
        policies=tuple(_policy(item) for item in listed.get("policies", ())),
        namespaces=tuple(_namespace(item) for item in listed.get("namespaces", ())),
    )


def _list(value: t.Any) -> list[t.Any]:
    """Return a property as a list; the property may be a list, null, or a single value (PowerShell unrolls lists)."""
    if value is None or value == "":
        return []
    return list(value) if isinstance(value, list) else [value]


def _text(value: t.Any) -> str:
    return "" if value is None else str(value)


def _id(value: t.Any) -> str:
    return _text(value).strip("{}").upper()


def _network(item: t.Mapping[str, t.Any]) -> HnsNetwork:
    subnets = (_text(subnet.get("AddressPrefix")) for subnet in _list(item.get("Subnets")) if isinstance(subnet, dict))
    return HnsNetwork(
        id=_id(item.get("ID")),
        name=_text(item.get("Name")),
        type=_text(item.get("Type")),
        subnets=tuple(prefix for prefix in subnets if prefix),
        adapter=_text(item.get("NetworkAdapterName")),
    )


def _endpoint(item: t.Mapping[str, t.Any]) -> HnsEndpoint:
    containers = [_text(name) for name in _list(item.get("SharedContainers"))]
    namespace = item.get("Namespace")
    state = str(item.get("State"))
    return HnsEndpoint(
        id=_id(item.get("ID")),
        name=_text(item.get("Name")),
        network=_id(item.get("VirtualNetwork")),
        network_name=_text(item.get("VirtualNetworkName")),
        address=_text(item.get("IPAddress")),
        remote=str(item.get("IsRemoteEndpoint")).lower() == "true",
        containers=tuple(name.lower() for name in containers if name),
        shared=" ".join(containers),
        namespace=_id(namespace.get("ID") if isinstance(namespace, dict) else namespace),
        state=int(state) if state.isdigit() else 0,
    )


def _policy(item: t.Mapping[str, t.Any]) -> PolicyList:
    references = (_text(reference) for reference in _list(item.get("References")))
    endpoints = frozenset(
        _id(reference.rpartition("/")[2]) for reference in references if reference.lower().startswith("/endpoints/")
    )
    return PolicyList(id=_id(item.get("ID")), endpoints=endpoints, name=_policy_name(item))


def _policy_name(item: t.Mapping[str, t.Any]) -> str:
    protocols = {6: "TCP", 17: "UDP", 132: "SCTP"}
    for policy in _list(item.get("Policies")):
        if not isinstance(policy, dict):
            continue
        if policy.get("ExternalPort") is None:
            return _text(policy.get("Type"))
        address = ",".join(map(str, _list(policy.get("VIPs")))) or "node port "
        number = policy.get("Protocol")
        protocol = protocols.get(number if isinstance(number, int) else 0, _text(number))
        colon = "" if address.endswith(" ") else ":"
        return f"{address}{colon}{policy['ExternalPort']}/{protocol}"
    return ""


def _namespace(item: t.Mapping[str, t.Any]) -> Namespace:
    containers = [_text(name) for name in _list(item.get("Containers"))]
    endpoints: list[str] = []
    for resource in _list(item.get("ResourceList")):
        data = resource.get("Data") if isinstance(resource, dict) else None
        if not isinstance(data, dict):
            continue
        identity = _text(data.get("Id") or data.get("ID"))
        if _text(resource.get("Type")).lower() == "container":
            containers.append(identity)
        else:
            endpoints.append(_id(identity))
    return Namespace(
        id=_id(item.get("ID")),
        default=str(item.get("IsDefault")).lower() == "true",
        containers=tuple(dict.fromkeys(name.lower() for name in containers if name)),
        endpoints=frozenset(endpoints),
    )
