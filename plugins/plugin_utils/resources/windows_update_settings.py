# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Configure the policies of Windows Update."""

from __future__ import annotations

import dataclasses
import typing as t

from ..engine.changes import objects, update
from ..engine.resource import Change, Resource
from ..values.errors import ResourceError
from ..windows.registry_calls import make_key, remove_value, set_value
from ..windows.windows_info import WindowsInfo
from ..wire.calls import query
from ..wire.messages import Call, Json, Results
from ..wire.scopes import Scope

KEY = r"HKLM:\SOFTWARE\Policies\Microsoft\Windows\WindowsUpdate"
AU = KEY + r"\AU"
_OPTIONS = {"notify": 2, "download": 3, "scheduled": 4}
_Value = tuple[str, str, "str | int | None"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class WindowsUpdateSettings(Resource):
    """Policies of Windows Update. Only the policies that you set are managed."""

    type: t.ClassVar[str] = "WindowsUpdateSettings"
    name: str = dataclasses.field(metadata={"help": "A label of your choice."})
    automatic_updates: t.Literal["disabled", "notify", "download", "scheduled"] | None = dataclasses.field(
        default=None,
        metadata={
            "help": "What Windows Update does: nothing (`disabled`), only `notify`, `download` and notify, or install"
            " at the `scheduled` day and hour."
        },
    )
    install_day: int | None = dataclasses.field(
        default=None,
        metadata={"help": "Day of scheduled installations: 0 for every day, or 1 (Sunday) to 7 (Saturday)."},
    )
    install_hour: int | None = dataclasses.field(
        default=None, metadata={"help": "Hour of scheduled installations, 0 to 23."}
    )
    no_auto_reboot: bool | None = dataclasses.field(
        default=None,
        metadata={"help": "Whether to prevent reboots after scheduled installations while a user is logged on."},
    )
    wsus_server: str | None = dataclasses.field(
        default=None,
        metadata={"help": "URL of the update server (WSUS). With an empty string, Microsoft's servers are used."},
    )

    def __post_init__(self) -> None:
        for name, limit in (("install_day", 7), ("install_hour", 23)):
            number = getattr(self, name)
            if number is not None and not 0 <= number <= limit:
                raise ResourceError(name, number, f"expected 0 to {limit}")
        if self.wsus_server and not self.wsus_server.startswith(("http://", "https://")):
            raise ResourceError("wsus_server", self.wsus_server, "expected a URL with http:// or https://")

    def _values(self) -> dict[str, _Value]:
        """Return the registry key, value name and data of each managed setting.

        If the data is None, the registry value must not exist.
        """
        values: dict[str, _Value] = {}
        if self.automatic_updates is not None:
            values["no_auto_update"] = (AU, "NoAutoUpdate", int(self.automatic_updates == "disabled"))
            if self.automatic_updates in _OPTIONS:
                values["automatic_updates"] = (AU, "AUOptions", _OPTIONS[self.automatic_updates])
        if self.install_day is not None:
            values["install_day"] = (AU, "ScheduledInstallDay", self.install_day)
        if self.install_hour is not None:
            values["install_hour"] = (AU, "ScheduledInstallTime", self.install_hour)
        if self.no_auto_reboot is not None:
            values["no_auto_reboot"] = (AU, "NoAutoRebootWithLoggedOnUsers", int(self.no_auto_reboot))
        if self.wsus_server is not None:
            server = self.wsus_server or None
            values["use_wsus_server"] = (AU, "UseWUServer", 1 if server else None)
            values["wsus_server"] = (KEY, "WUServer", server)
            values["wsus_status_server"] = (KEY, "WUStatusServer", server)
        return values

    def observe(self) -> tuple[Call, ...]:
        requested: list[Json] = [{"path": AU}, {"path": KEY}]
        return (query("policy", "@read-registry", {"values": requested}, select=("path", "key_exists", "values")),)

    def plan(self, seen: Results, windows: WindowsInfo) -> Change | None:
        keys = {str(item.get("path")).casefold(): item for item in objects(self, seen, "policy")}
        before: dict[str, t.Any] = {}
        after: dict[str, t.Any] = {}
        calls: list[Call] = []
        for setting, (key, name, value) in self._values().items():
            entry = keys.get(key.casefold(), {})
            have = {value_name.casefold(): item for value_name, item in (entry.get("values") or {}).items()}
            before[setting], after[setting] = (have.get(name.casefold()) or {}).get("value"), value
            if before[setting] == value:
                continue
            if value is None:
                calls.append(remove_value(setting, key, name))
                continue
            scope = Scope(f"{key[-2:]}-")
            if not entry.get("key_exists") and not any(call.id in scope for call in calls):
                calls += map(scope.call, make_key(key))
            calls.append(set_value(setting, key, name, "String" if isinstance(value, str) else "DWord", value))
        return update(self, before, after, calls)
