# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Set the computer name of the node."""

from __future__ import annotations

import dataclasses
import re
import typing as t

from ..engine.changes import Reboot, objects, only, update
from ..engine.resource import Change, Resource
from ..values.errors import ResourceError
from ..windows.registry_keys import COMPUTER_NAMES
from ..windows.windows_info import WindowsInfo
from ..wire.calls import action, query
from ..wire.messages import Call, Json, Results

NETBIOS = 15
"""Maximum length of a NetBIOS name. The first 15 characters of each node's name must be unique."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class ComputerName(Resource):
    """The computer name of the node. The node is renamed and rebooted if the first 15 characters of its name differ."""

    type: t.ClassVar[str] = "ComputerName"
    name: str = dataclasses.field(metadata={"help": "The host name, without domain."})

    def __post_init__(self) -> None:
        if not re.fullmatch(r"(?=.*[A-Za-z-])[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?", self.name):
            expected = (
                "expected a host name without a dot: 1 to 63 letters, digits and hyphens, not only digits, and no "
                "hyphen at either end"
            )
            raise ResourceError("name", self.name, expected)

    def observe(self) -> tuple[Call, ...]:
        values: list[Json] = [
            {"path": f"{COMPUTER_NAMES}\\{which}", "name": "ComputerName"}
            for which in ("ComputerName", "ActiveComputerName")
        ]
        return (query("names", "@read-registry", {"values": values}, select=("path", "value")),)

    def plan(self, seen: Results, windows: WindowsInfo) -> Change | None:
        only(self, seen, "names")
        names = {
            str(item.get("path")).rpartition("\\")[2]: str(item.get("value")) for item in objects(self, seen, "names")
        }
        after = {"computer_name": self.name}
        reboot: Reboot = "always"
        if not self._is(names.get("ComputerName")):
            # Rename-Computer only warns that a reboot is needed, which follows anyway.
            parameters: dict[str, Json] = {"NewName": self.name, "Force": True, "WarningAction": "SilentlyContinue"}
            calls = [action("rename", "Rename-Computer", parameters)]
            return update(self, {"computer_name": names.get("ComputerName")}, after, calls, reboot=reboot)
        if not self._is(names.get("ActiveComputerName")):
            before = {"computer_name": names.get("ActiveComputerName")}
            return update(self, before, after, (), why="was renamed, but waits for a reboot", reboot=reboot)
        return None

    def _is(self, name: str | None) -> bool:
        return name is not None and name[:NETBIOS].casefold() == self.name[:NETBIOS].casefold()
