# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Install or remove a role or feature of Windows Server."""

from __future__ import annotations

import dataclasses
import typing as t

from ..engine.changes import create, is_missing, objects, remove
from ..engine.resource import Change, Resource
from ..values.errors import ResourceError
from ..windows.windows_info import WindowsInfo
from ..wire.calls import action, query
from ..wire.messages import Call, Json, Results


@dataclasses.dataclass(frozen=True, kw_only=True)
class WindowsFeature(Resource):
    """A role or feature of Windows Server. The node reboots if Windows requires it."""

    type: t.ClassVar[str] = "WindowsFeature"
    name: str = dataclasses.field(metadata={"help": "The feature's name, such as `Containers` or `Hyper-V`."})
    include_management_tools: bool = dataclasses.field(
        default=False, metadata={"help": "Whether to install or remove the feature's management tools as well."}
    )
    include_all_sub_features: bool = dataclasses.field(
        default=False, metadata={"help": "Whether to install all subfeatures as well."}
    )
    source: tuple[str, ...] = dataclasses.field(
        default=(),
        metadata={
            "help": "Folders with the files of features that were removed from Windows, such as an `sxs` folder."
        },
    )
    reboot: t.Literal["if_reported", "always"] = dataclasses.field(
        default="if_reported",
        metadata={
            "help": "When the node reboots after the feature was installed: if Windows reports that a reboot is needed,"
            " or always, for features that work only after a reboot."
        },
    )
    state: t.Literal["present", "absent"] = dataclasses.field(
        default="present", metadata={"help": "Whether the feature is installed."}
    )

    def joined(self, other: t.Self) -> t.Self | None:
        """Return this or the other resource for the same feature, or None if they differ in more than `reboot`.

        A resource that always reboots takes precedence.
        """
        reboots = max(self, other, key=lambda one: one.reboot == "always")
        alike = {dataclasses.replace(one, name=self.name, reboot="always") for one in (self, other)}
        return reboots if len(alike) == 1 else None

    def observe(self) -> tuple[Call, ...]:
        return (
            query("feature", "Get-WindowsFeature", {"Name": [self.name]}, select=("Name", "InstallState", "Installed")),
        )

    def plan(self, seen: Results, windows: WindowsInfo) -> Change | None:
        features = () if is_missing(seen.get("feature")) else objects(self, seen, "feature")
        if not features:
            raise ResourceError(f"{self.title}.name", self.name, "expected a feature of this version of Windows")
        # One of Installed, Available, Removed, InstallPending and UninstallPending.
        install_state = str(features[0].get("InstallState"))
        present = self.state == "present"
        desired, pending = ("Installed", "InstallPending") if present else ("Available", "UninstallPending")
        if install_state == desired or (not present and install_state == "Removed"):
            return None
        before = {"install_state": install_state}
        if install_state == pending:
            why = f"{'installed' if present else 'removed'}, but waits for a reboot"
            return Change(why=why, before=before, after={"install_state": desired}, calls=(), reboot="always")
        if present:
            calls = [self._change("Install-WindowsFeature")]
            return create(self, {"install_state": desired}, calls, why="is not installed", reboot=self.reboot)
        return remove(self, before, [self._change("Uninstall-WindowsFeature")], reboot="if_reported")

    def _change(self, command: str) -> Call:
        parameters: dict[str, Json] = {"Name": [self.name]}
        if self.include_management_tools:
            parameters["IncludeManagementTools"] = True
        if command == "Install-WindowsFeature":
            if self.include_all_sub_features:
                parameters["IncludeAllSubFeature"] = True
            if self.source:
                parameters["Source"] = list(self.source)
        return action(
            "feature",
            command,
            parameters,
            select=("Success", "RestartNeeded", "ExitCode"),
            until={"Success": True},
            long=True,
        )
