# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Choose the services that a batch restarts because of its changes, and build the calls that restart them (no I/O)."""

from __future__ import annotations

import dataclasses
import typing as t

from ..wire.calls import action, query
from ..wire.messages import Call, Input
from ..wire.scopes import Scope
from .planned import Planned

RESTART = Scope("restart.")


def restarts_of(planned: Planned, changes: t.Sequence[Planned]) -> list[str]:
    """Return the services to restart for a change, except services that a later change of the batch starts."""
    started = _started(other for other in changes if other.position > planned.position)
    return [name for name in planned.resource.restarts if name.lower() not in started]


def started_before(changes: t.Sequence[Planned]) -> set[str]:
    """Return the lowercase names of services that one change starts and that must restart because of a later change."""
    return {
        name.lower()
        for planned in changes
        for name in planned.resource.restarts
        if name.lower() in _started(other for other in changes if other.position < planned.position)
    }


def restart_calls(services: t.Sequence[str], started: t.Collection[str] = ()) -> tuple[list[Call], list[Call]]:
    """Return two lists of calls: one to add at the start of a batch, and one to add at its end.

    The calls at the end restart those services that were running at the start and are still running.

    Args:
        services: names of the services.
        started: names, in lower case, of services that the batch itself starts and that must restart because of a later
            change of the batch (see `started_before`). They restart even if they were not running before the batch.
    """
    before: list[Call] = []
    after: list[Call] = []
    for number, name in enumerate(services):
        was, still = RESTART.id(f"{number}.was"), RESTART.id(f"{number}.still")
        running = {"Status": "Running"}
        get = query(was, "Get-Service", {"Name": name}, select=("Name", "Status"))
        by_name = Input(calls=(was,), where=running, parameter="Name", property="Name")
        if name.lower() in started:
            after.append(dataclasses.replace(get, id=still))
        else:
            before.append(get)
            after.append(dataclasses.replace(get, id=still, parameters={}, input=by_name))
        after.append(
            action(
                RESTART.id(f"{number}.restart"),
                "Restart-Service",
                {"Force": True},
                input=dataclasses.replace(by_name, calls=(still,)),
                select=None,
            )
        )
    return before, after


def started_later(calls: t.Sequence[Call], changes: t.Sequence[Planned]) -> list[Call]:
    """Return a batch's calls, altered to ignore a failed start of a service that a later change redefines and restarts.

    For example, one change replaces the kubelet's program and starts the kubelet, and a later change sets the kubelet's
    new command line. Until then, the new kubelet does not start if it does not support a flag of the old command line.
    """
    again = {
        effect.service.lower(): planned.position
        for planned in changes
        if (effect := planned.change.service) is not None and effect.effect == "restarts"
    }
    lenient = {
        planned.scope.id(interruption.start)
        for planned in changes
        for interruption in planned.change.interruptions
        if interruption.start and again.get(interruption.service.lower(), -1) > planned.position
    }
    return [dataclasses.replace(call, on_error="continue", retries=0) if call.id in lenient else call for call in calls]


def _started(changes: t.Iterable[Planned]) -> set[str]:
    """Return the lowercase names of the services that changes start or restart."""
    return {
        effect.service.lower()
        for planned in changes
        if (effect := planned.change.service) is not None and effect.effect != "stops"
    }


def unique(names: t.Iterable[str]) -> list[str]:
    """Return the names in their original order, without duplicates. Names that differ only in case are duplicates."""
    seen: dict[str, str] = {}
    for name in names:
        seen.setdefault(name.lower(), name)
    return list(seen.values())
