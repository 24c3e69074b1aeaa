# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Set or remove a machine-wide environment variable, or entries of a list such as PATH."""

from __future__ import annotations

import dataclasses
import re
import typing as t

from ..engine import managed_marks
from ..engine.changes import create, objects, only, remove, update
from ..engine.resource import Change, Resource
from ..values.errors import ResourceError
from ..values.shown import AsItIs
from ..windows.registry_keys import ENVIRONMENT
from ..windows.windows_info import WindowsInfo
from ..wire.calls import action, query
from ..wire.messages import Call, Json, Results


@dataclasses.dataclass(frozen=True, kw_only=True)
class Environment(Resource):
    """A machine-wide environment variable or, with `path_entries`, individual entries of a list such as PATH."""

    type: t.ClassVar[str] = "Environment"
    name: str = dataclasses.field(metadata={"help": "The variable's name."})
    value: str | None = dataclasses.field(
        default=None,
        metadata={"help": "The variable's value. A value that contains `%OTHER%` is stored as an expandable string."},
    )
    path_entries: tuple[str, ...] = dataclasses.field(
        default=(),
        metadata={
            "help": "Folders in the list that the variable contains. Missing folders are appended, and all "
            "other entries are kept. Case and trailing backslashes are ignored."
        },
    )
    state: t.Literal["present", "absent"] = dataclasses.field(
        default="present", metadata={"help": "Whether the variable (or its `path_entries`) exists."}
    )
    managed: bool = dataclasses.field(
        default=False,
        metadata={
            "help": "Whether to record on the node that the variable is managed. `absent` then removes the"
            " variable only if this record exists, so that a variable from another source is kept."
        },
    )

    def __post_init__(self) -> None:
        if not self.name or "=" in self.name:
            raise ResourceError("name", self.name, "expected a variable's name, without =")
        if self.value is not None and self.path_entries:
            raise ResourceError("path_entries", AsItIs("both"), "expected either value or path_entries")
        if self.state == "present" and not self.value and not self.path_entries:
            raise ResourceError(
                "value", self.value, "expected a non-empty string", "Windows does not support empty variables."
            )
        if self.managed and self.path_entries:
            raise ResourceError("managed", True, "expected false, because path_entries is set")
        for entry in self.path_entries:
            if not entry.strip() or ";" in entry or '"' in entry:
                raise ResourceError("path_entries", entry, 'expected one folder per entry, without ; and "')

    def joined(self, other: Environment) -> Environment | None:
        """Merge two resources for the same list, such as PATH. Otherwise, one would overwrite the other's entries."""
        if not (self.path_entries and other.path_entries) or (self.state, self.windows) != (other.state, other.windows):
            return super().joined(other)
        entries = tuple(dict.fromkeys([*self.path_entries, *other.path_entries]))
        restarts = tuple(dict.fromkeys([*self.restarts, *other.restarts]))
        return dataclasses.replace(self, path_entries=entries, restarts=restarts, no_log=self.no_log or other.no_log)

    def observe(self) -> tuple[Call, ...]:
        note: list[Json] = [managed_marks.registry_entry(self)] if self.managed else []
        # A recorded variable is removed without reading its value, which may be a secret of other software.
        value: list[Json] = (
            [] if self.managed and self.state == "absent" else [{"path": ENVIRONMENT, "name": self.name}]
        )
        values: list[Json] = [*value, *note]
        return (query("value", "@read-registry", {"values": values}),)

    def plan(self, seen: Results, windows: WindowsInfo) -> Change | None:
        if not self.managed:
            return self._plan_value(seen)
        answer = objects(self, seen, "value")[-1]
        undo = self._write(None, "String")
        return managed_marks.plan(self, self.state, answer, lambda: self._plan_value(seen), undo=undo)

    def _plan_value(self, seen: Results) -> Change | None:
        observed = only(self, seen, "value")
        old = str(observed.get("value") or "") if observed.get("exists") else None
        if self.path_entries:
            edit = with_entries if self.state == "present" else without_entries
            new = edit(old, self.path_entries)
        else:
            new = self.value if self.state == "present" else None
        if new is None:
            return None if old is None else remove(self, {"value": old}, [self._write(None, "String")])
        kind = "ExpandString" if observed.get("kind") == "ExpandString" or re.search("%[^%]+%", new) else "String"
        write = [self._write(new, kind)]
        if old is None:
            return create(self, {"value": new}, write)
        return update(self, {"value": old, "kind": observed.get("kind")}, {"value": new, "kind": kind}, write)

    def _write(self, value: str | None, kind: str) -> Call:
        parameters = {"name": self.name, "value": value, "kind": kind}
        return action("set", "@set-environment", parameters)


def with_entries(value: str | None, entries: t.Iterable[str]) -> str | None:
    """Return a semicolon-separated list with the missing entries appended. Existing entries stay unchanged."""
    have = {_same(entry) for entry in (value or "").split(";")}
    added: list[str] = []
    for entry in entries:
        if _same(entry) not in have:
            added.append(entry.strip())
            have.add(_same(entry))
    if not added:
        return value
    kept = (value or "").rstrip(";")
    return ";".join([kept, *added] if kept else added)


def without_entries(value: str | None, entries: t.Iterable[str]) -> str | None:
    """Return a semicolon-separated list without the given entries, or None if nothing is left."""
    if value is None:
        return None
    unwanted = {_same(entry) for entry in entries}
    kept = [entry for entry in value.split(";") if _same(entry) not in unwanted]
    return value if len(kept) == len(value.split(";")) else ";".join(kept) or None


def _same(entry: str) -> str:
    """Return a key that is the same for entries that differ only in case, quotation marks and trailing backslashes."""
    return entry.strip().strip('"').rstrip("\\").casefold()
