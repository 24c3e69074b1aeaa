# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The variables of the sysprep role."""

from __future__ import annotations

import dataclasses
import typing as t


@dataclasses.dataclass(frozen=True, kw_only=True)
class SysprepVariables:
    """The variables `sysprep_*`."""

    timeout: int
    unattend: str
    cloudbase_init: bool
    clean_paths: tuple[str, ...]
    registry_credentials: t.Literal["remove", "keep"]
    registry_config_dir: str
    proxy_credentials: t.Literal["refuse", "remove", "keep"]
    docker_configuration_file: str
    user_apps: t.Literal["remove", "keep"]
    remove_build_account: bool
    remove_accounts: tuple[str, ...]
    first_boot_winrm: bool
    reset_winrm: bool
    existing_runtime: t.Literal["refuse", "remove"]
    max_fill_percent: int
    disk_limit_gib: float
    end: t.Literal["power_off", "leave_running", "shutdown_command"]
