# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Manage the page files of Windows."""

from __future__ import annotations

import dataclasses
import typing as t

from ..engine.changes import objects, only, update
from ..engine.resource import Change, Resource
from ..values.errors import ResourceError
from ..values.shown import AsItIs
from ..windows.windows_info import WindowsInfo
from ..wire.calls import action, query
from ..wire.messages import Call, Input, Json, Results

_LARGEST_MB = (1 << 32) - 1
"""The largest size in MB: Windows stores sizes as 32-bit values. Source: Microsoft, "Win32_PageFileSetting class"."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Paging:
    """The path and the sizes of a page file."""

    path: str = dataclasses.field(metadata={"help": "The page file's path, such as `D:\\pagefile.sys`."})
    initial_mb: int = dataclasses.field(default=0, metadata={"help": "Initial size in MB. With 0, Windows decides."})
    maximum_mb: int = dataclasses.field(default=0, metadata={"help": "Maximum size in MB. With 0, Windows decides."})

    def __post_init__(self) -> None:
        if len(self.path) < 4 or self.path[1:3] != ":\\" or any(letter in self.path for letter in "'\"*?/"):
            raise ResourceError("path", self.path, "expected a full path, such as D:\\pagefile.sys")
        for name, size in (("initial_mb", self.initial_mb), ("maximum_mb", self.maximum_mb)):
            if not 0 <= size <= _LARGEST_MB:
                raise ResourceError(name, size, f"expected a size from 0 to {_LARGEST_MB} MB")
        if self.initial_mb > self.maximum_mb:
            raise ResourceError("maximum_mb", self.maximum_mb, f"expected at least initial_mb ({self.initial_mb})")


@dataclasses.dataclass(frozen=True, kw_only=True)
class PageFile(Resource):
    """The page files of Windows. A change takes effect at the next reboot."""

    type: t.ClassVar[str] = "PageFile"
    name: str = dataclasses.field(metadata={"help": "A label of your choice."})
    automatic: bool = dataclasses.field(default=False, metadata={"help": "Whether Windows manages the page files."})
    files: tuple[Paging, ...] = dataclasses.field(
        default=(),
        metadata={"help": "All page files. An empty list turns paging off. Cannot be used with `automatic`."},
    )
    reboot: bool = dataclasses.field(
        default=False, metadata={"help": "Whether to reboot the node immediately after a change."}
    )

    def __post_init__(self) -> None:
        if self.automatic and self.files:
            raise ResourceError("files", AsItIs("both"), "expected either automatic or files")
        if len({file.path.casefold() for file in self.files}) < len(self.files):
            raise ResourceError("files", [file.path for file in self.files], "expected each path once")

    def observe(self) -> tuple[Call, ...]:
        return (
            query(
                "system", "Get-CimInstance", {"ClassName": "Win32_ComputerSystem"}, select=("AutomaticManagedPagefile",)
            ),
            query(
                "files",
                "Get-CimInstance",
                {"ClassName": "Win32_PageFileSetting"},
                select=("Name", "InitialSize", "MaximumSize"),
            ),
        )

    def plan(self, seen: Results, windows: WindowsInfo) -> Change | None:
        automatic = bool(only(self, seen, "system").get("AutomaticManagedPagefile"))
        before: dict[str, t.Any] = {"automatic": automatic}
        after: dict[str, t.Any] = {"automatic": self.automatic}
        current = {
            str(item.get("Name")).casefold(): (int(item.get("InitialSize") or 0), int(item.get("MaximumSize") or 0))
            for item in objects(self, seen, "files")
        }
        desired = {file.path.casefold(): (file.initial_mb, file.maximum_mb) for file in self.files}
        if not self.automatic:
            before["files"], after["files"] = _sizes(current), _sizes(desired)
        return update(self, before, after, self._write(automatic, current), reboot="always" if self.reboot else "never")

    def _write(self, automatic: bool, current: t.Mapping[str, tuple[int, int]]) -> t.Iterator[Call]:
        if automatic != self.automatic:
            class_name: dict[str, Json] = {"ClassName": "Win32_ComputerSystem"}
            yield query("system", "Get-CimInstance", class_name, select=(), on_error="stop")
            yield _set("automatic", "system", {"AutomaticManagedPagefile": self.automatic})
        if self.automatic:
            return
        yield query(
            "files", "Get-CimInstance", {"ClassName": "Win32_PageFileSetting"}, select=("Name",), on_error="stop"
        )
        desired = {file.path.casefold() for file in self.files}
        # While Windows manages the page files, their settings cannot be observed, so all of them are replaced.
        kept = {} if automatic else {path: sizes for path, sizes in current.items() if path in desired}
        for index, path in enumerate(path for path in current if path not in kept and not automatic):
            unwanted = Input(calls=("files",), where={"Name": path})
            yield action(f"remove-{index}", "Remove-CimInstance", input=unwanted)
        if automatic:
            yield action("remove", "Remove-CimInstance", input=Input(calls=("files",)))
        for index, file in enumerate(self.files):
            sizes = (file.initial_mb, file.maximum_mb)
            properties: dict[str, Json] = {"InitialSize": sizes[0], "MaximumSize": sizes[1]}
            if file.path.casefold() not in kept:
                # A page file is created without sizes; they can be set only afterwards.
                parameters: dict[str, Json] = {"ClassName": "Win32_PageFileSetting", "Property": {"Name": file.path}}
                yield action(f"make-{index}", "New-CimInstance", parameters)
                yield _set(f"size-{index}", f"make-{index}", properties)
            elif kept[file.path.casefold()] != sizes:
                yield _set(f"size-{index}", "files", properties, where={"Name": file.path})


def _set(
    call_id: str, source: str, properties: t.Mapping[str, Json], where: t.Mapping[str, Json] | None = None
) -> Call:
    """Return a call that changes properties of the CIM objects that an earlier call (`source`) returned."""
    return action(
        call_id, "Set-CimInstance", {"Property": dict(properties)}, input=Input(calls=(source,), where=where or {})
    )


def _sizes(files: t.Mapping[str, tuple[int, int]]) -> list[str]:
    return sorted(f"{path} {initial}-{maximum} MB" for path, (initial, maximum) in files.items())
