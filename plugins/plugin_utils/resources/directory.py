# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Create a folder on the node, restrict access to it, or remove it."""

from __future__ import annotations

import dataclasses
import typing as t

from ..engine.changes import create, objects, only, remove, update
from ..engine.resource import Change, Resource
from ..values.errors import ResourceError
from ..values.shown import AsItIs
from ..windows import node_paths, sddl, untrusted_files
from ..windows.path_calls import ancestors, make_closed, make_directory, remove_path, set_acl
from ..windows.sddl import ADMINISTRATORS_ONLY, READABLE, SHARED
from ..windows.windows_info import WindowsInfo
from ..wire.calls import query
from ..wire.messages import Call, CallResult, Json, Results
from .file import check_acl, refuse_link


@dataclasses.dataclass(frozen=True, kw_only=True)
class Directory(Resource):
    """A folder. Missing parent folders are created as well."""

    type: t.ClassVar[str] = "Directory"
    name: str = dataclasses.field(metadata={"help": "The folder's path on the node."})
    acl: str | None = dataclasses.field(
        default=None,
        metadata={
            "help": "The access list in SDDL, which may also name the owner, such as "
            "`O:BAD:P(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)`. A path with a junction or symbolic link is rejected."
        },
    )
    guard_parents: bool = dataclasses.field(
        default=False,
        metadata={
            "help": "Whether to protect the parent folders, so that only administrators can rename or replace "
            "them. A parent folder that other users own or can delete gets Administrators as owner and the "
            "access list that Windows gives to folders in C:\\. Missing parent folders are created with the "
            "same owner and access list. Requires an `acl` with an owner."
        },
    )
    move_aside: untrusted_files.Which = dataclasses.field(
        default="nothing",
        metadata={
            "help": "Which content is not trusted: `foreign` means files and folders that users other than "
            "administrators own; `writable` also includes what these users can write to. Untrusted content "
            "is moved into a subfolder `.untrusted-TIME`, with a warning. Five levels of subfolders are checked. "
            "Requires an `acl` with an owner."
        },
    )
    shallow: bool = dataclasses.field(
        default=False,
        metadata={
            "help": "Whether `move_aside` checks only the folder's direct content, and not the content of its"
            " subfolders."
        },
    )
    open_folders: tuple[str, ...] = dataclasses.field(
        default=(),
        metadata={
            "help": "Names of subfolders that stay open to all users, with the access list that Windows gives to "
            "folders in C:\\. Missing ones are created; in an existing folder, this happens before access to the "
            "folder is restricted. Requires an `acl` with an owner."
        },
    )
    state: t.Literal["present", "absent"] = dataclasses.field(
        default="present", metadata={"help": "Whether the folder exists. `absent` removes it with its content."}
    )

    def __post_init__(self) -> None:
        check_acl(self.acl)
        if self.state == "absent" and len(self.name.rstrip("\\/ ")) < 3:
            raise ResourceError("name", self.name, "expected a folder, not a whole drive")
        for option in ("guard_parents", "move_aside", "open_folders"):
            if getattr(self, option) not in (False, "nothing", ()) and not self._owned:
                expected = f"expected {option} only with an acl that names an owner (O:)"
                raise ResourceError(option, getattr(self, option), expected)

    def joined(self, other: t.Self) -> t.Self | None:
        """Merge the settings of two roles for the same folder; return None if the settings contradict each other."""
        for one, more in ((self, other), (other, self)):
            if one == type(self)(name=one.name) and more.state == "present":
                return more
        strictest = max(self, other, key=lambda one: untrusted_files.STRICTNESS.index(one.move_aside))
        deepest = min(self, other, key=lambda one: one.shallow).shallow
        alike = {dataclasses.replace(one, name=self.name, move_aside="nothing", shallow=False) for one in (self, other)}
        return dataclasses.replace(strictest, shallow=deepest) if len(alike) == 1 else None

    def builds_on(self, earlier: Resource) -> bool:
        """Return whether the earlier resource is a folder, which may be a parent folder of this resource's folder."""
        return isinstance(earlier, Directory)

    @property
    def path(self) -> str:
        """The path with backslashes as separators, and without a trailing backslash."""
        return self.name.replace("/", "\\").rstrip("\\")

    @property
    def _owned(self) -> bool:
        """Whether the access list names an owner."""
        return sddl.owner(self.acl or "") is not None

    @property
    def _open(self) -> list[str]:
        return [f"{self.path}\\{name}" for name in self.open_folders]

    def observe(self) -> tuple[Call, ...]:
        above: list[Json] = [*ancestors(self.name)] if self.guard_parents else []
        parameters: dict[str, Json] = {"paths": [self.name, *above, *self._open]} | ({"acl": True} if self.acl else {})
        read = query("directory", "@read-file", parameters)
        if self.move_aside == "nothing":
            return (read,)
        return (read, *untrusted_files.list_calls(self.path, shallow=self.shallow))

    def plan(self, seen: Results, windows: WindowsInfo) -> Change | None:
        change = self._plan(seen)
        # With `move_aside`, a change that moves nothing aside cannot disrupt pods.
        if change is None or self.move_aside == "nothing" or change.observe_again or self.restarts:
            return change
        return dataclasses.replace(change, harmless=True)

    def _plan(self, seen: Results) -> Change | None:
        observed = only(self, seen, "directory")
        exists = bool(observed.get("exists"))
        if exists and observed.get("type") != "directory":
            raise ResourceError(self.title, AsItIs("a file"), "expected a folder at this path, or nothing")
        if self.state == "absent":
            return remove(self, {"path": self.name}, [remove_path(self.name)]) if exists else None
        if self.acl is None:
            return None if exists else create(self, {"path": self.name}, [make_directory(self.name)])
        refuse_link(self.title, observed)
        above = [*self._parents(seen)]
        if not exists:
            inside = [make_closed(path, SHARED, f"open-{number}") for number, path in enumerate(self._open)]
            return create(self, {"path": self.name, "acl": self.acl}, [*above, *self._make(self.acl), *inside])
        return self._close(self.acl, observed, above, seen)

    def _close(
        self, acl: str, observed: t.Mapping[str, t.Any], above: t.Sequence[Call], seen: Results
    ) -> Change | None:
        """Plan the changes to an existing folder: set access lists first, then move untrusted content aside."""
        before: dict[str, t.Any] = {}
        after: dict[str, t.Any] = {}
        calls = [*above]
        if above:
            before, after = {"parents": "open to other users"}, {"parents": "closed"}
        opened = [*self._keep_open(seen)]
        if opened:
            before, after = {**before, "open_folders": "not open"}, {**after, "open_folders": [*self.open_folders]}
            calls += opened
        if not sddl.same(acl, str(observed.get("sddl") or "")):
            before, after = {**before, "acl": observed.get("sddl")}, {**after, "acl": acl}
            calls.append(set_acl(self.name, acl))
        items = [] if self.move_aside == "nothing" else untrusted_files.find(self.path, self.move_aside, seen)
        if not items:
            return update(self, before, after, calls)
        target = untrusted_files.quarantine_folder(self.path, seen)
        before["untrusted"], after["untrusted"] = [item.path for item in items], []
        change = update(self, before, after, [*calls, *untrusted_files.moves(self.path, items, target, acl)])
        warning = untrusted_files.warning(items, target)
        return dataclasses.replace(change, observe_again=True, warnings=(warning,)) if change else None

    def _make(self, acl: str) -> tuple[Call, ...]:
        if self._owned:
            # The module creates its own folder when it starts a batch, so that folder may already exist. The next run
            # moves aside what users other than administrators have put there in the meantime.
            own = self.path.casefold() == node_paths.PROGRAM_DATA.casefold()
            return (make_closed(self.name, acl, existing="set" if own else "empty"),)
        return make_directory(self.name), set_acl(self.name, acl)

    def _parents(self, seen: Results) -> t.Iterator[Call]:
        """Yield the calls that restrict access to parent folders that other users could replace, outermost first."""
        if not self.guard_parents:
            return
        for number, path in enumerate(ancestors(self.name)):
            item = self._seen(seen, path)
            if not item.get("exists"):
                # Another resource may have created the parent folder by the time this call runs.
                yield make_closed(path, SHARED, f"parent-{number}", existing="leave")
            elif sddl.others(str(item.get("sddl") or ""), sddl.REPLACE):
                yield set_acl(path, SHARED, f"parent-{number}")

    def _keep_open(self, seen: Results) -> t.Iterator[Call]:
        for number, path in enumerate(self._open):
            if not sddl.same(SHARED, str(self._seen(seen, path).get("sddl") or "")):
                yield make_closed(path, SHARED, f"open-{number}")

    def _seen(self, seen: Results, path: str) -> t.Mapping[str, t.Any]:
        known = {str(item.get("path")).casefold(): item for item in objects(self, seen, "directory")}
        return known.get(path.casefold(), {})

    def explain(self, call_id: str, result: CallResult) -> str | None:
        if untrusted_files.is_move(call_id):
            return (
                f"{self.name} contains files that users other than administrators own or can change, and a program "
                "uses them: stop the programs that run from it (reset the node if it has joined), then run again"
            )
        if result.error is not None and "FolderNotEmpty" in result.error.id:
            return "Files were added to the folder after the node was observed: check its content, then run again"
        return None


_OF_WINDOWS = ("c:\\windows", "c:\\program files", "c:\\program files (x86)", "c:\\programdata", "c:\\users")


def closed(
    folders: t.Iterable[str],
    *,
    users: t.Literal["none", "read"] = "none",
    content: untrusted_files.Which = "foreign",
    only_below: str = "",
    **properties: t.Any,
) -> list[dict[str, t.Any]]:
    r"""Return resources for folders to which only SYSTEM and administrators can write.

    Access stays unchanged for root folders of drives, Windows' own folders, and folders in C:\Windows, C:\Program Files
    and C:\Program Files (x86).

    Args:
        folders: Windows paths.
        users: rights of all users other than SYSTEM and administrators.
        content: which content is not trusted (`move_aside`).
        only_below: folder below which access is restricted. Folders elsewhere may be shared, so they are created if
            they are missing, and their access stays unchanged. With an empty string, access to all folders is
            restricted.
        properties: further properties of the folders to which access is restricted.
    """
    guard = {"acl": ADMINISTRATORS_ONLY if users == "none" else READABLE, "guard_parents": True, "move_aside": content}
    resources: list[dict[str, t.Any]] = []
    for folder in dict.fromkeys(folders):
        low = folder.replace("/", "\\").rstrip("\\").casefold()
        windows = (
            low.count("\\") == 0 or low in _OF_WINDOWS or low.startswith(tuple(f"{own}\\" for own in _OF_WINDOWS[:3]))
        )
        outside = bool(only_below) and not low.startswith(f"{only_below.casefold()}\\")
        resources.append({"type": "Directory", "name": folder, **({} if windows or outside else guard | properties)})
    return resources
