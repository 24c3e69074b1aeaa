# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The resources of role node_upgrade: the kubeadm.exe of each step of an upgrade, next to the installed one."""

from __future__ import annotations

import typing as t

from ..lifecycle import upgrade
from .downloads import ResourceMapping, unpacked
from .kubernetes_node import KubernetesSettings

ROLE = "node_upgrade"
_MEMBER = "kubernetes/node/bin/kubeadm.exe"


def programs(
    settings: KubernetesSettings, steps: t.Sequence[str], checksums: t.Mapping[str, str]
) -> list[ResourceMapping]:
    """Return the resources that bring the kubeadm.exe of each step to the node.

    Args:
        settings: the variables of role kubernetes_node.
        steps: the versions, in order. The last one may be the version that the node gets.
        checksums: expected SHA-256 of the archives of other versions, as far as users gave them.

    Returns:
        The resources, in the order in which they are applied.

    Raises:
        ArtifactError: the settings of a download are invalid.
    """
    resources: list[ResourceMapping] = []
    for version in steps:
        own = version == settings.version.removeprefix("v")
        artifact = settings.downloads.artifact(
            "kubernetes",
            settings.version if own else version,
            url=settings.url if own else "",
            sha256=settings.sha256 if own else checksums.get(version, ""),
        )
        folder = upgrade.program(version).rpartition("\\")[0]
        resources += [
            artifact,
            unpacked(artifact, folder, members=[_MEMBER], strip_components=3, check=["kubeadm.exe"]),
        ]
    return resources


def leftovers() -> list[ResourceMapping]:
    """Return the resource that removes the kubeadm.exe of all steps."""
    return [{"type": "Directory", "name": upgrade.FOLDER, "state": "absent"}]
