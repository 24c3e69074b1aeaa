# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The resources of the node_upgrade role: a separate kubeadm.exe for each Kubernetes version of a stepwise upgrade."""

from __future__ import annotations

import typing as t

from ..lifecycle import upgrade
from .downloads import ResourceMapping, unpacked
from .kubernetes_node import KubernetesSettings

ROLE = "node_upgrade"
_MEMBER = "kubernetes/node/bin/kubeadm.exe"


class Origin(t.NamedTuple):
    """The URL and the SHA-256 checksum of an archive. Fields that users do not set are empty."""

    url: str = ""
    sha256: str = ""


def programs(
    settings: KubernetesSettings, steps: t.Sequence[str], origins: t.Mapping[str, Origin]
) -> list[ResourceMapping]:
    """Return the resources that put the kubeadm.exe of each step of an upgrade on the node.

    Args:
        settings: the variables of the kubernetes_node role.
        steps: the Kubernetes versions to which the node is upgraded, one after the other. The last may be the version
            in the settings.
        origins: maps each version to the origin of its archive. For the version in the settings, the origin in the
            settings is used.

    Returns:
        The resources, in the order in which they are applied.

    Raises:
        ArtifactError: the settings of a download are invalid.
    """
    resources: list[ResourceMapping] = []
    for version in steps:
        own = version == settings.version.removeprefix("v")
        origin = Origin(settings.url, settings.sha256) if own else origins.get(version, Origin())
        artifact = settings.downloads.artifact(
            "kubernetes", settings.version if own else version, url=origin.url, sha256=origin.sha256
        )
        folder = upgrade.program(version).rpartition("\\")[0]
        resources += [
            artifact,
            unpacked(artifact, folder, members=[_MEMBER], strip_components=3, check=["kubeadm.exe"]),
        ]
    return resources


def leftovers() -> list[ResourceMapping]:
    """Return the resource that removes the kubeadm.exe files of all steps of an upgrade."""
    return [{"type": "Directory", "name": upgrade.FOLDER, "state": "absent"}]
