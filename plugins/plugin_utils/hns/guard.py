# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A guard for static addresses while a CNI makes its first network, which nobody can be asked to wait for. Pure.

Private to the collection. The first external network makes a virtual switch of the card, and may reset it to DHCP on
the way (microsoft/SDN#498): then nobody reaches the node any more. Who makes the network is a pod or a service, some
time after the node has joined. So a detached batch stays on the node, waits for the switch, and restores what is lost.
"""

from __future__ import annotations

import json
import typing as t

from ..calls import Call, CallResult
from . import uplink as cards
from .uplink import Uplink

NOTE = "C:\\ProgramData\\winkube\\hns\\uplink.json"
"""What the cards had, for whoever sits at the console."""
_SDDL = "D:PAI(A;;FA;;;SY)(A;;FA;;;BA)"
_BETWEEN = 3.0
"""Seconds between two looks for the switch."""
_TURNS = ("first", "second")


def calls(uplinks: t.Sequence[Uplink], *, network_timeout: int, settle: float) -> tuple[Call, ...]:
    """The guard's batch: what the cards have is noted, and compared when their switch is there, and once more.

    Args:
        uplinks: the cards, as they are.
        network_timeout: seconds to wait for a network.
        settle: seconds after which they are compared once more: the settings may go a moment after the switch came.
    """
    note = Call(
        id="note",
        command="@write-file",
        parameters={"path": NOTE, "content": json.dumps([one.to_json() for one in uplinks]), "sddl": _SDDL},
        long=True,
    )
    waits = [_wait(f"switch.{number}", one, network_timeout) for number, one in enumerate(uplinks)]
    comparisons: list[Call] = []
    for turn in _TURNS:
        if comparisons:
            comparisons.append(_pause("settle", settle))
        for number, one in enumerate(uplinks):
            comparisons += cards.restore_calls(one, f"{turn}.{number}.")
    done = Call(
        id="note-done",
        command="Remove-Item",
        parameters={"LiteralPath": NOTE, "Force": True, "ErrorAction": "SilentlyContinue"},
        select=(),
        needs=tuple(f"second.{number}.check" for number in range(len(uplinks))),
        on_error="continue",
        always=True,
    )
    return (note, *waits, *comparisons, done)


def _wait(call_id: str, uplink: Uplink, seconds: int) -> Call:
    """Waits for the virtual adapter that stands for a card which a switch holds: it has the card's MAC address."""
    return Call(
        id=call_id,
        command="Get-NetAdapter",
        select=("Name",),
        until={"MacAddress": uplink.mac, "HardwareInterface": False},
        retries=max(0, int(seconds / _BETWEEN)),
        delay=_BETWEEN,
        on_error="continue",
        always=True,
    )


def _pause(call_id: str, seconds: float) -> Call:
    return Call(
        id=call_id,
        command="Start-Sleep",
        parameters={"Milliseconds": int(seconds * 1000)},
        select=(),
        on_error="continue",
        always=True,
    )


def restored(uplinks: t.Sequence[Uplink], seen: t.Mapping[str, CallResult]) -> dict[str, str]:
    """What had to be given back, for people, by name of the card."""
    found: dict[str, str] = {}
    for number, one in enumerate(uplinks):
        names = [name for turn in _TURNS for name in cards.restored(seen, f"{turn}.{number}.")]
        if names:
            found[one.alias] = ", ".join(dict.fromkeys(names))
    return found


def failures(uplinks: t.Sequence[Uplink], seen: t.Mapping[str, CallResult]) -> tuple[str, ...]:
    """What could not be given back, for people."""
    return tuple(
        f"{one.alias} does not have its static address {one.addresses[0][0]}; {NOTE} on the node says what it had"
        for number, one in enumerate(uplinks)
        if not (check := seen.get(f"second.{number}.check")) or not check.ok
    )
