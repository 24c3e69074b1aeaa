# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The configuration files of cloudbase-init, for its service and for its run during Windows Setup.

The files have the format of oslo.config. Source: cloudbase/cloudbase-init 1.1.8, cloudbaseinit/conf.
"""

from __future__ import annotations

import dataclasses
import functools
import re
import typing as t

from ..role_variables.cloudbase_init import ConfigurationVariables
from ..specification.data_files import load_data
from ..values.errors import ResourceError

DEFAULT = "DEFAULT"
"""The section of an option if the user names no section."""
CLASS = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)+", re.ASCII)
PURPOSE = "It selects where cloudbase-init gets its metadata from."
"""A sentence that explains `cloudbase_init_platform` in messages."""
OPTION = re.compile(r"[A-Za-z_]\w*", re.ASCII)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Platform:
    """Settings for a cloud platform. Metadata services and plugins are names of cloudbase-init's Python classes."""

    services: tuple[str, ...]
    unattend_services: tuple[str, ...]
    more_plugins: tuple[str, ...] = ()
    settings: t.Mapping[str, t.Any] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True, kw_only=True)
class CloudbaseInitFacts:
    """The content of data/cloudbase_init.yml."""

    source: str
    product_id: str
    folder: str
    service: str
    properties: t.Mapping[str, str]
    plugins: tuple[str, ...]
    unattend_plugins: tuple[str, ...]
    platforms: t.Mapping[str, Platform]
    log_levels: str
    closed_folders: tuple[str, ...]


@functools.cache
def facts() -> CloudbaseInitFacts:
    """Return the content of data/cloudbase_init.yml."""
    return load_data(CloudbaseInitFacts, "cloudbase_init.yml")


def of_service(variables: ConfigurationVariables) -> str:
    """Return the content of cloudbase-init.conf, which the cloudbase-init service reads.

    Args:
        variables: the role's variables.

    Raises:
        ResourceError: no platform is set, and at least one of the lists of metadata services is empty.
    """
    known, platform = facts(), _platform(variables)
    options = {
        **_common(variables, "cloudbase-init.log"),
        "username": variables.username,
        "groups": variables.groups,
        "inject_user_password": variables.inject_user_password,
        "first_logon_behaviour": variables.first_logon_behaviour,
        "rename_admin_user": variables.rename_admin_user,
        "metadata_services": variables.metadata_services or platform.services,
        "plugins": variables.plugins or (*platform.more_plugins, *known.plugins),
        **platform.settings,
    }
    return _text(options, variables.settings)


def of_setup(variables: ConfigurationVariables) -> str:
    """Return the content of cloudbase-init-unattend.conf, for the run of cloudbase-init during Windows Setup.

    cloudbase-init's own answer file for Windows Setup starts this run (lifecycle/sysprep.py).

    Args:
        variables: the role's variables.

    Raises:
        ResourceError: no platform is set, and at least one of the lists of metadata services is empty.
    """
    known, platform = facts(), _platform(variables)
    options = {
        **_common(variables, "cloudbase-init-unattend.log"),
        "metadata_services": variables.unattend_metadata_services or platform.unattend_services,
        "plugins": variables.unattend_plugins or known.unattend_plugins,
        # Windows Setup reboots the machine, and there is no service yet.
        "allow_reboot": False,
        "stop_service_on_exit": False,
    }
    return _text(options, variables.unattend_settings)


def lacks_services(platform: object, services: object, unattend_services: object) -> bool:
    """Return whether cloudbase-init would have no metadata services, either in its service or during Windows Setup.

    Args:
        platform: the platform; empty if there is none.
        services: the user's metadata services.
        unattend_services: the user's metadata services for the run during Windows Setup.
    """
    return not platform and not (services and unattend_services)


def expected_platform() -> str:
    """Return the part of a message that lists the supported platforms."""
    return f"expected one of {', '.join(facts().platforms)}"


def _platform(variables: ConfigurationVariables) -> Platform:
    if lacks_services(variables.platform, variables.metadata_services, variables.unattend_metadata_services):
        raise ResourceError("cloudbase_init_platform", None, expected_platform(), PURPOSE)
    return facts().platforms.get(variables.platform) or Platform(services=(), unattend_services=())


def _common(variables: ConfigurationVariables, log: str) -> dict[str, t.Any]:
    known = facts()
    port = {"logging_serial_port_settings": variables.serial_port} if variables.serial_port else {}
    return {
        "bsdtar_path": f"{known.folder}\\bin\\bsdtar.exe",
        "mtools_path": f"{known.folder}\\bin\\",
        "local_scripts_path": f"{known.folder}\\LocalScripts\\",
        "log_dir": f"{known.folder}\\log\\",
        "log_file": log,
        "default_log_levels": known.log_levels.strip(),
        "debug": variables.debug,
        **port,
        "check_latest_version": False,
    }


def _text(options: t.Mapping[str, t.Any], changed: t.Mapping[str, t.Any]) -> str:
    sections: dict[str, dict[str, t.Any]] = {DEFAULT: dict(options)}
    for name, value in changed.items():
        section, more = (name, value) if isinstance(value, t.Mapping) else (DEFAULT, {name: value})
        sections.setdefault(section, {}).update(more)
    return "\n".join(f"[{name}]\n{_lines(section)}" for name, section in sections.items())


def _lines(section: t.Mapping[str, t.Any]) -> str:
    return "".join(f"{name}={_value(value)}\n" for name, value in section.items() if value is not None)


def _value(value: t.Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, tuple)):
        return ",".join(map(_value, value))
    # oslo.config replaces $NAME with the value of another option.
    return str(value).replace("$", "$$")
