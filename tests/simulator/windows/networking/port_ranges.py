# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Excluded and dynamic port ranges, as netsh shows and sets them.

The default dynamic range is 49152 to 65535. HNS reserves blocks of 64 ports, so microsoft/SDN#399 counts the remaining
ports in blocks of this size. The list of excluded ranges also contains the ports of http.sys, including those of WinRM:
on a node in kubernetes/kubernetes#117783, it contains 5985, 5986, 47001 and the blocks that HNS has reserved.

Sources: `show excludedportrange` at learn.microsoft.com/windows-server/administration/windows-commands/netsh-interface
and learn.microsoft.com/troubleshoot/windows-server/networking/default-dynamic-port-range-tcpip-chang
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from simulator.machine.objects import ProgramResult

if TYPE_CHECKING:
    from simulator.machine.machine import Machine

FIRST, LAST = 49152, 65535
_USAGE = (
    "\r\nUsage: show excludedportrange [protocol=]tcp|udp [[store=]active|persistent]\r\n\r\n"
    "Remarks: Shows all excluded port ranges.\r\n\r\n"
)
_USAGE_SHOW_DYNAMIC = (
    "\r\nUsage: show dynamicportrange [protocol=]tcp|udp [[store=]active|persistent]\r\n\r\n"
    "Remarks: Shows dynamic port range configuration parameters.\r\n\r\n"
)
_USAGE_SET_DYNAMIC = (
    "\r\nUsage: set dynamicportrange [protocol=]tcp|udp [startport=]<integer> [numberofports=]<integer> "
    "[[store=]active|persistent]\r\n\r\n"
)
_STORES = ("active", "persistent")


@dataclass
class Reservation:
    """A reserved port range. `until` is the monotonic time at which it is released, or None while its owner uses it."""

    first: int
    last: int
    until: float | None = None


@dataclass
class PortRanges:
    """The port ranges of a machine.

    Args:
        reserved: maps each owner, such as HNS, to the range that it has reserved at run time for TCP and UDP.
        administered: the ranges that an administrator excluded, which are shown with an asterisk.
        listening: the TCP ports of http.sys; 5986 is not among them, even if WinRM has an HTTPS listener.
        dynamic: maps a protocol to its dynamic range, as (first port, number of ports), if the range was changed.
    """

    reserved: dict[str, Reservation] = field(default_factory=dict)
    administered: list[tuple[int, int]] = field(default_factory=lambda: [(5357, 5357)])
    listening: tuple[int, ...] = (5985, 47001)
    dynamic: dict[str, tuple[int, int]] = field(default_factory=dict)

    def current(self) -> dict[str, Reservation]:
        """Return the port reservations that have not been released, keyed by owner."""
        now = time.monotonic()
        for owner, pool in list(self.reserved.items()):
            if pool.until is not None and pool.until <= now:
                self.reserved.pop(owner, None)
        return self.reserved


def show(machine: Machine, words: Sequence[str]) -> ProgramResult:
    """Simulate netsh interface ipv4 show excludedportrange [protocol=]tcp|udp."""
    values = {"protocol": "", "store": "active"}
    places = list(values)
    for word in words:
        key, equals, value = word.casefold().partition("=")
        if equals and key not in values:
            return ProgramResult(1, f"{word} is not an acceptable value.\r\n{_USAGE}")
        values[key if equals else places.pop(0) if places else "protocol"] = value if equals else key
    protocol = values["protocol"]
    if protocol not in ("tcp", "udp"):
        return ProgramResult(1, _USAGE)
    ranges = machine.part(PortRanges)
    marked = dict.fromkeys(ranges.administered, "     *")
    lines = ["", f"Protocol {protocol} Port Exclusion Ranges", "", "Start Port    End Port", "----------    --------"]
    shown = set(ranges.administered)
    if values["store"] == "active":
        shown |= {(pool.first, pool.last) for pool in ranges.current().values()}
        shown |= {(port, port) for port in ranges.listening if protocol == "tcp"}
    lines += [f"{first:10d}  {last:10d}{marked.get((first, last), '')}".ljust(29) for first, last in sorted(shown)]
    lines += ["", "* - Administered port exclusions.", ""]
    return ProgramResult(0, "".join(f"{line}\r\n" for line in lines))


def dynamic(machine: Machine, protocol: str) -> tuple[int, int]:
    """Return the first port and the number of ports of the dynamic range for a protocol."""
    return machine.part(PortRanges).dynamic.get(protocol, (FIRST, LAST - FIRST + 1))


def _named(words: Sequence[str], names: Sequence[str]) -> dict[str, str] | None:
    """Return the values of netsh parameters given by name or by position, or None if a parameter is invalid."""
    found: dict[str, str] = {}
    for word in words:
        key, equals, value = word.casefold().partition("=")
        free = [name for name in names if name not in found]
        if equals:
            known = [name for name in names if name.startswith(key)]
            if len(known) != 1 or known[0] in found:
                return None
            found[known[0]] = value
        elif free:
            found[free[0]] = key
        else:
            return None
    return found


def set_dynamic(machine: Machine, words: Sequence[str]) -> ProgramResult:
    """Simulate `netsh interface ipv4 set dynamicportrange [protocol=]tcp|udp [startport=]N [numberofports=]N …`.

    Microsoft's documentation says: "The minimum range of ports that can be set is 255. The minimum start port that can
    be set is 1025. The maximum end port (based on the range being configured) cannot exceed 65535."
    """
    found = _named(words, ("protocol", "startport", "numberofports", "store"))
    if found is None or found.get("protocol") not in ("tcp", "udp") or found.get("store", "persistent") not in _STORES:
        return ProgramResult(1, _USAGE_SET_DYNAMIC)
    if not all(found.get(name, "").isdigit() for name in ("startport", "numberofports")):
        return ProgramResult(1, _USAGE_SET_DYNAMIC)
    first, number = int(found["startport"]), int(found["numberofports"])
    if first < 1025 or number < 255 or first + number - 1 > LAST:
        return ProgramResult(1, "The parameter is incorrect.\r\n\r\n")
    machine.part(PortRanges).dynamic[found["protocol"]] = (first, number)
    return ProgramResult(0, "Ok.\r\n\r\n")


def show_dynamic(machine: Machine, words: Sequence[str]) -> ProgramResult:
    """Simulate netsh interface ipv4 show dynamicportrange [protocol=]tcp|udp."""
    found = _named(words, ("protocol", "store"))
    if found is None or found.get("protocol") not in ("tcp", "udp"):
        return ProgramResult(1, _USAGE_SHOW_DYNAMIC)
    first, number = dynamic(machine, found["protocol"])
    title = f"Protocol {found['protocol']} Dynamic Port Range"
    lines = ["", title, "-" * len(title.rstrip()), f"Start Port      : {first}", f"Number of Ports : {number}", ""]
    return ProgramResult(0, "".join(f"{line}\r\n" for line in lines))
