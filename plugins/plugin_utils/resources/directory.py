# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A folder."""

from __future__ import annotations

import dataclasses
import typing as t

from ..calls import Call, CallResult, Json
from . import _sddl, _untrusted
from ._base import Change, Resource, ResourceError, Results
from ._paths import ancestors, make_closed, make_directory, remove_path, set_acl
from ._state import create, objects, only, remove, update
from .file import check_acl, refuse_link

SHARED = "O:BAD:P(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)(A;OICIIO;FA;;;CO)(A;OICI;0x1200a9;;;BU)(A;CI;LC;;;BU)(A;CIIO;DC;;;BU)"
r"""What Windows Server's C:\ hands down to new folders (moby/buildkit#4731): all users read, and make things of their
own. With Administrators as owner nobody else renames or deletes what is in it."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Directory(Resource):
    """A folder, made with its parents."""

    type: t.ClassVar[str] = "Directory"
    name: str = dataclasses.field(metadata={"help": "Its path on the node."})
    acl: str | None = dataclasses.field(
        default=None,
        metadata={
            "help": "Its access list in SDDL, and its owner where that is named, such as "
            "`O:BAD:P(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)`. A junction or symbolic link on the path is refused."
        },
    )
    guard_parents: bool = dataclasses.field(
        default=False,
        metadata={
            "help": "Nobody but administrators may rename or replace the folders above it: those that others own or "
            "may delete get Administrators as owner and the list that Windows gives to folders in C:\\. Those that do "
            "not exist are made so. With `acl` only."
        },
    )
    move_aside: _untrusted.Which = dataclasses.field(
        default="nothing",
        metadata={
            "help": "What of its content is not trusted, and is moved into a folder `.untrusted-TIME` in it, with a "
            "warning: `foreign` what others than administrators own, `writable` also what others may write. "
            "With `acl` only."
        },
    )
    shallow: bool = dataclasses.field(
        default=False, metadata={"help": "`move_aside` looks only at what lies directly in it."}
    )
    state: t.Literal["present", "absent"] = dataclasses.field(
        default="present", metadata={"help": "Whether it exists. `absent` removes it with all in it."}
    )

    def __post_init__(self) -> None:
        check_acl(self.acl)
        if self.state == "absent" and len(self.name.rstrip("\\/ ")) < 3:
            raise ResourceError("name", self.name, "wanted a folder; a whole drive is not removed")
        for option in ("guard_parents", "move_aside"):
            if getattr(self, option) not in (False, "nothing") and not self._owned:
                raise ResourceError(option, getattr(self, option), "wanted an acl with owner (O:) beside it")

    @property
    def path(self) -> str:
        return self.name.replace("/", "\\").rstrip("\\")

    @property
    def _owned(self) -> bool:
        """Whether the wanted list names an owner."""
        return _sddl.owner(self.acl or "") is not None

    def observe(self) -> tuple[Call, ...]:
        above: list[Json] = [*ancestors(self.name)] if self.guard_parents else []
        parameters: dict[str, Json] = {"paths": [self.name, *above]} | ({"acl": True} if self.acl else {})
        look = Call(id="directory", command="@read-file", parameters=parameters, on_error="continue")
        if self.move_aside == "nothing":
            return (look,)
        return (look, *_untrusted.questions(self.path, shallow=self.shallow))

    def plan(self, seen: Results) -> Change | None:
        found = only(self, seen, "directory")
        exists = bool(found.get("exists"))
        if exists and found.get("type") != "directory":
            raise ResourceError(self.title, "a file", "at this path is a file, wanted a directory or nothing")
        if self.state == "absent":
            return remove(self, {"path": self.name}, [remove_path(self.name)]) if exists else None
        if self.acl is None:
            return None if exists else create(self, {"path": self.name}, [make_directory(self.name)])
        refuse_link(self.title, found)
        above = [*self._parents(seen)]
        if not exists:
            return create(self, {"path": self.name, "acl": self.acl}, [*above, *self._make(self.acl)])
        return self._close(self.acl, found, above, seen)

    def _close(self, acl: str, found: t.Mapping[str, t.Any], above: t.Sequence[Call], seen: Results) -> Change | None:
        """Owner and list of a folder that exists, then what is in it."""
        before: dict[str, t.Any] = {}
        after: dict[str, t.Any] = {}
        calls = [*above]
        if above:
            before, after = {"parents": "others may replace them"}, {"parents": "closed"}
        if not _sddl.same(acl, str(found.get("sddl") or "")):
            before, after = {**before, "acl": found.get("sddl")}, {**after, "acl": acl}
            calls.append(set_acl(self.name, acl))
        items = [] if self.move_aside == "nothing" else _untrusted.found(self.path, self.move_aside, seen)
        if not items:
            return update(self, before, after, calls)
        target = _untrusted.aside(self.path, seen)
        before["untrusted"], after["untrusted"] = [item.path for item in items], []
        change = update(self, before, after, [*calls, *_untrusted.moves(self.path, items, target, acl)])
        warning = _untrusted.warning(items, target)
        return dataclasses.replace(change, look_again=True, warnings=(warning,)) if change else None

    def _make(self, acl: str) -> tuple[Call, ...]:
        if self._owned:
            return (make_closed(self.name, acl, empty=True),)
        return make_directory(self.name), set_acl(self.name, acl)

    def _parents(self, seen: Results) -> t.Iterator[Call]:
        """Closes those above that others could replace; the outermost first."""
        if not self.guard_parents:
            return
        known = {str(item.get("path")).casefold(): item for item in objects(self, seen, "directory")}
        for number, path in enumerate(ancestors(self.name)):
            item = known.get(path.casefold(), {})
            if not item.get("exists"):
                yield make_closed(path, SHARED, f"parent-{number}")
            elif _sddl.others(str(item.get("sddl") or ""), _sddl.REPLACE):
                yield set_acl(path, SHARED, f"parent-{number}")

    def explain(self, call_id: str, result: CallResult) -> str | None:
        if call_id.startswith("aside"):
            return (
                f"{self.name} holds what others than administrators own or can change. Something uses it: stop what "
                "runs from there (reset the node if it has joined), and run this again"
            )
        if result.error is not None and "FolderNotEmpty" in result.error.id:
            return "Somebody filled it since the node was looked at: look at what is in it, and run this again"
        return None
