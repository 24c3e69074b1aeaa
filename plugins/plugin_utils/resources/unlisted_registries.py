# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Remove the settings of container registries that are no longer listed, because they may contain credentials."""

from __future__ import annotations

import dataclasses
import re
import typing as t

from ..engine.changes import only, update
from ..engine.resource import Change, Resource
from ..values.errors import ResourceError
from ..windows.registry_calls import make_key, remove_value, set_value
from ..windows.windows_info import WindowsInfo
from ..wire.calls import action, query
from ..wire.messages import Call, Input, Json, Results

NOTES = "HKLM:\\SOFTWARE\\winkube\\registries"
"""The Windows registry key that records which container registries the last run listed."""
_NAME = re.compile(r"[A-Za-z0-9_](?:[A-Za-z0-9._-]*[A-Za-z0-9_])?")


@dataclasses.dataclass(frozen=True, kw_only=True)
class UnlistedRegistries(Resource):
    """Removes the folders of container registries that were listed in an earlier run but are not listed now.

    All other folders are kept. This resource is applied before the files of the listed registries, so that each folder
    is recorded before it is written.
    """

    type: t.ClassVar[str] = "UnlistedRegistries"
    name: str = dataclasses.field(
        metadata={"help": "The folder with a subfolder for each registry, such as containerd's `config_path`."}
    )
    keep: tuple[str, ...] = dataclasses.field(
        metadata={"help": "Names of the subfolders to keep, which belong to the registries that are listed now."}
    )

    def __post_init__(self) -> None:
        if len(self.folder.strip("\\/ ")) < 4:
            raise ResourceError("name", self.name, "expected a folder, not a whole drive")
        for name in self.keep:
            if not _NAME.fullmatch(name):
                raise ResourceError("keep", name, "expected a folder's name, such as registry.example_5000_")

    @property
    def folder(self) -> str:
        """The path in `name`, without a trailing backslash."""
        return self.name.rstrip("\\/")

    def observe(self) -> tuple[Call, ...]:
        values: list[Json] = [{"path": NOTES, "name": self.folder}]
        return (query("noted", "@read-registry", {"values": values}),)

    def plan(self, seen: Results, windows: WindowsInfo) -> Change | None:
        recorded = only(self, seen, "noted").get("value")
        # Ignore everything in the record that is not the name of a folder, so that nothing else is removed.
        noted = {
            name
            for name in (recorded if isinstance(recorded, list) else [recorded])
            if isinstance(name, str) and _NAME.fullmatch(name)
        }
        kept = {name.casefold() for name in self.keep}
        stale = sorted(name for name in noted if name.casefold() not in kept)
        calls = [*self._remove(stale)] if stale else []
        if self.keep:
            calls += [*make_key(NOTES), set_value("note", NOTES, self.folder, "MultiString", sorted(self.keep))]
        elif noted:
            calls.append(remove_value("forget", NOTES, self.folder))
        return update(self, {"listed": sorted(noted)}, {"listed": sorted(set(self.keep))}, calls)

    def _remove(self, names: t.Sequence[str]) -> t.Iterator[Call]:
        # Remove the whole folder. If an empty folder stayed, containerd would use it instead of `_default`
        # (core/remotes/docker/config: HostDirFromRoot).
        paths: list[Json] = [f"{self.folder}\\{name}" for name in names]
        yield query("look", "@read-file", {"paths": paths}, select=("path", "exists"), on_error="stop")
        yield action(
            "remove",
            "Remove-Item",
            {"Recurse": True, "Force": True},
            input=Input(calls=("look",), where={"exists": True}, parameter="LiteralPath", property="path"),
        )
