# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The variables of the node_upgrade role."""

from __future__ import annotations

import dataclasses
import typing as t


@dataclasses.dataclass(frozen=True, kw_only=True)
class NodeUpgradeVariables:
    """The variables `node_upgrade_*`."""

    versions: tuple[str, ...]
    roles: tuple[
        t.Literal["windows_settings", "windows_features", "container_runtime", "cni", "kubernetes_node", "image_cache"],
        ...,
    ]
    patches: bool
    kubeadm_timeout: int
