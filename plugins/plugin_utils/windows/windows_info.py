# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Read a node's name and Windows version, and whether a reboot is pending. The calls run in remote/session.py."""

from __future__ import annotations

import dataclasses
import typing as t

from ..wire.calls import query
from ..wire.messages import Call, CallResult, Input, Json
from . import registry_keys, windows_versions

CALL_ID = "node.windows"
SUPPORTED_IDS = ("node.supported-build", "node.supported-type")
"""Ids of the calls that fail if the node's Windows is not supported. Calls with both ids in `needs` do not run then."""
_SERVERS: tuple[Json, ...] = ("Server", "Server Core")

_CURRENT_VERSION = "HKLM:\\SOFTWARE\\Microsoft\\Windows NT\\CurrentVersion"
_UPDATE = "HKLM:\\SOFTWARE\\Microsoft\\Windows\\CurrentVersion\\WindowsUpdate\\Auto Update\\RebootRequired"

_VALUES: tuple[tuple[str, str | None], ...] = (
    (_CURRENT_VERSION, "CurrentBuild"),
    (_CURRENT_VERSION, "UBR"),
    (_CURRENT_VERSION, "ProductName"),
    (_CURRENT_VERSION, "InstallationType"),
    (f"{registry_keys.COMPUTER_NAMES}\\ComputerName", "ComputerName"),
    (f"{registry_keys.COMPUTER_NAMES}\\ActiveComputerName", "ComputerName"),
    (registry_keys.SESSION_MANAGER, "PendingFileRenameOperations"),
    (registry_keys.SERVICING_REBOOT, None),
    (_UPDATE, None),
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class WindowsInfo:
    """Facts about the node that each observe step reads."""

    build: int
    """The registry value CurrentBuild, such as 20348."""
    ubr: int
    """Update build revision, such as 2700."""
    product: str
    """The registry value ProductName, such as Windows Server 2022 Datacenter."""
    installation: str
    """The registry value InstallationType, such as Server, Server Core or Client."""
    computer_name: str
    """Computer name after the next boot."""
    active_computer_name: str
    pending_reboot: tuple[str, ...]
    """Reasons why a reboot is pending: servicing, update, file_rename or computer_name."""

    @property
    def version(self) -> str | None:
        """The node's version of Windows Server, such as 2025, or None if it is a client version or is not supported."""
        return windows_versions.SUPPORTED.get(self.build) if self.installation.lower().startswith("server") else None

    @property
    def unsupported(self) -> str:
        """Why the node's version of Windows is not supported, as a clause, or an empty string if it is supported."""
        if self.version is not None:
            return ""
        supported = windows_versions.SUPPORTED.items()
        known = ", ".join(f"build {build} (Windows Server {name})" for build, name in supported)
        actual = f"{self.product} (build {self.build}, {self.installation or 'unknown installation type'})"
        return f"{actual} is not supported; expected {known}, or any version with allow_unsupported_windows: true"

    @property
    def unlisted(self) -> str:
        """A warning if the node's Windows is supported but not listed by Kubernetes, or an empty string."""
        listed = [version.name for version in windows_versions.VERSIONS if version.listed_by_kubernetes]
        if self.version is None or self.version in listed:
            return ""
        return f"Windows Server {self.version} works, but Kubernetes lists only {' and '.join(listed)} as supported"

    @property
    def nearest_version(self) -> str:
        """The known version whose rules apply to the node: the newest one that is not newer than the node's Windows."""
        return windows_versions.nearest(self.build).name


def call() -> Call:
    """Return the call that reads the node's name, its Windows version and the reasons for a pending reboot."""
    values: list[Json] = [{"path": path} if name is None else {"path": path, "name": name} for path, name in _VALUES]
    return query(CALL_ID, "@read-registry", {"values": values})


def support_calls() -> tuple[Call, ...]:
    """Return the calls to run after `call()`. They all succeed only if the node's Windows is supported."""
    builds: list[Json] = [str(build) for build in windows_versions.SUPPORTED]
    expected = (("CurrentBuild", builds), ("InstallationType", list(_SERVERS)))
    return tuple(
        query(
            call_id,
            "Write-Output",
            input=Input(calls=(CALL_ID,), where={"name": name}),
            select=(),
            until={"value": values},
        )
        for call_id, (name, values) in zip(SUPPORTED_IDS, expected, strict=True)
    )


def read(result: CallResult) -> WindowsInfo:
    """Return the facts about Windows from the result of the call that reads them.

    Raises:
        ValueError: the result does not contain the Windows version.
    """
    if not result.ok or len(result.output) != len(_VALUES):
        got = result.error or f"expected {len(_VALUES)} values, got {len(result.output)}"
        raise ValueError(f"could not read the Windows version from the registry: {got}")
    entries = dict(zip(_VALUES, result.output, strict=True))

    def value(path: str, name: str) -> t.Any:
        return entries[path, name].get("value")

    new_name = str(value(f"{registry_keys.COMPUTER_NAMES}\\ComputerName", "ComputerName") or "")
    active_name = str(value(f"{registry_keys.COMPUTER_NAMES}\\ActiveComputerName", "ComputerName") or "")
    pending = {
        "servicing": bool(entries[registry_keys.SERVICING_REBOOT, None].get("key_exists")),
        "update": bool(entries[_UPDATE, None].get("key_exists")),
        "file_rename": bool(value(registry_keys.SESSION_MANAGER, "PendingFileRenameOperations")),
        "computer_name": bool(active_name) and new_name.lower() != active_name.lower(),
    }
    return WindowsInfo(
        build=int(value(_CURRENT_VERSION, "CurrentBuild") or 0),
        ubr=int(value(_CURRENT_VERSION, "UBR") or 0),
        product=str(value(_CURRENT_VERSION, "ProductName") or "Windows"),
        installation=str(value(_CURRENT_VERSION, "InstallationType") or ""),
        computer_name=new_name,
        active_computer_name=active_name,
        pending_reboot=tuple(reason for reason, there in pending.items() if there),
    )
