# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The variables of the node_reset role."""

from __future__ import annotations

import dataclasses
import typing as t


@dataclasses.dataclass(frozen=True, kw_only=True)
class NodeResetVariables:
    """The variables `node_reset_*`."""

    node_name: str
    drain: bool
    delete_node: bool
    without_cluster: bool
    kubeconfig: str
    kubeconfig_context: str
    delegate: str
    containers: t.Literal["kubernetes", "all"]
    images: t.Literal["keep", "remove"]
    keep_logs: bool
    containerd_namespaces: tuple[str, ...]
    allow_reboot: bool
    timeout: int
