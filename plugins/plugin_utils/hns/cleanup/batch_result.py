# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Evaluate the results of a cleanup's calls: what was removed, what is left and what failed (no I/O)."""

from __future__ import annotations

import dataclasses
import typing as t

from ...wire.messages import CallResult, Observation
from ..facts import services
from ..facts import uplink as hns_uplink
from ..facts.node_facts import hang
from ..facts.objects import REMOVE
from .batch import CONTAINERS, KILLS, ROUTES, UPLINK, UPLINK_AGAIN, removals_of
from .plan import CleanupPlan, Removal

KINDS = {
    "HnsPolicyList": "policies",
    "HnsEndpoint": "endpoints",
    "HnsNamespace": "namespaces",
    "HnsNetwork": "networks",
}
"""Maps each type of HNS object to a short name, which is part of the ids of the calls that list and remove objects of
this type."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class BatchResult:
    """The result of a cleanup's batch: what was removed, what is left and what failed."""

    items: tuple[Removal, ...] = ()
    """Removed objects."""
    left: tuple[Removal, ...] = ()
    """Objects that should have been removed but still exist."""
    failures: tuple[str, ...] = ()
    """Messages about failures, each with the object and the reason."""
    warnings: tuple[str, ...] = ()
    restored: tuple[str, ...] = ()
    """Restored settings of adapters, such as `Ethernet: address.0, dns`."""
    started: tuple[str, ...] = ()
    """Services that the batch started successfully."""
    hang: str = ""
    """The HNS call that exceeded its time limit, or an empty string if none did."""
    aborted: bool = False
    """Whether a cmdlet gave up at one object before it had tried the remaining objects."""
    seconds: t.Mapping[str, float] = dataclasses.field(default_factory=dict)
    """Maps each object type to the duration of the removal of its objects, in seconds."""


def read_done(plan: CleanupPlan, observation: Observation) -> BatchResult:
    """Return the result of a cleanup's batch: which of the plan's removals succeeded, and what failed."""
    seen = observation.calls
    items: list[Removal] = []
    left: list[Removal] = []
    listed = {kind: _ids(seen.get(f"{kind}-after")) for kind in KINDS.values()}
    for item in plan.items:
        (items if _gone(item, seen, listed) else left).append(item)
    return BatchResult(
        items=tuple(items),
        left=tuple(left),
        failures=tuple(_failures(plan, observation, left)),
        warnings=tuple(_warnings(seen)),
        restored=tuple(
            f"{uplink.alias}: {', '.join(settings)}"
            for number, uplink in enumerate(plan.uplinks)
            for scope in (UPLINK, UPLINK_AGAIN)
            if (settings := hns_uplink.restored(seen, scope.inner(str(number))))
        ),
        started=tuple(
            name for name in plan.start if services.START.id(name) in seen and seen[services.START.id(name)].ok
        ),
        hang=hang(seen),
        aborted=any(
            not seen[name].ok and any(KINDS.get(item.type) == kind for item in left)
            for kind in KINDS.values()
            if (name := REMOVE.id(kind)) in seen
        ),
        seconds={
            name: round(sum(result.seconds for result in removals_of(kind).results(seen).values()), 3)
            for name, kind in KINDS.items()
        },
    )


def _ids(result: CallResult | None) -> frozenset[str] | None:
    """Return the ids in a final listing, or None if there is no such listing."""
    if result is None or not result.ok or result.skipped:
        return None
    return frozenset(str(one["ID"]).upper() for one in result.output)


def _gone(item: Removal, seen: t.Mapping[str, CallResult], listed: t.Mapping[str, frozenset[str] | None]) -> bool:
    if item.type in KINDS:
        remaining = listed[KINDS[item.type]]
        return remaining is not None and item.id not in remaining
    if item.type == "File":
        after = seen.get("files-after")
        files = {str(one["path"]): bool(one["exists"]) for one in after.output} if after is not None else {}
        return not files.get(item.id, True)
    results = (ROUTES if item.type == "Route" else CONTAINERS).results(seen)
    return bool(results) and all(result.ok for result in results.values())


def _failures(plan: CleanupPlan, observation: Observation, left: t.Sequence[Removal]) -> t.Iterator[str]:
    seen = observation.calls
    if observation.stopped is not None:
        result = seen.get(observation.stopped.id)
        error = result.error if result is not None else None
        yield f"{observation.stopped.id}: {error or observation.stopped.reason}"
    untouched = 0
    for item in left:
        if item.type in KINDS and not removals_of(KINDS[item.type]).results(seen):
            untouched += 1
        elif item.type in KINDS or item.type == "File":
            yield f"{item.type} {item.name} ({item.id}) is still there{_reason(item, seen)}"
    if untouched:
        yield f"HNS objects that the cleanup did not reach: {untouched}"
    for name in plan.start:
        result = seen.get(services.START.id(name))
        if result is not None and not result.ok:
            yield f"service {name} did not start: {result.error or result.skipped}"
    for number, uplink in enumerate(plan.uplinks):
        check = seen.get(UPLINK.inner(str(number)).id("check"))
        if check is not None and not check.ok:
            yield f"{uplink.alias} does not have its static address {uplink.addresses[0][0]}"


def _reason(item: Removal, seen: t.Mapping[str, CallResult]) -> str:
    """Return the errors of the calls that remove objects of an item's kind, or an empty string if there are none.

    The errors may also concern other objects of this kind.
    """
    kind = KINDS.get(item.type, "files")
    errors: list[str] = []
    for name, result in seen.items():
        if name == kind or name in map(REMOVE.id, (kind, f"{kind}-again", f"{kind}.{item.id}")):
            errors += [*result.warnings, *([str(result.error)] if result.error is not None else [])]
    return f": {'; '.join(dict.fromkeys(errors))}" if errors else ""


def _warnings(seen: t.Mapping[str, CallResult]) -> t.Iterator[str]:
    pools = seen.get("port-pools")
    if pools is not None and not pools.ok:
        yield "HNS still reserves ports of removed networks; it will release them later"
    for name, result in seen.items():
        if result.error is not None and any(name in scope for scope in (CONTAINERS, ROUTES, KILLS)):
            output = (result.stderr or result.stdout).strip()[-500:]
            yield f"{name}: {output or result.error}"
