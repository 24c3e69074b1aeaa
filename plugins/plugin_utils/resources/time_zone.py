# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Set the node's time zone."""

from __future__ import annotations

import dataclasses
import typing as t

from ..engine.changes import only, update
from ..engine.resource import Change, Resource
from ..windows.windows_info import WindowsInfo
from ..wire.calls import action, query
from ..wire.messages import Call, Results


@dataclasses.dataclass(frozen=True, kw_only=True)
class TimeZone(Resource):
    """The node's time zone."""

    type: t.ClassVar[str] = "TimeZone"
    name: str = dataclasses.field(
        metadata={
            "help": "The time zone's id on Windows (`UTC`, `W. Europe Standard Time`); if `id` is set, a label "
            "of your choice."
        }
    )
    id: str | None = dataclasses.field(default=None, metadata={"help": "The time zone's id, if `name` is a label."})

    def observe(self) -> tuple[Call, ...]:
        return (query("zone", "Get-TimeZone", select=("Id",)),)

    def plan(self, seen: Results, windows: WindowsInfo) -> Change | None:
        desired = self.id or self.name
        current = str(only(self, seen, "zone").get("Id"))
        if current.casefold() == desired.casefold():
            return None
        calls = [action("set", "Set-TimeZone", {"Id": desired})]
        return update(self, {"time_zone": current}, {"time_zone": desired}, calls)
