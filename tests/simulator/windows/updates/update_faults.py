# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Faults of updates, such as a failing installation.

A test lists faults in a node's `update_faults` setting, or injects a single fault with POST /simulator/faults:

{"kind": "update_fails", "kb": KB | "*", "hresult": "0x800f0922", "at": "download" | "install" | "boot", "times": 1}
{"kind": "update_slow", "kb": KB | "*", "seconds": 600}   simulated seconds, scaled by time_scale
{"kind": "update_cut", "kb": KB | "*", "at": "install" | "boot", "action": "power_off" | "power_reset" | "link",
 "seconds": 2}   once, during the operation; "seconds" is the real time without a link
{"kind": "update_reboot_loop", "kb": KB | "*", "boots": 2}   the machine reboots by itself this many times
{"kind": "update_faults_clear"}

With null as `times` or `boots`, the fault lasts until it is cleared. `update_slow` always lasts until then.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from simulator.machine.machine import Machine

FAILED = 0x800F0922
_KEYS = {
    "update_fails": {"kb", "hresult", "at", "times"},
    "update_slow": {"kb", "seconds"},
    "update_cut": {"kb", "at", "action", "seconds"},
    "update_reboot_loop": {"kb", "boots"},
}
_ACTIONS = ("power_off", "power_reset", "link")
_PHASES = ("download", "install", "boot")


@dataclass
class UpdateFault:
    """A fault of an update. `left` is the number of times that it will still occur; None for no limit."""

    kind: str
    kb: str = "*"
    at: str = "install"
    hresult: int = FAILED
    action: str = "power_reset"
    seconds: float = 2.0
    left: int | None = 1


@dataclass
class UpdateFaults:
    """The update faults of one machine. The first access reads the faults from the machine's settings."""

    waiting: list[UpdateFault] = field(default_factory=list)
    filled: bool = False


def faults_of(machine: Machine) -> UpdateFaults:
    """Return the machine's update faults. Raise ValueError if `update_faults` in the fleet file is invalid."""
    found = machine.part(UpdateFaults)
    if not found.filled:
        found.filled = True
        configured = machine.settings.option("update_faults", [])
        if not isinstance(configured, list):
            raise ValueError(f"expected a list for the node setting update_faults, got {configured!r}")
        found.waiting += [read(document) for document in configured]
    return found


def read(document: Mapping[str, Any]) -> UpdateFault:
    """Read an update fault from JSON data.

    Raises:
        ValueError: the data is invalid.
    """
    kind = str(document.get("kind"))
    if kind not in _KEYS:
        raise ValueError(f"expected one of the fault kinds {', '.join(_KEYS)}, got {kind}")
    if unknown := document.keys() - _KEYS[kind] - {"kind"}:
        raise ValueError(
            f"{kind}: expected only the keys {', '.join(sorted(_KEYS[kind]))}, got {', '.join(sorted(unknown))}"
        )
    at, action = str(document.get("at", "install")), str(document.get("action", "power_reset"))
    phases = [phase for phase in _PHASES if kind != "update_cut" or phase != "download"]
    if at not in phases:
        raise ValueError(f"{kind}: expected one of {', '.join(phases)} for the key `at`, got {at}")
    if action not in _ACTIONS:
        raise ValueError(f"{kind}: expected one of {', '.join(_ACTIONS)} for the key `action`, got {action}")
    count = document.get("times", 1) if kind == "update_fails" else document.get("boots", 1)
    left = None if kind == "update_slow" or count is None else int(count)
    return UpdateFault(
        kind,
        str(document.get("kb", "*")),
        at,
        _hresult(document.get("hresult", FAILED)),
        action,
        float(document.get("seconds", 2)),
        left,
    )


def _hresult(value: object) -> int:
    if isinstance(value, int):
        return value & 0xFFFFFFFF
    if re.fullmatch(r"0[xX][0-9A-Fa-f]{8}", str(value)) is None:
        raise ValueError(f"expected an HRESULT such as 0x800f0922, got {value!r}")
    return int(str(value), 16)


def take(machine: Machine, kind: str, kb: str, at: str = "") -> UpdateFault | None:
    """Return the first fault that affects an update now, or None if there is none. This uses up one occurrence."""
    waiting = faults_of(machine).waiting
    for fault in waiting:
        if fault.kind != kind or fault.kb not in ("*", kb) or (at and fault.at != at):
            continue
        if fault.left is not None:
            fault.left -= 1
            if fault.left <= 0:
                waiting.remove(fault)
        return fault
    return None


def strike(machine: Machine, fault: UpdateFault) -> None:
    """Cut the machine's power or network link. A separate thread cuts the power, so the caller need not wait."""
    if fault.action == "link":
        machine.network.drop_link(fault.seconds)
        return
    work: Callable[[], None] = machine.power.power_off if fault.action == "power_off" else machine.power.reset
    threading.Thread(target=work, name="power-cut", daemon=True).start()


def _set(machine: Machine, document: Mapping[str, object]) -> None:
    faults_of(machine).waiting.append(read(document))


def _clear(machine: Machine, document: Mapping[str, object]) -> None:
    faults_of(machine).waiting.clear()


FAULTS = {**dict.fromkeys(_KEYS, _set), "update_faults_clear": _clear}
