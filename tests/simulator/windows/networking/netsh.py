# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The simulated netsh.exe program. As in Windows, `interface` and the words after it may be abbreviated."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from simulator.machine.objects import Invocation, Program, ProgramResult
from simulator.windows.networking import port_ranges, proxy
from simulator.windows.networking.advfirewall import advfirewall

if TYPE_CHECKING:
    from simulator.machine.machine import Machine

_PORTS = {
    ("interface", "ipv4", "show", "excludedportrange"): port_ranges.show,
    ("interface", "ipv4", "show", "dynamicportrange"): port_ranges.show_dynamic,
    ("interface", "ipv4", "set", "dynamicportrange"): port_ranges.set_dynamic,
}


def netsh(machine: Machine, run: Invocation) -> ProgramResult:
    """Simulate `netsh winhttp`, `netsh advfirewall firewall`, and the port range commands of `netsh interface ipv4`."""
    words = [argument.casefold() for argument in run.argv]
    if words[:1] == ["winhttp"]:
        return proxy.winhttp(machine, run)
    if words[:2] == ["advfirewall", "firewall"]:
        return advfirewall(machine, run)
    for context, command in _PORTS.items():
        if len(words) >= len(context) and all(map(_means, words, context)):
            return command(machine, run.argv[len(context) :])
    return ProgramResult(1, f"the simulator does not model netsh {' '.join(run.argv[:4])}\r\n")


def _means(word: str, name: str) -> bool:
    return len(word) >= min(2, len(name)) and name.startswith(word)


PROGRAMS: Mapping[str, Program] = {"netsh.exe": netsh}
