# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Empty or remove a folder in which programs keep their state."""

from __future__ import annotations

import dataclasses
import re
import typing as t

from ..engine.changes import create, is_missing, only, remove, update
from ..engine.resource import Change, Resource
from ..values.errors import ResourceError
from ..values.shown import AsItIs
from ..windows.path_calls import make_closed, make_directory, remove_path
from ..windows.windows_info import WindowsInfo
from ..wire.calls import action, query
from ..wire.messages import Call, CallResult, Json, Results
from .file import check_acl, refuse_link

_PATH = re.compile(r"""[A-Za-z]:\\[^"%&|<>^*?/,;=!~\x00-\x1f\xa0]{2,}""")
"""Matches paths that cmd.exe takes literally. ansible-core's Argv-ToString quotes only paths with spaces, but other
special characters also need quotation marks: `rd` would take `C:\\a,b` for two paths. With `%`, cmd.exe would insert
a variable's value, and `~` may be part of a short name such as PROGRA~1. Source: learn.microsoft.com, cmd."""
_WINDOWS_FOLDERS = re.compile(
    r".:\\(windows(\\system32|\\syswow64)?|program files( \(x86\))?|programdata|users|recovery|boot|\$recycle\.bin"
    r"|system volume information)",
    re.IGNORECASE,
)
"""Matches folders of Windows, which are never removed."""
_LONG = "\\\\?\\"
"""With this prefix, `rd` also removes paths of more than 260 characters, which volumes of pods may have."""
_GONE = (0, 2)
"""The exit codes of `rd` for a folder that it removed and for a folder that did not exist."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class StateFolder(Resource):
    """A folder that is emptied or removed, including everything that programs wrote to it.

    Symbolic links and junctions in the folder are removed, but not their targets. `Remove-Item` of Windows PowerShell
    fails on symbolic links to folders (PowerShell/PowerShell#621), which the kubelet creates in the volumes of pods. So
    this type uses `rd` of cmd.exe.
    """

    type: t.ClassVar[str] = "StateFolder"
    name: str = dataclasses.field(metadata={"help": "The folder's path on the node. A file at this path is removed."})
    state: t.Literal["empty", "absent"] = dataclasses.field(
        default="empty",
        metadata={"help": "Whether the folder exists and is empty, or does not exist."},
    )
    acl: str | None = dataclasses.field(
        default=None,
        metadata={"help": "The access list in SDDL, with an owner, of a new folder. By default, it is inherited."},
    )
    folders: t.Mapping[str, str] = dataclasses.field(
        default_factory=dict,
        metadata={
            "help": "Subfolders that exist in the emptied folder, as a mapping from their names to their access lists "
            "in SDDL. They are empty, too."
        },
    )

    def __post_init__(self) -> None:
        if not _PATH.fullmatch(self.path) or _is_indirect(self.path):
            expected = r'expected the path of a folder, without " % & | < > ^ * ? / , ; = ! ~ or parts such as ..'
            raise ResourceError("name", self.name, expected)
        if _WINDOWS_FOLDERS.fullmatch(self.path):
            raise ResourceError("name", self.name, "expected a folder that is not one of Windows' own")
        for acl in (self.acl, *self.folders.values()):
            check_acl(acl)
        for name in self.folders:
            if "\\" in name or not _PATH.fullmatch(f"{self.path}\\{name}") or _is_indirect(name):
                raise ResourceError("folders", name, "expected the name of a direct subfolder")
        if self.state == "absent" and (self.folders or self.acl):
            raise ResourceError("state", self.state, "expected 'empty', because acl or folders is set")

    @property
    def path(self) -> str:
        """The path without a trailing backslash."""
        return self.name.rstrip("\\")

    def observe(self) -> tuple[Call, ...]:
        parameters: dict[str, Json] = {"paths": [self.path]} | ({"acl": True} if self.acl else {})
        listings = (
            query(
                f"content-{number}",
                "Get-ChildItem",
                {"LiteralPath": path, "Force": True},
                select=("Name",),
            )
            for number, path in enumerate(self._listed)
        )
        return (query("folder", "@read-file", parameters), *listings)

    @property
    def _listed(self) -> list[str]:
        """The folders whose content is listed, to find what is missing or must be removed."""
        return [] if self.state == "absent" else [self.path, *(f"{self.path}\\{name}" for name in self.folders)]

    def plan(self, seen: Results, windows: WindowsInfo) -> Change | None:
        observed = only(self, seen, "folder")
        if not observed.get("exists"):
            return None if self.state == "absent" else create(self, {"path": self.path}, self._make())
        if observed.get("type") != "directory":
            return self._replace_file()
        if self.state == "absent":
            return remove(self, {"path": self.path}, [*self._remove(), _removed(self.path)])
        if self.acl:
            refuse_link(self.title, observed)
        content = self._content(seen)
        own, known = {name.casefold() for name in self.folders}, {name.casefold() for name in content}
        extra = sorted(name for name in content if name.casefold() not in own)
        missing = sorted(name for name in self.folders if name.casefold() not in known)
        before: dict[str, t.Any] = {"content": extra, "missing": missing}
        after: dict[str, t.Any] = {"content": [], "missing": []}
        return update(self, before, after, [*self._remove(), *self._make()], why=_why(extra, missing))

    def _replace_file(self) -> Change | None:
        """Plan the removal of a file at the folder's path and, with the state `empty`, the creation of the folder."""
        removal = remove_path(self.path)
        if self.state == "absent":
            return remove(self, {"path": self.path}, [removal])
        return update(self, {"type": "file"}, {"type": "directory"}, [removal, *self._make()])

    def _content(self, seen: Results) -> list[str]:
        """Return the names in the folder, and the relative paths of what the subfolders in `folders` contain.

        The content of these subfolders is included because they should be empty, too.
        """
        names: list[str] = []
        for number, path in enumerate(self._listed):
            result = seen.get(f"content-{number}")
            if is_missing(result):
                continue
            inside = "" if number == 0 else path[len(self.path) + 1 :] + "\\"
            names += [f"{inside}{entry.get('Name')}" for entry in _entries(self, result)]
        return names

    def _remove(self) -> list[Call]:
        """Return the calls that remove the folder with its content."""
        arguments = ("/d", "/c", "rd", "/s", "/q", f"{_LONG}{self.path}")
        # Programs that have just ended may still have files open.
        return [action("remove", "cmd.exe", arguments=arguments, success_codes=_GONE, retries=3, on_error="continue")]

    def _make(self) -> t.Iterator[Call]:
        """Yield the calls that create the folder and its subfolders again. These calls fail if old content is left."""
        if self.acl is None:
            yield _removed(self.path)
            yield make_directory(self.path)
        else:
            yield make_closed(self.path, self.acl, existing="empty")
        for number, (name, acl) in enumerate(self.folders.items()):
            yield make_closed(f"{self.path}\\{name}", acl, f"folder-{number}", existing="empty")

    def explain(self, call_id: str, result: CallResult) -> str | None:
        if call_id in ("make", "removed"):
            return f"A program still uses files in {self.path}. Stop that program or reboot the node, then run again"
        return None


def _is_indirect(path: str) -> bool:
    """Return whether a part of a path is empty or ends with a dot or space; Windows may then use a different path."""
    return any(part != part.rstrip(". ") or not part for part in path.split("\\"))


def _removed(path: str) -> Call:
    """Return the call that fails unless a folder is gone, because `rd` does not report every failure."""
    paths: list[Json] = [path]
    return query(
        "removed", "@read-file", {"paths": paths}, select=("exists",), until={"exists": False}, on_error="stop"
    )


def _entries(resource: Resource, result: CallResult | None) -> list[t.Mapping[str, t.Any]]:
    if result is None or not result.ok:
        raise ResourceError(resource.title, AsItIs("no list of its content"), "expected a folder that can be listed")
    return [entry for entry in result.output if isinstance(entry, t.Mapping)]


def _why(left: t.Sequence[str], missing: t.Sequence[str]) -> str:
    shown = ", ".join(left[:3]) + (f" and {len(left) - 3} more" if len(left) > 3 else "")
    parts = [f"contains {shown}"] if left else []
    return "; ".join([*parts, *(f"{name} is missing" for name in missing)])
