# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The variables of the hns_cleanup role."""

from __future__ import annotations

import dataclasses
import typing as t


@dataclasses.dataclass(frozen=True, kw_only=True)
class HnsCleanupVariables:
    """The variables `hns_cleanup_*`."""

    scope: t.Literal["stale", "networks", "all"]
    networks: tuple[str, ...]
    ignore_missing: bool
    protected_networks: tuple[str, ...] | None
    keep_running_containers: bool
    stopped_containers: bool
    state_files: tuple[str, ...]
    containerd_namespaces: tuple[str, ...]
    grace: float
    hns_timeout: float
    network_timeout: int
    allow_hns_restart: bool
    allow_reboot: bool
    timeout: int
