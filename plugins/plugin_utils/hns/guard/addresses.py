# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A guard for static addresses while a CNI makes its first network, which nobody can be asked to wait for. Pure.

The first external network makes a virtual switch of the card, and may reset it to DHCP on
the way (microsoft/SDN#498): then nobody reaches the node any more. Who makes the network is a pod or a service, some
time after the node has joined. So a detached batch stays on the node, waits for the switch, and restores what is lost.
One switch is waited for, whichever card it takes, and then all cards are compared: others may never get one.
"""

from __future__ import annotations

import dataclasses
import json
import typing as t

from ...wire.messages import Call, CallResult, Json
from ..facts import uplink as cards
from ..facts.uplink import Uplink

NOTE = "C:\\ProgramData\\winkube\\hns\\uplink.json"
"""What the cards had, for whoever sits at the console."""
_SDDL = "D:PAI(A;;FA;;;SY)(A;;FA;;;BA)"
_BETWEEN = 3.0
"""Seconds between two looks for the switch."""
_TURNS = ("first", "second")
_COMPARISON = 120
"""Seconds that one comparison of a card takes where it finds nothing: neither the card, an interface nor an address."""


def calls(uplinks: t.Sequence[Uplink], key: str, *, network_timeout: int, settle: float) -> tuple[Call, ...]:
    """The guard's batch: what the cards have is noted, and compared when a switch is there, and once more.

    Args:
        uplinks: the cards, as they are.
        key: the batch's idempotency key, by which a later run finds it.
        network_timeout: seconds to wait for a network.
        settle: seconds after which they are compared once more: the settings may go a moment after the switch came.
    """
    content = json.dumps(to_json(uplinks, key))
    note = Call(
        id="note",
        command="@write-file",
        parameters={"path": NOTE, "content": content, "sddl": _SDDL},
        long=True,
    )
    mine = Call(
        id="mine",
        command="@read-file",
        parameters={"paths": [NOTE], "content": True},
        select=(),
        until={"content": content},
        on_error="continue",
        always=True,
    )
    comparisons: list[Call] = []
    for turn in _TURNS:
        if comparisons:
            comparisons.append(_pause("settle", settle))
        for number, one in enumerate(uplinks):
            comparisons += cards.restore_calls(one, f"{turn}.{number}.")
    # A later guard has replaced the note, since the cards have got other addresses: these must not come back.
    comparisons = [dataclasses.replace(call, needs=(*call.needs, mine.id)) for call in comparisons]
    done = Call(
        id="note-done",
        command="Remove-Item",
        parameters={"LiteralPath": NOTE, "Force": True, "ErrorAction": "SilentlyContinue"},
        select=(),
        needs=tuple(f"second.{number}.check" for number in range(len(uplinks))),
        on_error="continue",
        always=True,
    )
    return (note, _wait(uplinks, network_timeout), mine, *comparisons, done)


def seconds(uplinks: t.Sequence[Uplink], *, network_timeout: int, settle: float) -> float:
    """How long the batch may take: no longer than the node's watchdog lets it."""
    return network_timeout + settle + 120 + _COMPARISON * len(_TURNS) * len(uplinks)


def look() -> tuple[Call, ...]:
    """Asks for the cards, and for the note of an earlier guard."""
    note = Call(id="note", command="@read-file", parameters={"paths": [NOTE], "content": True}, on_error="continue")
    return (*cards.calls(), note)


def to_json(uplinks: t.Sequence[Uplink], key: str) -> dict[str, Json]:
    """A guard as it is noted on the node, and as the module returns it."""
    return {"key": key, "uplinks": [one.to_json() for one in uplinks]}


def from_json(document: t.Any) -> tuple[str, tuple[Uplink, ...]]:
    """Reads what `to_json` gave: key and cards.

    Raises:
        KeyError, TypeError, ValueError: it is none.
    """
    return str(document["key"]), tuple(Uplink.from_json(one) for one in document["uplinks"])


def noted(seen: t.Mapping[str, CallResult]) -> tuple[str, tuple[Uplink, ...]]:
    """The guard that an earlier run left on the node, from the answers to `look`; without a key where there is none."""
    files = seen["note"].output if "note" in seen and seen["note"].ok else ()
    try:
        return from_json(json.loads(str(files[0].get("content") or "")) if files else {})
    except (KeyError, TypeError, ValueError):
        return "", ()


def _wait(uplinks: t.Sequence[Uplink], seconds: int) -> Call:
    """Waits for a virtual adapter that stands for a card which a switch holds: it has the MAC address of one."""
    return Call(
        id="switch",
        command="Get-NetAdapter",
        select=("Name",),
        until={"MacAddress": [one.mac for one in uplinks], "HardwareInterface": False},
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


def replaced(seen: t.Mapping[str, CallResult]) -> bool:
    """Whether a guard has done nothing, because its note was no longer there, or another's."""
    return "mine" in seen and not seen["mine"].ok


def failures(uplinks: t.Sequence[Uplink], seen: t.Mapping[str, CallResult]) -> tuple[str, ...]:
    """What could not be given back, for people."""
    return tuple(
        f"{one.alias} does not have its static address {one.addresses[0][0]}; {NOTE} on the node says what it had"
        for number, one in enumerate(uplinks)
        if not (check := seen.get(f"second.{number}.check")) or not check.ok
    )
