# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A guard that waits on the node for a CNI's first network, and then restores lost static addresses (no I/O).

The first external HNS network turns a physical adapter into a virtual switch and may reset it to DHCP
(microsoft/SDN#498), which makes the node unreachable. A pod or service creates the network some time after the node has
joined. So a detached batch stays on the node, waits for the switch, and restores lost settings. The batch waits for a
switch on any adapter, because perhaps only one adapter gets a switch. It then compares the settings of all adapters.
"""

from __future__ import annotations

import dataclasses
import json
import typing as t

from ...windows.node_paths import PROGRAM_DATA
from ...windows.sddl import ADMINISTRATORS_ONLY_FILE
from ...wire.calls import action, query
from ...wire.messages import Call, CallResult, Json
from ...wire.scopes import Scope
from ..facts import uplink as adapters
from ..facts.uplink import Uplink

NOTE = f"{PROGRAM_DATA}\\hns\\uplink.json"
"""File with the adapters' settings and the guard's idempotency key. Later runs and administrators can read it."""
_BETWEEN = 3.0
"""Seconds between two checks of whether the virtual switch exists."""
_TURNS = (Scope("first."), Scope("second."))
"""Id prefixes of the calls that compare the adapters' settings for the first and the second time. The number of the
network adapter follows in the id."""
_COMPARISON = 120
"""Maximum time to compare and restore one adapter's settings, in seconds, including the time limits of all waits."""


def calls(uplinks: t.Sequence[Uplink], key: str, *, network_timeout: int, settle: float) -> tuple[Call, ...]:
    """Return the guard's calls: record the adapters' settings, wait for a virtual switch, compare the settings twice.

    Args:
        uplinks: the adapters' current settings.
        key: the batch's idempotency key, by which a later run finds the batch.
        network_timeout: time limit for a network to appear, in seconds; the settings are compared even if none appears.
        settle: seconds until the second comparison, because settings may be lost shortly after the switch appears.
    """
    content = json.dumps(to_json(uplinks, key))
    note = action(
        "note",
        "@write-file",
        {"path": NOTE, "content": content, "sddl": ADMINISTRATORS_ONLY_FILE},
        long=True,
        select=None,
    )
    mine = query(
        "mine", "@read-file", {"paths": [NOTE], "content": True}, select=(), until={"content": content}, always=True
    )
    comparisons: list[Call] = []
    for turn in _TURNS:
        if comparisons:
            comparisons.append(_pause("settle", settle))
        for number, one in enumerate(uplinks):
            comparisons += adapters.restore_calls(one, turn.inner(str(number)))
    # If a later guard has replaced the record, the adapters have new addresses: do not restore the old ones.
    comparisons = [dataclasses.replace(call, needs=(*call.needs, mine.id)) for call in comparisons]
    done = action(
        "note-done",
        "Remove-Item",
        {"LiteralPath": NOTE, "Force": True, "ErrorAction": "SilentlyContinue"},
        needs=tuple(_last_check(number) for number in range(len(uplinks))),
        on_error="continue",
        always=True,
    )
    return (note, _wait(uplinks, network_timeout), mine, *comparisons, done)


def time_limit(uplinks: t.Sequence[Uplink], *, network_timeout: int, settle: float) -> float:
    """Return the time limit of the guard's batch in seconds.

    If the batch is still running 600 seconds after this limit, Ansible's async watchdog kills it.
    """
    return network_timeout + settle + 120 + _COMPARISON * len(_TURNS) * len(uplinks)


def inspection_calls() -> tuple[Call, ...]:
    """Return the calls that read the adapters and the record of an earlier guard."""
    note = query("note", "@read-file", {"paths": [NOTE], "content": True})
    return (*adapters.calls(), note)


def to_json(uplinks: t.Sequence[Uplink], key: str) -> dict[str, Json]:
    """Return a guard's key and the adapters' settings as JSON data for the node's record and the module's result."""
    return {"key": key, "uplinks": [one.to_json() for one in uplinks]}


def from_json(document: t.Any) -> tuple[str, tuple[Uplink, ...]]:
    """Return a guard's key and the adapters' settings, as read from JSON data that `to_json` returned.

    Raises:
        KeyError: the document is malformed.
        TypeError: the document is malformed.
        ValueError: the document is malformed.
    """
    return str(document["key"]), tuple(Uplink.from_json(one) for one in document["uplinks"])


def noted(seen: t.Mapping[str, CallResult]) -> tuple[str, tuple[Uplink, ...]]:
    """Return the key and settings of an earlier run's guard from the results of `inspection_calls`.

    The key is empty if there is no such guard.
    """
    files = seen["note"].output if "note" in seen and seen["note"].ok else ()
    try:
        return from_json(json.loads(str(files[0].get("content") or "")) if files else {})
    except (KeyError, TypeError, ValueError):
        return "", ()


def _wait(uplinks: t.Sequence[Uplink], seconds: int) -> Call:
    """Return the call that waits for a switch's virtual adapter, which has the MAC address of a physical adapter."""
    return query(
        "switch",
        "Get-NetAdapter",
        select=("Name",),
        until={"MacAddress": [one.mac for one in uplinks], "HardwareInterface": False},
        retries=max(0, int(seconds / _BETWEEN)),
        delay=_BETWEEN,
        always=True,
    )


def _last_check(number: int) -> str:
    """Return the id of the last call that checks whether an adapter has its static address."""
    return _TURNS[-1].inner(str(number)).id("check")


def _pause(call_id: str, seconds: float) -> Call:
    return query(call_id, "Start-Sleep", {"Milliseconds": int(seconds * 1000)}, select=(), always=True)


def restored(uplinks: t.Sequence[Uplink], seen: t.Mapping[str, CallResult]) -> dict[str, str]:
    """Return a mapping from each adapter's name to a string that lists the adapter's restored settings."""
    texts: dict[str, str] = {}
    for number, one in enumerate(uplinks):
        names = [name for turn in _TURNS for name in adapters.restored(seen, turn.inner(str(number)))]
        if names:
            texts[one.alias] = ", ".join(dict.fromkeys(names))
    return texts


def replaced(seen: t.Mapping[str, CallResult]) -> bool:
    """Return whether a guard did nothing because its record was removed or replaced."""
    return "mine" in seen and not seen["mine"].ok


def failures(uplinks: t.Sequence[Uplink], seen: t.Mapping[str, CallResult]) -> tuple[str, ...]:
    """Return a message for each adapter that did not get its static address back."""
    return tuple(
        f"{one.alias} does not have its static address {one.addresses[0][0]}; "
        f"{NOTE} on the node contains its former settings"
        for number, one in enumerate(uplinks)
        if not (check := seen.get(_last_check(number))) or not check.ok
    )
