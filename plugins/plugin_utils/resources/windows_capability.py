# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Install or remove a capability (feature on demand) of Windows."""

from __future__ import annotations

import dataclasses
import typing as t

from ..engine.changes import create, objects, remove
from ..engine.resource import Change, Resource
from ..values.errors import ResourceError
from ..windows.windows_info import WindowsInfo
from ..wire.calls import action, query
from ..wire.messages import Call, CallResult, Json, Results

_NO_SOURCE = ("0x800f0954", "0x800f0950", "0x800f081f", "0x8024402c")
"""Error codes with which DISM and Windows Update report that files are not available. Source: learn.microsoft.com/
troubleshoot/windows-client, "Error 0x800f0954 when you install optional features"."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class WindowsCapability(Resource):
    """A capability (feature on demand) of Windows, such as the OpenSSH server. Windows downloads it if necessary."""

    type: t.ClassVar[str] = "WindowsCapability"
    name: str = dataclasses.field(metadata={"help": "The capability's full name, such as `OpenSSH.Server~~~~0.0.1.0`."})
    source: tuple[str, ...] = dataclasses.field(
        default=(), metadata={"help": "Folders with the files of capabilities, for servers without Windows Update."}
    )
    state: t.Literal["present", "absent"] = dataclasses.field(
        default="present", metadata={"help": "Whether the capability is installed."}
    )

    def observe(self) -> tuple[Call, ...]:
        parameters: dict[str, Json] = {"Online": True, "Name": self.name}
        return (query("capability", "Get-WindowsCapability", parameters, select=("Name", "State")),)

    def plan(self, seen: Results, windows: WindowsInfo) -> Change | None:
        states = [str(item.get("State")) for item in objects(self, seen, "capability") if item.get("Name")]
        if not states:
            raise ResourceError(f"{self.title}.name", self.name, "expected a capability of this version of Windows")
        installed = states[0] == "Installed"
        if installed == (self.state == "present"):
            return None
        parameters: dict[str, Json] = {"Online": True, "Name": self.name}
        if not installed:
            if self.source:
                parameters |= {"Source": list(self.source), "LimitAccess": True}
            calls = [action("capability", "Add-WindowsCapability", parameters, long=True)]
            change = create(self, {"capability_state": "Installed"}, calls, why="is not installed")
            change = dataclasses.replace(change, downloads="" if self.source else "files of Windows Update")
        else:
            calls = [action("capability", "Remove-WindowsCapability", parameters, long=True)]
            change = remove(self, {"capability_state": states[0]}, calls)
        # A capability brings services, whose settings other resources define.
        return dataclasses.replace(change, observe_again=True)

    def explain(self, call_id: str, result: CallResult) -> str | None:
        """Return the remedy if Windows cannot get the capability's files, or None for other failures."""
        text = str(result.error or "").lower()
        if not any(code in text for code in _NO_SOURCE):
            return None
        return "Windows Update cannot be reached; set source to a folder with the files, or use an archive instead"
