# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The variables of the windows_settings role."""

from __future__ import annotations

import dataclasses
import typing as t

from ..resources.page_file import Paging
from ..specification.describe import SECRET
from .shared import ServiceProxyVariables


@dataclasses.dataclass(frozen=True, kw_only=True)
class PageFileSettings:
    """The page files of Windows. If no field is set, the page files are not changed."""

    automatic: bool | None = None
    files: tuple[Paging, ...] | None = None


@dataclasses.dataclass(frozen=True, kw_only=True)
class SystemVariables:
    """The variables that configure Windows Server itself."""

    hostname: str
    time_zone: str
    time_servers: tuple[str, ...]
    trusted_certificates: tuple[str, ...]
    registry_fixes: bool
    automatic_updates: t.Literal["disabled", "notify", "download", "scheduled"]
    wsus_server: str = dataclasses.field(metadata=SECRET)
    artifact_cache: str
    hosts: t.Mapping[str, str]
    page_file: PageFileSettings
    remote_desktop: t.Literal["", "enabled", "disabled"]
    winrm_delayed_start: bool
    ssh_server: t.Literal["", "capability", "archive"]
    ssh_url: str
    ssh_sha256: str
    ssh_authorized_keys: tuple[str, ...]


@dataclasses.dataclass(frozen=True, kw_only=True)
class WindowsSettingsVariables(SystemVariables, ServiceProxyVariables):
    """The variables `windows_settings_*`."""

    no_proxy: str | tuple[str, ...]
    cluster_addresses: tuple[str, ...]
