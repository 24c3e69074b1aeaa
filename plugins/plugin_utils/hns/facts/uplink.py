# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Static addresses of the outside network cards: what they are, and how they come back. Pure.

Making or removing an external network gives the card's settings to a virtual adapter or
back, and some versions of Windows reset them to DHCP on the way (microsoft/SDN#498). A card is known by its MAC
address, which its virtual adapter shares; of the two only the one that has the settings has an IP interface.
New-NetIPAddress refuses an interface with DHCP, hence Set-NetIPInterface first
(learn.microsoft.com/powershell/module/nettcpip).
"""

from __future__ import annotations

import dataclasses
import typing as t

from ...wire.messages import Call, CallResult, Input, Json

_ON_LINK = ("0.0.0.0", "::", "")  # noqa: S104 - next hops of routes, nothing is bound


@dataclasses.dataclass(frozen=True, kw_only=True)
class Uplink:
    """The static settings of one outside network card."""

    mac: str
    alias: str
    """The card's own name, for people."""
    addresses: tuple[tuple[str, int], ...]
    """Address and prefix length."""
    routes: tuple[tuple[str, str, int], ...] = ()
    """Destination, next hop and metric; the gateway is a route to everywhere."""
    dns: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Json]:
        """As it is kept on the node."""
        return {
            "mac": self.mac,
            "alias": self.alias,
            "addresses": [list(address) for address in self.addresses],
            "routes": [list(route) for route in self.routes],
            "dns": list(self.dns),
        }

    @classmethod
    def from_json(cls, document: t.Mapping[str, t.Any]) -> Uplink:
        """Reads what `to_json` gave.

        Raises:
            KeyError, TypeError, ValueError: it is none.
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
    """A route of the node."""

    destination: str
    next_hop: str
    interface: int
    metric: int = 0


@dataclasses.dataclass(frozen=True, kw_only=True)
class AdapterFacts:
    """What a node's cards say."""

    uplinks: tuple[Uplink, ...] = ()
    """Those with static addresses."""
    routes: tuple[AdapterRoute, ...] = ()
    """All routes with a next hop."""
    at_risk: tuple[Uplink, ...] = ()
    """Those of the uplinks that work and that the first external network may take; none where a switch is there: a
    second card with a static address (storage, say) may never get one."""


def calls() -> tuple[Call, ...]:
    """Asks for cards, addresses, routes and name servers."""

    def ask(call_id: str, command: str, select: tuple[str, ...], **parameters: Json) -> Call:
        return Call(id=call_id, command=command, parameters=parameters, select=select, on_error="continue")

    return (
        ask("adapters", "Get-NetAdapter", ("Name", "ifIndex", "MacAddress", "HardwareInterface", "Status")),
        ask("interfaces", "Get-NetIPInterface", ("InterfaceIndex", "Dhcp"), AddressFamily="IPv4"),
        ask("addresses", "Get-NetIPAddress", ("InterfaceIndex", "IPAddress", "PrefixLength", "PrefixOrigin")),
        ask("routes", "Get-NetRoute", ("InterfaceIndex", "DestinationPrefix", "NextHop", "RouteMetric")),
        ask("dns", "Get-DnsClientServerAddress", ("InterfaceIndex", "ServerAddresses"), AddressFamily="IPv4"),
    )


def read(seen: t.Mapping[str, CallResult]) -> AdapterFacts:
    """Reads the answers to `calls`."""

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
    """Names of the cards by MAC address, all MAC addresses by interface, and the interfaces whose settings may go."""
    cards = [item for item in items if item.get("HardwareInterface") is True]
    hardware = {str(item["MacAddress"]).upper(): str(item["Name"]) for item in cards}
    macs = {int(item["ifIndex"]): str(item["MacAddress"]).upper() for item in items}
    # An adapter that is no card and has a card's address stands for it: that of a switch. Tunnels and modems have none.
    others = {str(item.get("MacAddress") or "").upper() for item in items if item.get("HardwareInterface") is not True}
    switched = any(address in hardware for address in others if address)
    # A card whose cable is out loses nothing that anybody could see, and could not be seen to have it again.
    working = frozenset(int(item["ifIndex"]) for item in cards if str(item.get("Status")) == "Up")
    return hardware, macs, frozenset() if switched else working


def _routes(items: t.Sequence[t.Mapping[str, t.Any]]) -> tuple[AdapterRoute, ...]:
    """Those with a next hop."""
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


def lost(saved: Uplink, links: AdapterFacts) -> bool:
    """Whether a card no longer has what it had."""
    now = next((uplink for uplink in links.uplinks if uplink.mac == saved.mac), None)
    if now is None:
        return True
    routes = {route[:2] for route in now.routes}
    return not (
        set(saved.addresses) <= set(now.addresses)
        and {route[:2] for route in saved.routes} <= routes
        and saved.dns == now.dns
    )


def without_routes(uplink: Uplink, gone: t.Collection[tuple[str, str]]) -> Uplink:
    """The card without routes that are removed (destination, next hop)."""
    kept = tuple(route for route in uplink.routes if route[:2] not in gone)
    return dataclasses.replace(uplink, routes=kept)


def restore_calls(uplink: Uplink, prefix: str, *, patience: int = 30) -> tuple[Call, ...]:
    """Compares a card with what it had, and gives back what is missing; runs whatever happened before.

    Args:
        uplink: what it had.
        prefix: before the ids of the calls; the last one, `check`, succeeds if all is there.
        patience: seconds to wait for the card.
    """
    on_interface = _on_interface(prefix)

    def step(call_id: str, command: str, parameters: t.Mapping[str, Json], **more: t.Any) -> Call:
        given: dict[str, t.Any] = {"input": on_interface, "needs": (f"{prefix}interface",), "select": (), **more}
        return Call(
            id=prefix + call_id, command=command, parameters=parameters, on_error="continue", always=True, **given
        )

    found = list(_card_calls(step, uplink, prefix, patience))
    for number, (address, length) in enumerate(uplink.addresses):
        found += _unless_there(
            step,
            prefix,
            f"address.{number}",
            ("Get-NetIPAddress", {"IPAddress": address, "PrefixOrigin": "Manual"}),
            ("New-NetIPAddress", {"IPAddress": address, "PrefixLength": length, "Confirm": False}),
        )
    for number, (destination, next_hop, metric) in enumerate(uplink.routes):
        route: dict[str, Json] = {"DestinationPrefix": destination, "NextHop": next_hop}
        found += _unless_there(
            step,
            prefix,
            f"route.{number}",
            ("Get-NetRoute", route),
            ("New-NetRoute", {**route, "RouteMetric": metric, "Confirm": False}),
        )
    if uplink.dns:
        found += _unless_there(
            step,
            prefix,
            "dns",
            ("Get-DnsClientServerAddress", {"ServerAddresses": " ".join(uplink.dns)}),
            ("Set-DnsClientServerAddress", {"ServerAddresses": list(uplink.dns), "Confirm": False}),
        )
    # A new address is tentative for a moment.
    check = step(
        "check",
        "Get-NetIPAddress",
        {},
        until={"IPAddress": uplink.addresses[0][0], "PrefixOrigin": "Manual", "AddressState": "Preferred"},
        retries=patience,
        delay=1.0,
    )
    return (*found, check)


def _on_interface(prefix: str) -> Input:
    return Input(calls=(f"{prefix}interface",), parameter="InterfaceIndex", property="InterfaceIndex")


def _card_calls(step: t.Callable[..., Call], uplink: Uplink, prefix: str, patience: int) -> tuple[Call, ...]:
    """Waits for the card, finds the interface that has its addresses now, and ends DHCP there."""
    alone: dict[str, t.Any] = {"input": None, "needs": (), "retries": patience, "delay": 1.0}
    return (
        step("adapter", "Get-NetAdapter", {}, until={"MacAddress": uplink.mac, "Status": "Up"}, **alone),
        # The card's own interface while it is alone, its virtual adapter's while a switch holds it.
        step(
            "interface",
            "Get-NetIPInterface",
            {"AddressFamily": "IPv4", "ErrorAction": "SilentlyContinue"},
            input=Input(
                calls=(f"{prefix}adapter",),
                where={"MacAddress": uplink.mac},
                parameter="InterfaceIndex",
                property="ifIndex",
            ),
            needs=(f"{prefix}adapter",),
            select=("InterfaceAlias", "Dhcp"),
            until={"Dhcp": ["Enabled", "Disabled"]},
            retries=patience,
            delay=1.0,
        ),
        step(
            "dhcp",
            "Set-NetIPInterface",
            {"AddressFamily": "IPv4", "Dhcp": "Disabled", "Confirm": False},
            input=dataclasses.replace(_on_interface(prefix), where={"Dhcp": "Enabled"}),
        ),
    )


def _unless_there(
    step: t.Callable[..., Call],
    prefix: str,
    name: str,
    look: tuple[str, t.Mapping[str, Json]],
    make: tuple[str, t.Mapping[str, Json]],
) -> tuple[Call, Call]:
    """Looks whether something is there, and makes it if it is not."""
    return (
        step(f"{name}.there", look[0], {}, until=look[1]),
        step(name, make[0], make[1], unless=(f"{prefix}{name}.there",)),
    )


def restored(seen: t.Mapping[str, CallResult], prefix: str) -> tuple[str, ...]:
    """What had to be given back, by names of the calls: `address.0`, `route.0`, `dns`."""
    return tuple(
        name.removeprefix(prefix)
        for name, result in seen.items()
        if name.startswith(prefix)
        and result.ok
        and result.skipped is None
        and (name.removeprefix(prefix) == "dns" or name.removeprefix(prefix).rpartition(".")[2].isdigit())
    )
