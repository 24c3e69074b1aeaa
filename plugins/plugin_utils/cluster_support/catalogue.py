# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Read data/cluster_support.yml: the versions, images and names of the programs of the cluster_support role."""

from __future__ import annotations

import dataclasses
import functools
import typing as t

from ..specification.data_files import load_data
from ..values.versions import Version


@dataclasses.dataclass(frozen=True, kw_only=True)
class SupportProgram:
    """A program that runs in the cluster."""

    version: str
    source: str
    images: t.Mapping[str, str] = dataclasses.field(default_factory=dict)
    images_by_build: t.Mapping[str, str] = dataclasses.field(default_factory=dict)
    """For a program that is built for each version of Windows, maps each RuntimeClass (`windows-2022`) to its image."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class NodeManagerRelease:
    """The release of cloud-node-manager for one minor version of Kubernetes."""

    tag: str
    repository: str


@dataclasses.dataclass(frozen=True, kw_only=True)
class NodeManager:
    """Azure's cloud-node-manager."""

    name: str
    source: str
    releases: tuple[NodeManagerRelease, ...]
    """One release for each minor version of Kubernetes. A release has the same major and minor version as the
    Kubernetes release that it supports."""

    def image(self, kubernetes: str) -> str:
        """Return the image for a version of Kubernetes.

        If the version is newer than all releases, return the newest image.

        Args:
            kubernetes: version of Kubernetes.

        Raises:
            ValueError: the version is older than all releases.
        """
        minors = {Version.parse(one.tag)[:2]: one for one in self.releases}
        known = [minor for minor in minors if minor <= Version.parse(kubernetes)[:2]]
        if not known:
            oldest = ".".join(str(number) for number in min(minors))
            raise ValueError(
                f"cluster_support_cloud_provider: expected Kubernetes {oldest} or newer for Azure's cloud-node-manager,"
                f" got {kubernetes}. Upgrade the cluster, or set the image in cluster_support_images."
            )
        release = minors[max(known)]
        return f"{release.repository}/{self.name}:{release.tag}"


@dataclasses.dataclass(frozen=True, kw_only=True)
class CsiRole:
    """A ClusterRole of a CSI driver: its rules, and the name of its binding to the driver's service account."""

    binding: str
    rules: tuple[t.Mapping[str, t.Any], ...]


@dataclasses.dataclass(frozen=True, kw_only=True)
class CsiDriver:
    """A CSI driver. All names are the same as in the upstream manifests."""

    program: str
    driver: str
    daemon_set: str
    account: str
    container: str
    executable: str
    arguments: tuple[str, ...]
    memory: str
    roles: t.Mapping[str, CsiRole]
    spec: t.Mapping[str, t.Any]
    """Specification of the CSIDriver object."""
    metrics_port: int = 0
    credentials: bool = False
    """Whether the driver reads the path of its credentials from the optional azure-cred-file ConfigMap."""
    pre_stop: str = ""
    """Argument that the preStop hook passes to the driver's executable. If empty, there is no hook."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class ShippedLogs:
    """The logs that the log shipper reads."""

    files: t.Mapping[str, tuple[str, ...]]
    event_logs: t.Mapping[str, tuple[str, ...]]


@dataclasses.dataclass(frozen=True, kw_only=True)
class SupportCatalogue:
    """Content of data/cluster_support.yml."""

    programs: t.Mapping[str, SupportProgram]
    cloud_node_manager: NodeManager
    builds: t.Mapping[str, str]
    """Windows builds by the name of their RuntimeClass."""
    csi_drivers: t.Mapping[str, CsiDriver]
    logs: ShippedLogs


@functools.cache
def support_catalogue() -> SupportCatalogue:
    """Return the content of data/cluster_support.yml.

    Raises:
        ResourceError: the file has an unknown or missing key, or a value of the wrong type.
    """
    return load_data(SupportCatalogue, "cluster_support.yml")
