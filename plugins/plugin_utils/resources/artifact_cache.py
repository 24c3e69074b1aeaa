# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
r"""Remove unneeded versions from a node's artifact cache."""

from __future__ import annotations

import dataclasses
import typing as t

from ..engine.changes import is_missing, objects, update
from ..engine.resource import Change, Resource
from ..values.errors import ResourceError
from ..windows.windows_info import WindowsInfo
from ..wire.calls import action, query
from ..wire.messages import Call, Json, Results

_DEPTH = {"custom": 3}
"""Depth of a version's folder in the cache: three for a user's own URL (KIND\\custom\\KEY), otherwise two
(KIND\\VERSION)."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class ArtifactCache(Resource):
    r"""Removes versions (`KIND\VERSION`, `KIND\custom\KEY`) from an artifact cache.

    Versions that contain a file listed in `keep` are kept. Files outside the folders of versions are not touched.
    """

    type: t.ClassVar[str] = "ArtifactCache"
    name: str = dataclasses.field(metadata={"help": "The cache folder."})
    keep: tuple[str, ...] = dataclasses.field(
        metadata={
            "help": "Paths of files in the cache. Versions that contain one of these files are kept; all other "
            "versions are removed."
        }
    )

    def __post_init__(self) -> None:
        if len(self.folder.strip("\\/ ")) < 4:
            raise ResourceError("name", self.name, "expected a folder, not a whole drive")

    @property
    def folder(self) -> str:
        """The cache folder without a trailing backslash."""
        return self.name.rstrip("\\/")

    def joined(self, other: t.Self) -> t.Self:
        """Merge the two lists of files to keep: a file is kept if it is in either list."""
        return dataclasses.replace(self, keep=tuple(dict.fromkeys((*self.keep, *other.keep))))

    def observe(self) -> tuple[Call, ...]:
        parameters: dict[str, Json] = {"LiteralPath": self.folder, "Recurse": True, "File": True, "Force": True}
        return (query("files", "Get-ChildItem", parameters, select=("FullName",)),)

    def plan(self, seen: Results, windows: WindowsInfo) -> Change | None:
        if is_missing(seen.get("files")):
            return None
        files = [str(item.get("FullName")) for item in objects(self, seen, "files")]
        folders = {folder.casefold(): folder for file in files if (folder := self._version(file))}
        kept = {self._version(file).casefold() for file in self.keep}
        unwanted: list[Json] = [folder for key, folder in sorted(folders.items()) if key not in kept]
        remove: dict[str, Json] = {"LiteralPath": unwanted, "Recurse": True, "Force": True}
        calls = [action("prune", "Remove-Item", remove)]
        why = f"unlisted versions: {len(unwanted)} of {len(folders)}"
        return update(self, {"unlisted": unwanted}, {"unlisted": []}, calls, why=why)

    def _version(self, file: str) -> str:
        """Return the folder of a file's version, or an empty string if the file belongs to no version."""
        prefix = f"{self.folder}\\"
        if not file.casefold().startswith(prefix.casefold()):
            return ""
        parts = file[len(prefix) :].split("\\")
        depth = _DEPTH.get(parts[1].casefold(), 2) if len(parts) > 1 else 2
        return prefix + "\\".join(parts[:depth]) if len(parts) > depth else ""
