# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""netsh advfirewall firewall add|delete rule: these commands use display names, which need not be unique.

learn.microsoft.com: Use netsh advfirewall firewall instead of netsh firewall to control Windows Defender Firewall
behavior (`add rule`, `delete rule`).
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import TYPE_CHECKING

from simulator.machine.objects import Invocation, ProgramResult
from simulator.windows.networking.firewall_rules import Firewall, Rule

if TYPE_CHECKING:
    from simulator.machine.machine import Machine

_DIRECTIONS = {"in": "Inbound", "out": "Outbound"}
_ACTIONS = {"allow": "Allow", "block": "Block"}
_KNOWN = {"name", "dir", "action", "protocol", "localport", "remoteip", "profile"}
_USAGE = "A specified value is not valid.\r\n"


def advfirewall(machine: Machine, run: Invocation) -> ProgramResult:
    """Simulate `add rule` and `delete rule`."""
    verb = tuple(word.casefold() for word in run.argv[2:4])
    options = {key.casefold(): value for key, _is, value in (word.partition("=") for word in run.argv[4:])}
    if verb not in (("add", "rule"), ("delete", "rule")):
        return ProgramResult(1, f"the simulator does not model netsh {' '.join(run.argv[:4])}\r\n")
    if not options.get("name") or not set(options) <= _KNOWN:
        return ProgramResult(1, _USAGE)
    return _add(machine, options) if verb[0] == "add" else _delete(machine, options)


def _add(machine: Machine, options: Mapping[str, str]) -> ProgramResult:
    direction = _DIRECTIONS.get(options.get("dir", "").casefold())
    action = _ACTIONS.get(options.get("action", "").casefold())
    protocol = options.get("protocol", "any").upper()
    if direction is None or action is None or ("localport" in options and protocol not in ("TCP", "UDP")):
        return ProgramResult(1, _USAGE)
    name = f"{{{str(uuid.uuid4()).upper()}}}"
    remote = tuple(options["remoteip"].split(",")) if "remoteip" in options else ("Any",)
    ports = tuple(options["localport"].split(",")) if "localport" in options else ("Any",)
    rule = Rule(name, options["name"], direction=direction, action=action, remote_address=remote, local_port=ports,
                protocol="Any" if protocol == "ANY" else protocol)  # fmt: skip
    machine.part(Firewall).rules[name.casefold()] = rule
    return ProgramResult(0, "Ok.\r\n\r\n")


def _delete(machine: Machine, options: Mapping[str, str]) -> ProgramResult:
    rules = machine.part(Firewall).rules
    found = [key for key, rule in rules.items() if rule.display_name.casefold() == options["name"].casefold()]
    for key in found:
        del rules[key]
    text = (
        f"\r\nDeleted {len(found)} rule(s).\r\nOk.\r\n\r\n"
        if found
        else "\r\nNo rules match the specified criteria.\r\n\r\n"
    )
    return ProgramResult(0 if found else 1, text)
