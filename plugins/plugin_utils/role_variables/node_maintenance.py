# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The variables of the node_maintenance role."""

from __future__ import annotations

import dataclasses


@dataclasses.dataclass(frozen=True, kw_only=True)
class NodeMaintenanceVariables:
    """The variables `node_maintenance_*`."""

    drain: bool
    serial: str
    max_failed: int
    ring: str
    ring_label: str
    ring_order: tuple[str, ...]
    soak: int
    gate: tuple[str, ...]
    windows: tuple[str, ...]
    time_zone: str
    owner: str
    node_name: str
    kubeconfig: str
    kubeconfig_context: str
    delegate: str
    drain_timeout: int
    ready_timeout: int
    force: bool
    delete_emptydir_data: bool
    grace_period: int
    host_process: bool
    hns_cleanup: bool
    hns_grace: float
    hns_containerd_namespaces: tuple[str, ...]
