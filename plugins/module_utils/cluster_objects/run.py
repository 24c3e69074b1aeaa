# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Apply a set of Kubernetes objects, and delete objects that are no longer in the set.

Nothing is changed before all checks have passed. The API server computes the new state of each object in a dry run, and
a conflict with another field manager ends the run. The only objects that are not checked are those in a namespace that
the run itself creates. A ConfigMap records which objects belong to the set. It is written before new objects are
created, so every created object is recorded even if the run is interrupted.
"""

from __future__ import annotations

import dataclasses
import typing as t

from ..api_error import ApiError
from . import inventory
from .changes import comparable, conflict, is_applied_by_others, shown, without_labels
from .inventory import Recorded
from .kinds import Object, Reference, reference

CREATED, CHANGED, UNCHANGED, REMOVED = "created", "changed", "unchanged", "removed"
KEPT, GONE = "kept", "gone"
_PERMANENT = "Namespace"
"""Kind of objects that are never deleted. A namespace may contain objects of other programs."""


class ObjectsApi(t.Protocol):
    """The API requests of a run. Every method raises ApiError if its request fails."""

    manager: str
    """Name of the field manager that applies the objects."""

    def knows(self, api_version: str) -> bool:
        """Return whether the API server serves a version of an API group, such as `apps/v1`."""

    def read(self, of: Reference) -> Object | None:
        """Return an object, or None if it does not exist."""

    def apply(self, of: Reference, item: t.Mapping[str, t.Any], *, dry_run: bool) -> Object:
        """Apply an object, and return the resulting object."""

    def remove_label(self, of: Reference, label: str) -> None:
        """Remove a label from an object, and change nothing else."""

    def delete(self, of: Reference, uid: str) -> bool:
        """Delete an object if it still has the given UID, and return whether it existed."""


class ObjectSetError(Exception):
    """The set of objects cannot be applied. Nothing was changed in the cluster."""


@dataclasses.dataclass(frozen=True)
class PlannedObject:
    """What a run will do with one object."""

    of: Reference
    item: t.Mapping[str, t.Any]
    """The object with the fields to apply."""
    action: str
    before: Object | None = None
    after: Object | None = None
    adopted: bool = False

    def to_result(self) -> dict[str, t.Any]:
        """Return the entry for the object in the module's result."""
        return {**self.of._asdict(), "action": self.action}

    def to_diff(self) -> dict[str, str]:
        """Return the object before and after the run, in the form that Ansible expects for `--diff`."""
        header = str(self.of)
        return {
            "before_header": header,
            "after_header": header,
            "before": shown(self.before),
            "after": "" if self.action == REMOVED else shown(self.after),
        }


class ObjectSet:
    """A set of Kubernetes objects that is recorded in a ConfigMap of the cluster.

    Args:
        api: sends the API requests.
        record: the ConfigMap that records which objects belong to the set.
        label: name of the label that all objects of the set have.
    """

    def __init__(self, api: ObjectsApi, record: Reference, label: str) -> None:
        self._api, self._record, self._label = api, record, label

    def plan(self, items: t.Iterable[t.Mapping[str, t.Any]]) -> list[PlannedObject]:
        """Return the plan of a run: first the objects of the set, then the objects that are no longer in the set.

        Args:
            items: the objects of the set.

        Raises:
            ObjectSetError: the objects cannot be applied, or the ConfigMap that records them has invalid content.
            ApiError: a request failed.
        """
        recorded = {one.reference: one for one in self._recorded()}
        try:
            listed = [(reference(item), item) for item in items]
        except ValueError as error:
            raise ObjectSetError(str(error)) from error
        twice = sorted({str(of) for of, _item in listed if [one for one, _ in listed].count(of) > 1})
        if twice:
            raise ObjectSetError(f"expected each object once, got {', '.join(twice)} more than once")
        self._refuse_unknown_kinds([of for of, _item in listed])
        created = {of.name for of, _item in listed if of.kind == "Namespace" and self._api.read(of) is None}
        planned = [self._planned(of, item, recorded.get(of), created) for of, item in listed]
        obsolete = [one for of, one in recorded.items() if of not in dict(listed)]
        return [*planned, *(self._obsolete(one) for one in reversed(obsolete))]

    def perform(self, planned: t.Sequence[PlannedObject]) -> None:
        """Change the cluster as planned.

        Args:
            planned: the result of `plan`.

        Raises:
            ApiError: a request failed. The next run makes the remaining changes.
            ObjectSetError: the ConfigMap that records the objects has invalid content.
        """
        before = self._recorded()
        kept = [Recorded(one.of, one.adopted) for one in planned if one.action in (CREATED, CHANGED, UNCHANGED)]
        known = {one.reference: one for one in (*before, *kept)}
        self._write_record(before, list(known.values()))
        for one in planned:
            if one.action in (CREATED, CHANGED):
                self._api.apply(one.of, one.item, dry_run=False)
            elif one.action == REMOVED:
                self._api.delete(one.of, _uid(one.before))
            elif one.action == KEPT and one.adopted:
                self._give_up(one.of, one.before)
        self._write_record(list(known.values()), kept)

    def _recorded(self) -> list[Recorded]:
        existing = self._api.read(self._record)
        try:
            return inventory.read((existing or {}).get("data") or {})
        except ValueError as error:
            raise ObjectSetError(
                f"{self._record}: {error}. Correct or delete the ConfigMap. If you delete it, "
                "later runs will not delete the objects of the set that exist now"
            ) from error

    def _write_record(self, before: t.Sequence[Recorded], after: t.Sequence[Recorded]) -> None:
        if set(before) != set(after):
            item = inventory.write(self._record.namespace, self._record.name, after)
            self._api.apply(self._record, item, dry_run=False)

    def _refuse_unknown_kinds(self, listed: t.Iterable[Reference]) -> None:
        custom = {of.api_version: of for of in listed if of.known.custom}
        missing = [of for version, of in custom.items() if not self._api.knows(version)]
        if missing:
            kinds = ", ".join(f"{of.kind} ({of.api_version})" for of in missing)
            raise ObjectSetError(
                f"expected a cluster that supports {kinds}, got one that does not. Install "
                f"{' and '.join(of.known.provider for of in missing)}, or do not request these objects"
            )

    def _planned(
        self, of: Reference, item: t.Mapping[str, t.Any], known: Recorded | None, created: t.Collection[str]
    ) -> PlannedObject:
        before = self._api.read(of)
        labels = ((before or {}).get("metadata") or {}).get("labels") or {}
        ours = known is not None and not known.adopted and self._label in labels
        adopted = before is not None and not ours
        if before is None and of.namespace in created:
            # The API server cannot check an object in a namespace that does not exist yet.
            return PlannedObject(of, item, CREATED, None, dict(item))
        try:
            after = self._api.apply(of, item, dry_run=True)
        except ApiError as error:
            if error.status == 409:
                raise ObjectSetError(conflict(str(of), str(error))) from error
            raise ObjectSetError(f"{of}: the API server rejected the object: {error}") from error
        action = CREATED if before is None else CHANGED
        if before is not None and comparable(before) == comparable(after):
            action = UNCHANGED
        return PlannedObject(of, item, action, before, after, adopted)

    def _obsolete(self, one: Recorded) -> PlannedObject:
        before = self._api.read(one.reference)
        labels = ((before or {}).get("metadata") or {}).get("labels") or {}
        if before is None:
            return PlannedObject(one.reference, {}, GONE)
        if self._label not in labels:
            # Something else has replaced the object, so this run does not change it.
            return PlannedObject(one.reference, {}, KEPT)
        # Another program may have applied the object since then, for example from a manifest, and may rely on it.
        adopted = one.adopted or is_applied_by_others(before, self._api.manager)
        action = KEPT if adopted or one.reference.kind == _PERMANENT else REMOVED
        return PlannedObject(one.reference, {}, action, before, before, adopted)

    def _give_up(self, of: Reference, before: Object | None) -> None:
        """Stop managing an object that stays in the cluster.

        Applying the object without fields makes the API server remove the labels that only this set has applied. If the
        API server would also remove other fields, such as the rules of a ClusterRole, only the set's own label is
        removed, because another program may need these fields.
        """
        place = {"namespace": of.namespace} if of.namespace else {}
        bare = {"apiVersion": of.api_version, "kind": of.kind, "metadata": {"name": of.name, **place}}
        try:
            left = self._api.apply(of, bare, dry_run=True)
        except ApiError as error:
            if error.status != 422:
                raise
            left = {}
        if without_labels(left) == without_labels(before):
            self._api.apply(of, bare, dry_run=False)
        else:
            self._api.remove_label(of, self._label)


def _uid(item: Object | None) -> str:
    return str(((item or {}).get("metadata") or {}).get("uid") or "")
