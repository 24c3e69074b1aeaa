# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""An HNS that hangs (moby/moby#40699: cmdlets never end, and Ctrl+C does nothing): POST /simulator/faults.

{"kind": "hns_hang", "until": "restart"}    every call hangs until the service restarts
{"kind": "hns_hang", "until": "reboot"}     a restart of the service does not help, only one of the machine does
{"kind": "hns_hang", "until": "reboot", "stop_fails": true}   nor does the service stop (Siemens-Healthineers/K2s#1468)
{"kind": "hns_hang", "calls": 1}            the next call hangs until the service restarts, later ones do not
{"kind": "hns_hang", …, "commands": ["Remove-HnsEndpoint"]}   only these cmdlets do (wildcards allowed)
{"kind": "hns_hang", "value": false}        it is over; what hung goes on
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from simulator.kubernetes_node.hns.objects import RPC_FAILED, HnsError
from simulator.machine.objects import ProcessEndedError
from simulator.machine.wildcards import any_match

if TYPE_CHECKING:
    from simulator.machine.machine import Machine

_LOOK = 0.05  # seconds between looks at whether it is over
UNTIL = ("restart", "reboot")


@dataclass
class Hang:
    """Whether HNS hangs.

    Args:
        until: what ends it: `restart`, `reboot`; empty: it does not hang.
        calls: how many calls it takes; None: all.
        commands: patterns of the cmdlets that hang.
        blocked: how many calls hang now.
        ended: grows when a hang is over; what hung under an older number is released.
        broken: up to this number, what hung fails: the service that it waited for is gone.
    """

    until: str = ""
    calls: int | None = None
    commands: tuple[str, ...] = ("*",)
    stop_fails: bool = False
    blocked: int = 0
    ended: int = 0
    broken: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def __deepcopy__(self, memo: dict[int, Any]) -> Hang:
        """A machine that starts from this one's disk does not hang."""
        return Hang()

    def takes(self, command: str) -> bool:
        """Return whether a call hangs, and count it."""
        with self.lock:
            if not self.until or not any_match(self.commands, command) or self.calls == 0:
                return False
            if self.calls is not None:
                self.calls -= 1
            return True

    def over(self, *, broken: bool) -> None:
        """End the hang; what hung fails if `broken`, else it goes on."""
        with self.lock:
            self.until = ""
            self.calls = None
            self.ended += 1
            if broken:
                self.broken = self.ended


def hangs(machine: Machine) -> bool:
    """Return whether HNS answers nobody (a hang of single calls or cmdlets leaves others alone)."""
    hang = machine.part(Hang)
    return bool(hang.until) and hang.calls is None and "*" in hang.commands


def wait(machine: Machine, command: str, stop: threading.Event) -> None:
    """Return once HNS answers a cmdlet. Raises HnsError if the service went away meanwhile, ProcessEndedError."""
    hang = machine.part(Hang)
    if not hang.takes(command):
        return
    mine = hang.ended
    with hang.lock:
        hang.blocked += 1
    try:
        while hang.ended == mine:
            if stop.wait(_LOOK) or machine.power.state != "on":
                raise ProcessEndedError
        if hang.broken > mine:
            raise HnsError(command.partition("-")[0], RPC_FAILED)
    finally:
        with hang.lock:
            hang.blocked -= 1


def set_fault(machine: Machine, fault: Mapping[str, object]) -> None:
    """Make HNS hang, or end it. Raises ValueError."""
    hang = machine.part(Hang)
    if fault.get("value", True) is False:
        hang.over(broken=False)
        return
    until, calls, commands = str(fault.get("until") or "restart"), fault.get("calls"), fault.get("commands") or ["*"]
    if until not in UNTIL:
        raise ValueError(f"hns_hang lasts until {' or '.join(UNTIL)}, not {until!r}")
    if calls is not None and (isinstance(calls, bool) or not isinstance(calls, int) or calls < 1):
        raise ValueError(f"calls of hns_hang must be a number above 0, not {calls!r}")
    if not isinstance(commands, list):
        raise ValueError("commands of hns_hang must be a list of cmdlets")
    with hang.lock:
        hang.until, hang.calls = until, calls
        hang.commands, hang.stop_fails = tuple(map(str, commands)), bool(fault.get("stop_fails"))


def service_may_stop(machine: Machine) -> bool:
    """Return whether the service obeys the service manager now."""
    hang = machine.part(Hang)
    return not (hang.until == "reboot" and hang.stop_fails)


def service_stopped(machine: Machine) -> None:
    """What waited for the service fails; a hang that a restart helps against is over."""
    hang = machine.part(Hang)
    kept = hang.until if hang.until == "reboot" else ""
    hang.over(broken=True)
    hang.until = kept


def machine_rebooted(machine: Machine) -> None:
    """Every hang is over."""
    machine.part(Hang).over(broken=True)


def status(machine: Machine) -> Mapping[str, object]:
    """Return what the status page says."""
    hang = machine.part(Hang)
    return {"until": hang.until, "calls": hang.calls, "commands": _list(hang.commands), "blocked": hang.blocked}


def _list(items: Iterable[str]) -> list[str]:
    return list(items)
