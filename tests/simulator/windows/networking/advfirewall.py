# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The `add rule` and `delete rule` commands of `netsh advfirewall firewall`.

They identify rules by display name, which need not be unique.

Source: "Use netsh advfirewall firewall instead of netsh firewall to control Windows Defender Firewall behavior" on
learn.microsoft.com
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from simulator.machine.objects import Invocation, ProgramResult
from simulator.windows.networking.firewall_rules import Firewall, Rule

if TYPE_CHECKING:
    from simulator.machine.machine import Machine

_DIRECTIONS = {"in": "Inbound", "out": "Outbound"}
_ACTIONS = {"allow": "Allow", "block": "Block"}
_PROFILES = {"domain": "Domain", "private": "Private", "public": "Public", "any": "Any"}
_KNOWN = {"name", "dir", "action", "protocol", "localport", "remoteip", "profile"}
_USAGE = "A specified value is not valid.\r\n"


def advfirewall(machine: Machine, run: Invocation) -> ProgramResult:
    """Simulate `netsh advfirewall firewall add rule` and `netsh advfirewall firewall delete rule`."""
    verb = " ".join(run.argv[2:4]).casefold()
    options = {key.casefold(): value for key, _is, value in (word.partition("=") for word in run.argv[4:])}
    if verb not in ("add rule", "delete rule"):
        return ProgramResult(1, f"the simulator does not model netsh {' '.join(run.argv[:4])}\r\n")
    attributes = _attributes(options)
    if not options.get("name") or not set(options) <= _KNOWN or None in attributes.values():
        return ProgramResult(1, _USAGE)
    if verb == "delete rule":
        return _delete(machine, options["name"], attributes)
    if not {"direction", "action"} <= attributes.keys():
        return ProgramResult(1, _USAGE)
    if "local_port" in attributes and attributes.get("protocol") not in ("TCP", "UDP"):
        return ProgramResult(1, _USAGE)
    name = f"{{{str(uuid.uuid4()).upper()}}}"
    machine.part(Firewall).rules[name.casefold()] = replace(Rule(name, options["name"]), **attributes)
    return ProgramResult(0, "Ok.\r\n\r\n")


def _attributes(options: Mapping[str, str]) -> dict[str, Any]:
    """Return the rule attributes that the options on the command line set. Invalid values are represented by None."""
    found: dict[str, Any] = {}
    tables = (("dir", "direction", _DIRECTIONS), ("action", "action", _ACTIONS))
    for option, attribute, values in tables:
        if option in options:
            found[attribute] = values.get(options[option].casefold())
    if "protocol" in options:
        protocol = options["protocol"].upper()
        found["protocol"] = "Any" if protocol == "ANY" else protocol
    if "profile" in options:
        names = [_PROFILES.get(name.casefold()) for name in options["profile"].split(",")]
        found["profile"] = None if None in names else ", ".join(map(str, names))
    for option, attribute in (("localport", "local_port"), ("remoteip", "remote_address")):
        if option in options:
            found[attribute] = tuple(options[option].split(","))
    return found


def _delete(machine: Machine, name: str, attributes: Mapping[str, object]) -> ProgramResult:
    """Delete all rules that have the given display name and attributes."""
    rules = machine.part(Firewall).rules
    found = [
        key
        for key, rule in rules.items()
        if rule.display_name.casefold() == name.casefold()
        and all(getattr(rule, attribute) == value for attribute, value in attributes.items())
    ]
    for key in found:
        del rules[key]
    text = (
        f"\r\nDeleted {len(found)} rule(s).\r\nOk.\r\n\r\n"
        if found
        else "\r\nNo rules match the specified criteria.\r\n\r\n"
    )
    return ProgramResult(0 if found else 1, text)
