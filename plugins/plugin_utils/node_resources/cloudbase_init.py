# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The resources of the cloudbase_init role: the program, its configuration, and the script that starts its service.

The service stays disabled while the image is built. The sysprep role then changes the service's start mode to Manual.
Windows Setup ends by running SetupComplete.cmd, which makes the start mode Automatic and starts the service. The
publisher's SetSetupComplete.cmd has the same effect.
Source: learn.microsoft.com/windows-hardware/manufacture/desktop/add-a-custom-script-to-windows-setup.
"""

from __future__ import annotations

import dataclasses

from ..engine import managed_marks
from ..resources.directory import closed
from ..role_variables.cloudbase_init import ConfigurationVariables
from ..specification.describe import SECRET
from ..values.versions import DATA
from . import cloudbase_configuration as configuration
from .downloads import Downloads, ResourceMapping
from .variables import Variables

ROLE = "cloudbase_init"
BUILDS_IMAGE = "winkube_builds_image"
"""Variable that is true where an image or a bundle is built. Elsewhere the role has no resources, because on a live
machine, the service would configure the machine again."""
MODE = "demand"
_SETUP_COMPLETE = "C:\\Windows\\Setup\\Scripts\\SetupComplete.cmd"
_COMPLETE = """@echo off
rem Windows Setup runs this file at its end (winkube.node, role cloudbase_init).
sc.exe config {service} start= auto
sc.exe start {service}
"""
_PLUGIN = DATA.parents[2] / "roles" / ROLE / "files" / "winkube_user_data.py"


@dataclasses.dataclass(frozen=True, kw_only=True)
class CloudbaseInitSettings(ConfigurationVariables):
    """The variables `cloudbase_init_*`."""

    enabled: bool
    version: str
    url: str = dataclasses.field(metadata=SECRET)
    sha256: str
    downloads: Downloads

    @classmethod
    def of(cls, variables: Variables, prefix: str) -> CloudbaseInitSettings:
        """Return the role's settings, which are read from the host's variables.

        Args:
            variables: the host's variables.
            prefix: prefix of the role's variables.
        """
        return variables.fields(cls, prefix, downloads=Downloads.of_downloading_role(variables, prefix))


def of_host(variables: Variables) -> list[ResourceMapping]:
    """Return a host's resources, or an empty list if the role is not enabled or if no image is built."""
    if not (variables.optional(BUILDS_IMAGE, False) and variables.value(f"{ROLE}_enabled")):
        return []
    return resources(variables.read(CloudbaseInitSettings, ROLE))


def resources(settings: CloudbaseInitSettings) -> list[ResourceMapping]:
    """Return the resources of the role, in the order in which they are applied.

    Args:
        settings: the role's variables.
    """
    known = configuration.facts()
    artifact = settings.downloads.artifact(
        "cloudbase-init", settings.version, url=_url(settings), sha256=settings.sha256
    )
    files = {
        f"{known.folder}\\conf\\cloudbase-init.conf": configuration.of_service(settings),
        f"{known.folder}\\conf\\cloudbase-init-unattend.conf": configuration.of_setup(settings),
        _SETUP_COMPLETE: _COMPLETE.format(service=known.service),
    }
    return [
        artifact,
        {
            "type": "Package",
            "name": "Cloudbase-Init",
            "product_id": known.product_id,
            "path": artifact["path"],
            "version": settings.version,
            "properties": dict(known.properties),
            "folder": known.folder,
            "disables": [known.service],
        },
        # The product may have been there before, or its installation may have been interrupted.
        {"type": "Service", "name": known.service, "if_exists": True, "start_mode": "disabled"},
        *({"type": "File", "name": name, "content": content, "line_ending": "crlf"} for name, content in files.items()),
        plugin_file(),
        *closed(known.closed_folders),
        _mode(known.service),
    ]


def plugin_file() -> ResourceMapping:
    """Return the resource that installs the collection's plugin for user data."""
    name = f"{configuration.facts().folder}\\Python\\Lib\\site-packages\\{_PLUGIN.name}"
    return {"type": "File", "name": name, "content": _PLUGIN.read_text(encoding="utf-8")}


def _url(settings: CloudbaseInitSettings) -> str:
    """Return the user's URL with `{version}` replaced by, for example, 1.2.3, and with `{underscores}` by 1_2_3."""
    version = settings.version
    return settings.url.replace("{version}", version).replace("{underscores}", version.replace(".", "_"))


def _mode(service: str) -> ResourceMapping:
    """Return the resource for the registry value that tells the sysprep role the start mode of the service."""
    return {
        "type": "Registry",
        "key": managed_marks.KEY,
        "value_name": f"Service {service}",
        "value_type": "String",
        "value": MODE,
    }
