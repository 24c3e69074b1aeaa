# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A folder."""

from __future__ import annotations

import dataclasses
import typing as t

from ..calls import Call, Json
from . import _sddl
from ._base import Change, Resource, ResourceError, Results
from ._paths import make_directory, remove_path, set_acl
from ._state import create, only, remove, update
from .file import check_acl


@dataclasses.dataclass(frozen=True, kw_only=True)
class Directory(Resource):
    """A folder, made with its parents."""

    type: t.ClassVar[str] = "Directory"
    name: str = dataclasses.field(metadata={"help": "Its path on the node."})
    acl: str | None = dataclasses.field(
        default=None, metadata={"help": "Its access list in SDDL, such as `D:P(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)`."}
    )
    state: t.Literal["present", "absent"] = dataclasses.field(
        default="present", metadata={"help": "Whether it exists. `absent` removes it with all in it."}
    )

    def __post_init__(self) -> None:
        check_acl(self.acl)
        if self.state == "absent" and len(self.name.rstrip("\\/ ")) < 3:
            raise ResourceError("name", self.name, "wanted a folder; a whole drive is not removed")

    def observe(self) -> tuple[Call, ...]:
        parameters: dict[str, Json] = {"paths": [self.name]} | ({"acl": True} if self.acl else {})
        return (Call(id="directory", command="@read-file", parameters=parameters, on_error="continue"),)

    def plan(self, seen: Results) -> Change | None:
        found = only(self, seen, "directory")
        exists = bool(found.get("exists"))
        if exists and found.get("type") != "directory":
            raise ResourceError(self.title, "a file", "at this path is a file, wanted a directory or nothing")
        if self.state == "absent":
            return remove(self, {"path": self.name}, [remove_path(self.name)]) if exists else None
        acl = [set_acl(self.name, self.acl)] if self.acl else []
        if not exists:
            return create(self, {"path": self.name, "acl": self.acl}, [make_directory(self.name), *acl])
        if self.acl is None or _sddl.same(self.acl, str(found.get("sddl") or "")):
            return None
        return update(self, {"acl": found.get("sddl")}, {"acl": self.acl}, acl)
