# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The resources that install nssm, which can run any program as a Windows service."""

from __future__ import annotations

import dataclasses
import typing as t

from ..role_variables.container_runtime import ServiceManagerVariables
from .downloads import Downloads, ResourceMapping, unpacked


@dataclasses.dataclass(frozen=True, kw_only=True)
class ServiceManagerSettings(ServiceManagerVariables):
    """The variables `container_runtime_nssm_*`."""

    downloads: Downloads


def program(nssm_dir: str) -> str:
    """Return the Windows path of nssm.exe.

    Args:
        nssm_dir: `container_runtime_nssm_dir`.
    """
    return f"{nssm_dir}\\win64\\nssm.exe"


def artifact(settings: ServiceManagerVariables, downloads: Downloads) -> ResourceMapping:
    """Return the resource that downloads the archive of nssm.

    Args:
        settings: the version of nssm, and the URL and checksum of its archive.
        downloads: the role's download settings.
    """
    return downloads.artifact("nssm", settings.nssm_version, url=settings.nssm_url, sha256=settings.nssm_sha256)


def installed(
    archive: ResourceMapping, settings: ServiceManagerVariables, *, stops: t.Sequence[str]
) -> ResourceMapping:
    """Return the resource that unpacks nssm.

    Args:
        archive: the resource that downloads the archive of nssm.
        settings: the version and the folder.
        stops: services that nssm runs, and services that depend on them, in the order in which they are stopped before
            nssm.exe is replaced.
    """
    return unpacked(
        archive,
        settings.nssm_dir,
        members=[f"nssm-{settings.nssm_version}/win64/nssm.exe"],
        strip_components=1,
        check=["win64\\nssm.exe"],
        stops=list(stops),
    )


def resources(settings: ServiceManagerSettings, *, stops: t.Sequence[str]) -> list[ResourceMapping]:
    """Return the resources that install nssm for the kubelet or pod network services of a node with containerd.

    Args:
        settings: the role's variables.
        stops: services to stop before nssm.exe is replaced, as in `installed`.
    """
    archive = artifact(settings, settings.downloads)
    return [archive, installed(archive, settings, stops=stops)]
