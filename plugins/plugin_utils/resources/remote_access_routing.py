# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Install or remove the router of Windows, which is a part of the Remote Access feature."""

from __future__ import annotations

import dataclasses
import typing as t

from ..engine.changes import is_missing, objects, remove, update
from ..engine.resource import Change, Resource
from ..windows.windows_info import WindowsInfo
from ..wire.calls import action, query
from ..wire.messages import Call, Json, Results

SERVICE = "RemoteAccess"
_OTHERS: t.Mapping[str, str] = {
    "DAStatus": "DirectAccess",
    "VpnStatus": "VPN",
    "VpnS2SStatus": "site-to-site VPN",
    "SstpProxyStatus": "the SSTP proxy",
}
"""Maps Get-RemoteAccess's status properties to the names of the Remote Access technologies, except routing.
Source: learn.microsoft.com, RAMgmtPSProvider, class RemoteAccessCommon."""
_INSTALLED = "Installed"


@dataclasses.dataclass(frozen=True, kw_only=True)
class RemoteAccessRouting(Resource):
    """The router of Windows, which is a part of Remote Access, and the router's service. Calico's BGP mode needs it.

    The Windows features `RemoteAccess`, `RSAT-RemoteAccess-PowerShell` and `Routing` must be installed, and the node
    must have been rebooted since.
    """

    type: t.ClassVar[str] = "RemoteAccessRouting"
    name: str = dataclasses.field(metadata={"help": "A label of your choice."})
    features: tuple[str, ...] = dataclasses.field(
        default=(),
        metadata={
            "help": "With `absent`: Windows features that are removed with the router, unless the node uses another "
            "technology of Remote Access, such as VPN."
        },
    )
    state: t.Literal["present", "absent"] = dataclasses.field(
        default="present",
        metadata={
            "help": "Whether routing is installed and its service runs. `absent` also removes the BGP router; if the "
            "node uses another technology of Remote Access, it removes only the BGP router."
        },
    )

    def observe(self) -> tuple[Call, ...]:
        access = query("access", "Get-RemoteAccess", select=("RoutingStatus", *_OTHERS))
        if self.state == "present":
            service = query("service", "Get-Service", {"Name": [SERVICE]}, select=("Status", "StartType"))
            return (access, service)
        calls = (access, query("router", "Get-BgpRouter", select=("BgpIdentifier", "LocalASN")))
        if not self.features:
            return calls
        features = query("features", "Get-WindowsFeature", {"Name": [*self.features]}, select=("Name", "Installed"))
        return (*calls, features)

    def plan(self, seen: Results, windows: WindowsInfo) -> Change | None:
        # Without the features, the cmdlets do not exist or fail.
        access = seen.get("access")
        known = access.output[0] if access is not None and access.ok and access.output else {}
        status: t.Mapping[str, t.Any] = known if isinstance(known, t.Mapping) else {}
        return self._absent(seen, status) if self.state == "absent" else self._present(seen, status)

    def _present(self, seen: Results, status: t.Mapping[str, t.Any]) -> Change | None:
        services = () if is_missing(seen.get("service")) else objects(self, seen, "service")
        service = services[0] if services else {}
        is_installed = status.get("RoutingStatus") == _INSTALLED
        before = {
            "routing": is_installed,
            "start_mode": str(service.get("StartType") or "").lower() or None,
            "service": str(service.get("Status") or "").lower() or None,
        }
        parameters: dict[str, Json] = {"VpnType": "RoutingOnly", "Confirm": False}
        calls = [
            *([] if is_installed else [action("install", "Install-RemoteAccess", parameters, long=True)]),
            action("automatic", "Set-Service", {"Name": SERVICE, "StartupType": "Automatic"}),
            # The service does not always start with the installation (docs.tigera.io, Install Calico for Windows).
            action("start", "Start-Service", {"Name": [SERVICE]}, long=True),
        ]
        change = update(self, before, {"routing": True, "start_mode": "automatic", "service": "running"}, calls)
        return change and dataclasses.replace(change, changes_network=not is_installed)

    def _absent(self, seen: Results, status: t.Mapping[str, t.Any]) -> Change | None:
        others = [name for key, name in _OTHERS.items() if status.get(key) == _INSTALLED]
        router = seen.get("router")
        has_router = router is not None and router.ok and bool(router.output)
        is_installed = status.get("RoutingStatus") == _INSTALLED and not others
        features = [] if others else self._installed(seen)
        calls = [
            *([action("router", "Remove-BgpRouter", {"Force": True}, long=True)] if has_router else []),
            *([action("uninstall", "Uninstall-RemoteAccess", {"Force": True}, long=True)] if is_installed else []),
            *([self._uninstall(features)] if features else []),
        ]
        if not calls:
            return None
        before = {
            **({"router": "configured"} if has_router else {}),
            **({"routing": True} if is_installed else {}),
            **({"features": features} if features else {}),
        }
        reboot: t.Literal["if_reported", "never"] = "if_reported" if features else "never"
        change = remove(self, before, calls, reboot=reboot)
        kept = [f"the Windows features are kept, because the node also uses {' and '.join(others)}"] if others else []
        return dataclasses.replace(change, changes_network=True, warnings=tuple(kept if self.features else ()))

    def _installed(self, seen: Results) -> list[str]:
        if not self.features or is_missing(seen.get("features")):
            return []
        return [str(one["Name"]) for one in objects(self, seen, "features") if one.get("Installed") is True]

    @staticmethod
    def _uninstall(features: list[str]) -> Call:
        return action(
            "features",
            "Uninstall-WindowsFeature",
            {"Name": [*features]},
            select=("Success", "RestartNeeded", "ExitCode"),
            until={"Success": True},
            long=True,
        )
