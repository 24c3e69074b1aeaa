# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Read the static addresses of a node's physical network adapters, and restore lost ones (no I/O).

An external HNS network uses a physical adapter. Creating or removing such a network moves the adapter's settings to a
virtual adapter or back, and some versions of Windows reset them to DHCP in the process (microsoft/SDN#498). An adapter
is identified by its MAC address, which its virtual adapter shares; of the two, only the adapter that has the settings
has an IP interface. New-NetIPAddress rejects an interface that uses DHCP, so Set-NetIPInterface comes first
(learn.microsoft.com/powershell/module/nettcpip).
"""

from __future__ import annotations

import dataclasses
import typing as t

from ...wire.calls import action, query
from ...wire.messages import Call, CallResult, Input, Json
from ...wire.scopes import Scope

_ADDRESS, _ROUTE = Scope("address."), Scope("route.")
_ON_LINK = ("0.0.0.0", "::", "")  # noqa: S104 - next hops of routes, nothing is bound


@dataclasses.dataclass(frozen=True, kw_only=True)
class Uplink:
    """The static settings of a physical network adapter."""

    mac: str
    alias: str
    """Name of the adapter."""
    addresses: tuple[tuple[str, int], ...]
    """Address and prefix length of each static address."""
    routes: tuple[tuple[str, str, int], ...] = ()
    """Destination, next hop and metric of each route; the gateway is the next hop of the default route."""
    dns: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Json]:
        """Return the adapter's settings as JSON data, in the form that is stored on the node."""
        return {
            "mac": self.mac,
            "alias": self.alias,
            "addresses": [list(address) for address in self.addresses],
            "routes": [list(route) for route in self.routes],
            "dns": list(self.dns),
        }

    @classmethod
    def from_json(cls, document: t.Mapping[str, t.Any]) -> Uplink:
        """Return the adapter's settings, as read from JSON data that `to_json` returned.

        Raises:
            KeyError: the document is malformed.
            TypeError: the document is malformed.
            ValueError: the document is malformed.
        """
        return cls(
            mac=str(document["mac"]),
            alias=str(document["alias"]),
            addresses=tuple((str(address), int(length)) for address, length in document["addresses"]),
            routes=tuple((str(to), str(hop), int(metric)) for to, hop, metric in document["routes"]),
            dns=tuple(str(server) for server in document["dns"]),
        )


@dataclasses.dataclass(frozen=True, kw_only=True)
class AdapterRoute:
    """A route of an adapter."""

    destination: str
    next_hop: str
    interface: int
    metric: int = 0


@dataclasses.dataclass(frozen=True, kw_only=True)
class AdapterFacts:
    """The observed adapters and routes."""

    uplinks: tuple[Uplink, ...] = ()
    """Adapters with static addresses."""
    routes: tuple[AdapterRoute, ...] = ()
    """Routes with a next hop."""
    at_risk: tuple[Uplink, ...] = ()
    """Working adapters that have static addresses and that the first external network may take over. Empty if a virtual
    switch already exists, because no further adapter, such as a storage adapter, is expected to get one."""


def calls() -> tuple[Call, ...]:
    """Return the calls that read adapters, addresses, routes and name servers."""
    adapters = ("Name", "ifIndex", "MacAddress", "HardwareInterface", "Status")
    routes = ("InterfaceIndex", "DestinationPrefix", "NextHop", "RouteMetric")
    ipv4: dict[str, Json] = {"AddressFamily": "IPv4"}
    return (
        query("adapters", "Get-NetAdapter", select=adapters),
        query("interfaces", "Get-NetIPInterface", ipv4, select=("InterfaceIndex", "Dhcp", "NlMtu")),
        query(
            "addresses",
            "Get-NetIPAddress",
            select=("InterfaceIndex", "IPAddress", "PrefixLength", "PrefixOrigin"),
        ),
        query("routes", "Get-NetRoute", select=routes),
        query("dns", "Get-DnsClientServerAddress", ipv4, select=("InterfaceIndex", "ServerAddresses")),
    )


def read(seen: t.Mapping[str, CallResult]) -> AdapterFacts:
    """Return the adapters and routes, as read from the results of `calls`."""

    def output(name: str) -> list[t.Mapping[str, t.Any]]:
        return list(seen[name].output) if name in seen and seen[name].ok else []

    hardware, macs, endangered = _adapters(output("adapters"))
    routes = _routes(output("routes"))
    uplinks: list[Uplink] = []
    at_risk: list[Uplink] = []
    for interface in output("interfaces"):
        index = int(interface["InterfaceIndex"])
        addresses = tuple(
            (str(item["IPAddress"]), int(item["PrefixLength"]))
            for item in output("addresses")
            if item["InterfaceIndex"] == index and str(item.get("PrefixOrigin")) == "Manual"
        )
        if macs.get(index) not in hardware or str(interface.get("Dhcp")) != "Disabled" or not addresses:
            continue
        dns = next((item.get("ServerAddresses") for item in output("dns") if item["InterfaceIndex"] == index), None)
        uplinks.append(
            Uplink(
                mac=macs[index],
                alias=hardware[macs[index]],
                addresses=addresses,
                routes=tuple(
                    (route.destination, route.next_hop, route.metric) for route in routes if route.interface == index
                ),
                dns=tuple(str(server) for server in (dns if isinstance(dns, list) else [dns]) if server),
            )
        )
        if index in endangered:
            at_risk.append(uplinks[-1])
    return AdapterFacts(uplinks=tuple(uplinks), routes=routes, at_risk=tuple(at_risk))


def _adapters(items: t.Sequence[t.Mapping[str, t.Any]]) -> tuple[dict[str, str], dict[int, str], frozenset[int]]:
    """Return the physical adapters' names by MAC address, all MAC addresses by interface, and interfaces at risk."""
    physical = [item for item in items if item.get("HardwareInterface") is True]
    hardware = {str(item["MacAddress"]).upper(): str(item["Name"]) for item in physical}
    macs = {int(item["ifIndex"]): str(item["MacAddress"]).upper() for item in items}
    # A virtual adapter with the MAC address of a physical one belongs to a switch. Tunnels and modems have no address.
    others = {str(item.get("MacAddress") or "").upper() for item in items if item.get("HardwareInterface") is not True}
    switched = any(address in hardware for address in others if address)
    # A disconnected adapter shows no settings, so neither their loss nor their restoration could be observed.
    working = frozenset(int(item["ifIndex"]) for item in physical if str(item.get("Status")) == "Up")
    return hardware, macs, frozenset() if switched else working


def _routes(items: t.Sequence[t.Mapping[str, t.Any]]) -> tuple[AdapterRoute, ...]:
    """Return the routes with a next hop."""
    return tuple(
        AdapterRoute(
            destination=str(item["DestinationPrefix"]),
            next_hop=str(item["NextHop"]),
            interface=int(item["InterfaceIndex"]),
            metric=int(item.get("RouteMetric") or 0),
        )
        for item in items
        if str(item.get("NextHop") or "") not in _ON_LINK
    )


def lost(saved: Uplink, adapters: AdapterFacts) -> bool:
    """Return whether an adapter has lost any of its saved settings."""
    now = next((uplink for uplink in adapters.uplinks if uplink.mac == saved.mac), None)
    if now is None:
        return True
    routes = {route[:2] for route in now.routes}
    return not (
        set(saved.addresses) <= set(now.addresses)
        and {route[:2] for route in saved.routes} <= routes
        and saved.dns == now.dns
    )


def without_routes(uplink: Uplink, gone: t.Collection[tuple[str, str]]) -> Uplink:
    """Return an adapter's settings without the removed routes, each given as destination and next hop."""
    kept = tuple(route for route in uplink.routes if route[:2] not in gone)
    return dataclasses.replace(uplink, routes=kept)


def restore_calls(uplink: Uplink, scope: Scope, *, seconds: int = 30) -> tuple[Call, ...]:
    """Return the calls that restore an adapter's missing settings. They run even if earlier calls of the batch failed.

    Args:
        uplink: the adapter's earlier settings, which the calls restore.
        scope: id prefix of the calls. The last call, `check`, succeeds if the adapter has its first static address.
        seconds: time limit in seconds of each of three waits: for the adapter, its interface, and its address.
    """
    calls = list(_find_interface(uplink, seconds))
    for number, (address, length) in enumerate(uplink.addresses):
        calls += _create_if_missing(
            _ADDRESS.id(str(number)),
            ("Get-NetIPAddress", {"IPAddress": address, "PrefixOrigin": "Manual"}),
            ("New-NetIPAddress", {"IPAddress": address, "PrefixLength": length, "Confirm": False}),
        )
    for number, (destination, next_hop, metric) in enumerate(uplink.routes):
        route: dict[str, Json] = {"DestinationPrefix": destination, "NextHop": next_hop}
        calls += _create_if_missing(
            _ROUTE.id(str(number)),
            ("Get-NetRoute", route),
            ("New-NetRoute", {**route, "RouteMetric": metric, "Confirm": False}),
        )
    if uplink.dns:
        calls += _create_if_missing(
            "dns",
            ("Get-DnsClientServerAddress", {"ServerAddresses": " ".join(uplink.dns)}),
            ("Set-DnsClientServerAddress", {"ServerAddresses": list(uplink.dns), "Confirm": False}),
        )
    # A new address is tentative at first.
    settled: dict[str, Json] = {
        "IPAddress": uplink.addresses[0][0],
        "PrefixOrigin": "Manual",
        "AddressState": "Preferred",
    }
    check = query("check", "Get-NetIPAddress", select=(), until=settled, retries=seconds, delay=1.0)
    calls.append(_on_interface(check))
    return tuple(scope.call(dataclasses.replace(call, on_error="continue", always=True)) for call in calls)


def _on_interface(call: Call, where: t.Mapping[str, Json] | None = None) -> Call:
    """Return a call, altered to run for the interface from `_find_interface` if that interface matches `where`."""
    interface = Input(calls=("interface",), where=where or {}, parameter="InterfaceIndex", property="InterfaceIndex")
    return dataclasses.replace(call, input=interface, needs=("interface",))


def _find_interface(uplink: Uplink, seconds: int) -> tuple[Call, ...]:
    """Return the calls that wait for an adapter, find the IP interface with its settings, and turn off DHCP there."""
    dhcp: dict[str, Json] = {"AddressFamily": "IPv4", "Dhcp": "Disabled", "Confirm": False}
    up: dict[str, Json] = {"MacAddress": uplink.mac, "Status": "Up"}
    return (
        query("adapter", "Get-NetAdapter", select=(), until=up, retries=seconds, delay=1.0),
        # The adapter's own interface, or its virtual adapter's interface while a switch uses the adapter.
        query(
            "interface",
            "Get-NetIPInterface",
            {"AddressFamily": "IPv4", "ErrorAction": "SilentlyContinue"},
            input=Input(
                calls=("adapter",), where={"MacAddress": uplink.mac}, parameter="InterfaceIndex", property="ifIndex"
            ),
            needs=("adapter",),
            select=("InterfaceAlias", "Dhcp"),
            until={"Dhcp": ["Enabled", "Disabled"]},
            retries=seconds,
            delay=1.0,
        ),
        _on_interface(action("dhcp", "Set-NetIPInterface", dhcp), {"Dhcp": "Enabled"}),
    )


def _create_if_missing(
    name: str, check: tuple[str, t.Mapping[str, Json]], create: tuple[str, t.Mapping[str, Json]]
) -> tuple[Call, Call]:
    """Return the calls that check whether a setting exists, and create it if it does not."""
    there = query(f"{name}.there", check[0], select=(), until=check[1])
    return _on_interface(there), _on_interface(action(name, create[0], create[1], unless=(there.id,)))


def _is_setting(call_id: str) -> bool:
    """Return whether a call creates an address or a route. The ids of such calls end with a number."""
    return any(call_id in scope and scope.own(call_id).isdigit() for scope in (_ADDRESS, _ROUTE))


def restored(seen: t.Mapping[str, CallResult], scope: Scope) -> tuple[str, ...]:
    """Return the names of the restored settings, such as `address.0`, `route.0` and `dns`."""
    return tuple(
        name
        for name, result in scope.results(seen).items()
        if result.ok and result.skipped is None and (name == "dns" or _is_setting(name))
    )
