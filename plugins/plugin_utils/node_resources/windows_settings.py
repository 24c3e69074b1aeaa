# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The resources of the windows_settings role: settings that Windows needs before Kubernetes programs are installed."""

from __future__ import annotations

import dataclasses

from ..resources.directory import closed
from ..role_variables.windows_settings import PageFileSettings, SystemVariables
from ..windows import node_paths, registry_fixes, windows_versions
from . import remote_access
from .downloads import Proxy, ResourceMapping
from .variables import Variables

ROLE = "windows_settings"


@dataclasses.dataclass(frozen=True, kw_only=True)
class WindowsSettings(SystemVariables):
    """The `windows_settings_*` variables."""

    proxy: Proxy

    @classmethod
    def of(cls, variables: Variables, prefix: str) -> WindowsSettings:
        """Read the role's variables.

        Args:
            variables: the host's variables.
            prefix: prefix of the role's variables.

        Returns:
            The settings. Reading the proxy's exceptions takes time, so they are read only if a proxy is set.
        """
        proxy = variables.fields(Proxy, prefix, no_proxy="")
        if proxy.is_set:
            proxy = dataclasses.replace(proxy, no_proxy=str(variables.value("winkube_no_proxy")))
        return variables.fields(cls, prefix, proxy=proxy)


def resources(settings: WindowsSettings) -> list[ResourceMapping]:
    """Return the role's resources. They must be applied before other roles download files.

    Args:
        settings: the role's variables.

    Returns:
        The resources, in the order in which they are applied.
    """
    cache = [settings.artifact_cache] if settings.artifact_cache else []
    certificates = enumerate(settings.trusted_certificates, start=1)
    return [
        # All users may create folders and files in ProgramData, so access to these folders is restricted before any
        # file is written there.
        *closed([node_paths.PROGRAM_DATA], shallow=True),
        *closed(cache, content="writable"),
        *(
            {"type": "CertificateImport", "name": f"trusted certificate {number}", "content": certificate}
            for number, certificate in certificates
        ),
        {"type": "TimeZone", "name": settings.time_zone},
        *_time_servers(settings),
        *_proxy(settings.proxy),
        {"type": "HostsFile", "name": "machine", "entries": settings.hosts},
        {
            "type": "WindowsUpdateSettings",
            "name": "machine",
            "automatic_updates": settings.automatic_updates,
            "wsus_server": settings.wsus_server or None,
        },
        *_page_file(settings),
        *(registry_fixes.resources(windows_versions.SUPPORTED_NAMES) if settings.registry_fixes else []),
        *remote_access.resources(settings, settings.proxy),
        # The computer name comes last, directly before the features of the next role, so that both changes take effect
        # with one reboot.
        *([{"type": "ComputerName", "name": settings.hostname}] if settings.hostname else []),
    ]


def _time_servers(settings: WindowsSettings) -> list[ResourceMapping]:
    if not settings.time_servers:
        return []
    return [{"type": "W32Time", "name": "time servers", "peers": list(settings.time_servers)}]


def _proxy(proxy: Proxy) -> list[ResourceMapping]:
    """Return the resources that set the machine's proxy. Settings that are no longer in the inventory are removed."""
    variables = (
        ("HTTP_PROXY", proxy.http_proxy, bool(proxy.http_proxy)),
        ("HTTPS_PROXY", proxy.https_proxy, bool(proxy.https_proxy)),
        ("NO_PROXY", proxy.no_proxy, proxy.is_set),
    )
    return [
        *(
            {
                "type": "Environment",
                "name": name,
                "value": value or None,
                "state": "present" if is_set else "absent",
                "managed": True,
                "no_log": name != "NO_PROXY" and "@" in value,
            }
            for name, value, is_set in variables
        ),
        {
            "type": "WinHttpProxy",
            "name": "machine",
            "proxy": proxy.https_proxy or proxy.http_proxy or None,
            "bypass": proxy.no_proxy.split(","),
            "state": "present" if proxy.is_set else "absent",
            "managed": True,
        },
    ]


def _page_file(settings: WindowsSettings) -> list[ResourceMapping]:
    given = settings.page_file
    if given == PageFileSettings():
        return []
    files = [dataclasses.asdict(file) for file in given.files or ()]
    return [{"type": "PageFile", "name": "machine", "automatic": bool(given.automatic), "files": files}]
