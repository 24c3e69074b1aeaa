# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The fault `hns_hang`: HNS cmdlets never return, and Ctrl+C has no effect (moby/moby#40699).

POST /simulator/faults sets this fault:

{"kind": "hns_hang", "until": "restart"}    every call hangs until the service restarts
{"kind": "hns_hang", "until": "reboot"}     only a reboot helps, not a restart of the service
{"kind": "hns_hang", "until": "reboot", "stop_fails": true}   the service cannot stop (Siemens-Healthineers/K2s#1468)
{"kind": "hns_hang", "calls": 1}            only the next call hangs until the service restarts
{"kind": "hns_hang", …, "commands": ["Remove-HnsEndpoint"]}   only these cmdlets hang (wildcards allowed)
{"kind": "hns_hang", "value": false}        ends the hang; calls that hung continue
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

_INTERVAL = 0.05  # seconds between two checks for the end of the hang
UNTIL = ("restart", "reboot")


@dataclass
class Hang:
    """The state of the fault `hns_hang`.

    Args:
        until: the event that ends the hang (`restart` or `reboot`); empty if HNS does not hang.
        calls: the number of further calls that will hang; None if all calls hang.
        commands: patterns of the cmdlets that hang.
        stop_fails: whether the service cannot stop while HNS hangs.
        blocked: the number of calls that currently hang.
        ended: the number of hangs that have ended. A hanging call stops waiting when this number increases.
        broken: the value of `ended` after the last hang that ended because the hns service ended or the machine
            rebooted. The calls that were hanging at that time fail.
        lock: the lock that protects these values.
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
        """Return an inactive fault. HNS does not hang on a machine that starts from a copy of this machine's disk."""
        return Hang()

    def takes(self, command: str) -> bool:
        """Return whether a cmdlet call hangs. If it does and the number of hanging calls is limited, count it."""
        with self.lock:
            if not self.until or not any_match(self.commands, command) or self.calls == 0:
                return False
            if self.calls is not None:
                self.calls -= 1
            return True

    def over(self, *, broken: bool) -> None:
        """End the hang. Hanging calls fail if `broken` is set; otherwise they continue."""
        with self.lock:
            self.until = ""
            self.calls = None
            self.ended += 1
            if broken:
                self.broken = self.ended


def hangs(machine: Machine) -> bool:
    """Return whether every call of every cmdlet hangs."""
    hang = machine.part(Hang)
    return bool(hang.until) and hang.calls is None and "*" in hang.commands


def wait(machine: Machine, command: str, stop: threading.Event) -> None:
    """Wait until HNS responds to a cmdlet.

    Raises:
        HnsError: the hns service ends before HNS responds.
        ProcessEndedError: the cmdlet's process must end.
    """
    hang = machine.part(Hang)
    if not hang.takes(command):
        return
    mine = hang.ended
    with hang.lock:
        hang.blocked += 1
    try:
        while hang.ended == mine:
            if stop.wait(_INTERVAL) or machine.power.state != "on":
                raise ProcessEndedError
        if hang.broken > mine:
            raise HnsError(command.partition("-")[0], RPC_FAILED)
    finally:
        with hang.lock:
            hang.blocked -= 1


def set_fault(machine: Machine, fault: Mapping[str, object]) -> None:
    """Start or end an HNS hang.

    Raises:
        ValueError: the fault is invalid.
    """
    hang = machine.part(Hang)
    if fault.get("value", True) is False:
        hang.over(broken=False)
        return
    until, calls, commands = str(fault.get("until") or "restart"), fault.get("calls"), fault.get("commands") or ["*"]
    if until not in UNTIL:
        raise ValueError(f"expected {' or '.join(UNTIL)} for `until` of hns_hang, got {until!r}")
    if calls is not None and (isinstance(calls, bool) or not isinstance(calls, int) or calls < 1):
        raise ValueError(f"expected a number above 0 for `calls` of hns_hang, got {calls!r}")
    if not isinstance(commands, list):
        raise ValueError(f"expected a list of cmdlets for `commands` of hns_hang, got {commands!r}")
    with hang.lock:
        hang.until, hang.calls = until, calls
        hang.commands, hang.stop_fails = tuple(map(str, commands)), bool(fault.get("stop_fails"))


def service_may_stop(machine: Machine) -> bool:
    """Return whether the hns service responds to a stop request from the service control manager."""
    hang = machine.part(Hang)
    return not (hang.until == "reboot" and hang.stop_fails)


def service_stopped(machine: Machine) -> None:
    """Fail all waiting HNS calls, and end a hang that lasts until a service restart."""
    hang = machine.part(Hang)
    kept = (hang.until, hang.calls) if hang.until == "reboot" else ("", None)
    hang.over(broken=True)
    hang.until, hang.calls = kept


def machine_rebooted(machine: Machine) -> None:
    """End every hang of HNS, because the machine has rebooted."""
    machine.part(Hang).over(broken=True)


def status(machine: Machine) -> Mapping[str, object]:
    """Return the state of the fault `hns_hang` for the simulator's status page."""
    hang = machine.part(Hang)
    return {"until": hang.until, "calls": hang.calls, "commands": _list(hang.commands), "blocked": hang.blocked}


def _list(items: Iterable[str]) -> list[str]:
    return list(items)
