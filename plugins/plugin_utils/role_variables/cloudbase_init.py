# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The variables of the cloudbase_init role."""

from __future__ import annotations

import dataclasses
import typing as t

from ..specification.describe import SECRET
from .shared import DownloadVariables


@dataclasses.dataclass(frozen=True, kw_only=True)
class ConfigurationVariables:
    """The variables of cloudbase-init's configuration files."""

    platform: t.Literal["", "azure", "ec2", "openstack", "vmware", "nocloud"]
    metadata_services: tuple[str, ...]
    plugins: tuple[str, ...]
    unattend_metadata_services: tuple[str, ...]
    unattend_plugins: tuple[str, ...]
    username: str
    groups: tuple[str, ...]
    inject_user_password: bool
    first_logon_behaviour: t.Literal["no", "always", "clear_text_injected_only"]
    rename_admin_user: bool
    serial_port: str
    debug: bool
    settings: t.Mapping[str, t.Any]
    unattend_settings: t.Mapping[str, t.Any]


@dataclasses.dataclass(frozen=True, kw_only=True)
class CloudbaseInitVariables(ConfigurationVariables, DownloadVariables):
    """The variables `cloudbase_init_*`."""

    enabled: bool
    version: str
    url: str = dataclasses.field(metadata=SECRET)
    sha256: str
    proxy: str = dataclasses.field(metadata=SECRET)
    no_proxy: str
