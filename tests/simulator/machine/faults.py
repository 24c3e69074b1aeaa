# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Faults of the machine itself, for POST /simulator/faults.

The transport implements faults of the connection, and families add further kinds (`FAULTS`).

{"kind": "reboot"}                                      the machine reboots
{"kind": "power", "action": "off|start|reset"}          the machine is switched off, switched on, or reset
{"kind": "disk_full", "free": BYTES}                    only this many bytes are free; null ends the fault
{"kind": "password_expired", "value": true}             the administrator's password has expired
{"kind": "service_hangs", "name": NAME, "value": true}  the service does not start (error 1053)
{"kind": "service_crash", "name": NAME}                 the process of the service ends
{"kind": "clock", "offset": SECONDS}                    the machine's clock is ahead (negative: behind)
{"kind": "slow_imports", "seconds": N, "modules": [NAME, ...]}  importing these modules takes N simulated seconds
{"kind": "language", "value": "de-DE"}                  Windows' programs print German text in the OEM code page
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from simulator.machine.language import set_language
from simulator.machine.machine import Machine
from simulator.machine.module_imports import set_cold
from simulator.machine.service_errors import ServiceError
from simulator.machine.service_parts import HungServices


@dataclass
class Accounts:
    """The state of the administrator's account: whether its password has expired."""

    expired: bool = False


@dataclass
class Disk:
    """The state of the `disk_full` fault: the number of bytes by which it reduces the disk's free space."""

    taken: int = 0


def set_fault(machine: Machine, fault: Mapping[str, object]) -> Callable[[], None] | None:
    """Inject a fault, and return an action to run after the response, or None if nothing remains to do.

    Raises:
        ValueError: the kind is unknown, or one of the fault's values is invalid.
    """
    kind = str(fault["kind"])
    if kind == "reboot":
        return lambda: machine.power.reboot()
    if kind == "power":
        actions = {"off": machine.power.power_off, "start": machine.power_on, "reset": machine.power.reset}
        action = str(fault.get("action"))
        if action not in actions:
            raise ValueError(f"expected one of the actions {', '.join(actions)}, got {action}")
        return actions[action]
    if kind == "disk_full":
        _fill(machine, fault.get("free", 0))
        return None
    if kind == "password_expired":
        machine.part(Accounts).expired = bool(fault.get("value", True))
        return None
    if kind == "service_hangs":
        names, name = machine.part(HungServices).names, str(fault.get("name")).casefold()
        if fault.get("value", True):
            names.add(name)
        else:
            names.discard(name)
        return None
    if kind == "service_crash":
        name = str(fault.get("name"))
        try:
            machine.services.crash(name)
        except ServiceError as error:
            raise ValueError(f"the service {name} cannot crash: {error}") from None
        return None
    if kind == "clock":
        machine.clock.offset = _number(fault, "offset")
        return None
    if kind == "slow_imports":
        set_cold(machine, fault, _number(fault, "seconds"))
        return None
    if kind == "language":
        set_language(machine, str(fault.get("value")))
        return None
    handler = machine.families.faults.get(kind)
    if handler is None:
        raise ValueError(f"unknown fault kind: {kind}")
    handler(machine, fault)
    return None


def _number(fault: Mapping[str, object], name: str, default: float = 0.0) -> float:
    value = fault.get(name, default)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ValueError(f"expected a number for the {name} key of the fault, got {value!r}")
    return float(value)


def _fill(machine: Machine, free: object) -> None:
    disk = machine.part(Disk)
    machine.files.reserved -= disk.taken
    disk.taken = 0
    if isinstance(free, int) and not isinstance(free, bool):
        disk.taken = max(0, machine.files.free_space() - free)
        machine.files.reserved += disk.taken
