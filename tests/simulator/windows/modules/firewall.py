# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The simulated win_firewall_rule module of community.windows.

It finds rules by display name, as the firewall's COM interface does.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from simulator.machine.modules.arguments import ArgumentError, ModuleArguments
from simulator.machine.objects import NotModelled
from simulator.machine.session import Session
from simulator.windows.networking.firewall_rules import Firewall, Rule

_PROTOCOLS = {"tcp": "TCP", "udp": "UDP", "6": "TCP", "17": "UDP", "1": "ICMPv4", "58": "ICMPv6", "any": "Any"}
_PROFILES = {"domain": "Domain", "private": "Private", "public": "Public"}
_INTERFACES = {"wireless": "Wireless", "lan": "Wired", "ras": "RemoteAccess", "any": "Any"}
_EDGES = {"no": "Block", "yes": "Allow", "deferapp": "DeferToApp", "deferuser": "DeferToUser"}
# Options that set a rule's string or list of strings: the option, the attribute, and whether it is a list.
_PLAIN = (
    ("description", "description", False),
    ("group", "group", False),
    ("service", "service", False),
    ("localip", "local_address", True),
    ("remoteip", "remote_address", True),
    ("localport", "local_port", True),
    ("remoteport", "remote_port", True),
    ("icmp_type_code", "icmp_type", True),
)


def run(session: Session, arguments: ModuleArguments) -> dict[str, Any]:
    """Create, change or remove firewall rules."""
    name, group = arguments.text("name", default=""), arguments.text("group", default="")
    if not name and not group:
        raise ArgumentError("Either name or group must be specified")
    state = _choice(arguments, "state", {"present": "present", "absent": "absent"}, "present")
    if arguments.text("security", default="notrequired") != "notrequired":
        raise NotModelled("the option security of win_firewall_rule")
    rules = session.machine.part(Firewall).rules
    requested = _requested_attributes(session, arguments)
    found = [
        rule
        for rule in rules.values()
        if (rule.display_name.casefold() == name.casefold() if name else rule.group.casefold() == group.casefold())
    ]
    if state == "absent":
        return _remove(rules, found, name, group, check=arguments.check_mode)
    if not found:
        if not name:
            return {"changed": False}
        rule = _checked(replace(Rule(f"{{{str(uuid.uuid4()).upper()}}}", name), **requested))
        if not arguments.check_mode:
            rules[rule.name.casefold()] = rule
        return {"changed": True, "msg": f"Firewall rule '{name}' created."}
    return _change(rules, found, requested, check=arguments.check_mode)


def _remove(rules: dict[str, Rule], found: list[Rule], name: str, group: str, *, check: bool) -> dict[str, Any]:
    if not found:
        missing = f"Firewall rule '{name}' does not exist." if name else f"No firewall rules in group '{group}' exist."
        return {"changed": False, "msg": missing}
    if not check:
        for rule in found:
            del rules[rule.name.casefold()]
    names = "', '".join(rule.display_name for rule in found)
    return {"changed": True, "msg": f"Firewall rule(s) '{names}' removed."}


def _change(rules: dict[str, Rule], found: list[Rule], requested: dict[str, Any], *, check: bool) -> dict[str, Any]:
    """Give the selected rules the requested attributes, and return the module's result.

    In check mode, no rule is changed.
    """
    changed: list[str] = []
    same: list[str] = []
    for rule in found:
        new = _checked(replace(rule, **requested))
        different = any(_plain(getattr(rule, key)) != _plain(getattr(new, key)) for key in requested)
        (changed if different else same).append(rule.display_name)
        if different and not check:
            rules[rule.name.casefold()] = new
    message = "Firewall rule(s) changed '{}' - unchanged '{}'".format("', '".join(changed), "', '".join(same))
    return {"changed": bool(changed), "msg": message}


def _plain(value: object) -> object:
    # Addresses and ports are compared regardless of their order, strings regardless of case.
    return sorted(str(item).casefold() for item in value) if isinstance(value, tuple) else str(value).casefold()


def _choice(arguments: ModuleArguments, name: str, known: Mapping[str, str], default: str) -> str:
    value = arguments.text(name, default=default)
    if value.casefold() not in known:
        needed = ",".join(known)
        raise ArgumentError(f"Get-AnsibleParam: Argument {name} needs to be one of {needed} but was {value}.")
    return known[value.casefold()]


def _requested_attributes(session: Session, arguments: ModuleArguments) -> dict[str, Any]:
    """Return the rule attributes that the task defines."""
    requested: dict[str, Any] = {}
    given = arguments.raw
    if given("direction") is not None:
        requested["direction"] = _choice(arguments, "direction", {"in": "Inbound", "out": "Outbound"}, "in")
    if given("action") is not None:
        requested["action"] = _choice(arguments, "action", {"allow": "Allow", "block": "Block"}, "allow")
    if given("enabled") is not None or given("enable") is not None:
        name = "enabled" if given("enabled") is not None else "enable"
        requested["enabled"] = str(arguments.flag(name))
    if given("edge") is not None:
        requested["edge"] = _choice(arguments, "edge", _EDGES, "no")
    if given("program") is not None:
        program = arguments.text("program")
        requested["program"] = "Any" if program.casefold() == "any" else session.expand(program)
    if given("protocol") is not None:
        requested["protocol"] = _protocol(arguments.text("protocol"))
    if (profiles := given("profiles", given("profile"))) is not None:
        names = [_known(_PROFILES, item, "profile") for item in _listed(profiles)]
        everywhere = set(names) == set(_PROFILES.values())
        requested["profile"] = "Any" if everywhere else ", ".join(dict.fromkeys(names))
    if (kinds := given("interfacetypes")) is not None:
        names = [_known(_INTERFACES, item, "interface type") for item in _listed(kinds)]
        requested["interface_type"] = ", ".join(dict.fromkeys(names))
    for option, attribute, several in _PLAIN:
        value = given(option)
        if value is not None:
            requested[attribute] = (
                _several(value) if several else "Any" if str(value).casefold() == "any" else str(value)
            )
    return requested


def _several(value: object) -> tuple[str, ...]:
    return tuple("Any" if item.casefold() == "any" else item for item in _listed(value))


def _listed(value: object) -> list[str]:
    found = value if isinstance(value, list) else str(value).split(",")
    return [str(item).strip() for item in found]


def _known(table: Mapping[str, str], text: str, what: str) -> str:
    if text.casefold() not in table:
        raise ArgumentError(f"Unknown {what} '{text}'.")
    return table[text.casefold()]


def _protocol(text: str) -> str:
    lower = text.casefold()
    if lower in _PROTOCOLS:
        return _PROTOCOLS[lower]
    if lower.startswith("icmpv4"):
        return "ICMPv4"
    if lower.startswith("icmpv6"):
        return "ICMPv6"
    if lower.isdigit():
        return lower
    raise ArgumentError(f"Unknown protocol '{text}'.")


def _checked(rule: Rule) -> Rule:
    """Check a rule as the firewall does, and return the rule.

    Raises:
        ArgumentError: the firewall rejects the rule.
    """
    ports = rule.local_port != ("Any",) or rule.remote_port != ("Any",)
    bad = [
        port
        for port in (*rule.local_port, *rule.remote_port)
        if port[:1].isdigit() and not all(part.isdigit() and int(part) <= 65535 for part in port.split("-", 1))
    ]
    if bad or (ports and rule.protocol not in ("TCP", "UDP")):
        raise ArgumentError("The parameter is incorrect. (Exception from HRESULT: 0x80070057 (E_INVALIDARG))")
    return rule
