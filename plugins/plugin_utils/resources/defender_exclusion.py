# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Exclude files, programs and file name extensions from Microsoft Defender's scans."""

from __future__ import annotations

import dataclasses
import typing as t

from ..engine.changes import no_command, only, update
from ..engine.resource import Change, Resource
from ..values.errors import ResourceError
from ..windows.windows_info import WindowsInfo
from ..wire.calls import action, query
from ..wire.messages import Call, Results

_PROPERTIES = {"paths": "ExclusionPath", "processes": "ExclusionProcess", "extensions": "ExclusionExtension"}
_OFF = "0x800106ba"
"""The error code that Defender returns if its service is turned off by a policy or by another antivirus
product. No exclusion is needed then."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class DefenderExclusion(Resource):
    """Exclusions from Microsoft Defender's scans. On a node without Defender, this resource does nothing."""

    type: t.ClassVar[str] = "DefenderExclusion"
    name: str = dataclasses.field(metadata={"help": "A label of your choice."})
    paths: tuple[str, ...] = dataclasses.field(default=(), metadata={"help": "Files and folders that are not scanned."})
    processes: tuple[str, ...] = dataclasses.field(
        default=(), metadata={"help": "Programs. Files that these programs open are not scanned."}
    )
    extensions: tuple[str, ...] = dataclasses.field(
        default=(), metadata={"help": "File name extensions. Files with these extensions are not scanned."}
    )
    state: t.Literal["present", "absent"] = dataclasses.field(
        default="present", metadata={"help": "Whether the exclusions exist."}
    )

    def __post_init__(self) -> None:
        if not (self.paths or self.processes or self.extensions):
            raise ResourceError("paths", [], "expected at least one of paths, processes and extensions")

    def observe(self) -> tuple[Call, ...]:
        return (query("preference", "Get-MpPreference", select=tuple(_PROPERTIES.values())),)

    def plan(self, seen: Results, windows: WindowsInfo) -> Change | None:
        result = seen.get("preference")
        if no_command(result) or (
            result and result.error and _OFF in f"{result.error.id} {result.error.message}".lower()
        ):
            return None
        preference = only(self, seen, "preference")
        before: dict[str, t.Any] = {}
        after: dict[str, t.Any] = {}
        differing: dict[str, list[str]] = {}
        for key, word in _PROPERTIES.items():
            listed = getattr(self, key)
            have = {_same(key, str(item)) for item in preference.get(word) or ()}
            present = [item for item in listed if _same(key, item) in have]
            before[key], after[key] = present, list(listed) if self.state == "present" else []
            if self.state == "absent" and present:
                differing[word] = present
            elif self.state == "present" and len(present) < len(listed):
                differing[word] = [item for item in listed if item not in present]
        command = "Add-MpPreference" if self.state == "present" else "Remove-MpPreference"
        return update(
            self,
            before,
            after,
            [action("change", command, differing)],
        )


def _same(key: str, item: str) -> str:
    folded = item.strip().casefold()
    return folded.lstrip(".") if key == "extensions" else folded.rstrip("\\")
