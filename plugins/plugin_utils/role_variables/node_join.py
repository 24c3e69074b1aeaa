# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The variables of the node_join role."""

from __future__ import annotations

import dataclasses
import typing as t

from ..lifecycle.join_commands import Listed
from ..node_config.kubeadm import Taint
from ..specification.describe import SECRET


@dataclasses.dataclass(frozen=True, kw_only=True)
class NodeJoinVariables:
    """The variables `node_join_*`."""

    kubeconfig: str
    kubeconfig_context: str
    delegate: str
    api_server: str
    node_name: str
    node_taints: tuple[Taint, ...]
    node_labels: t.Mapping[str, str | None]
    node_annotations: t.Mapping[str, str | None]
    kubelet_arguments: t.Mapping[str, t.Any] = dataclasses.field(metadata=SECRET)
    ignore_preflight_errors: tuple[str, ...]
    pre_kubeadm_commands: tuple[Listed, ...] = dataclasses.field(metadata=SECRET)
    post_kubeadm_commands: tuple[Listed, ...] = dataclasses.field(metadata=SECRET)
    domain: str
    domain_user: str
    domain_password: str = dataclasses.field(metadata=SECRET)
    domain_blob: str = dataclasses.field(metadata=SECRET)
    domain_ou: str
    domain_controller: str
    token_source: t.Literal["api", "control_plane"]
    control_plane: str
    control_plane_kubeadm: str
    discovery_method: t.Literal["auto", "token", "file"]
    approval: t.Literal["run", "cluster"]
    rejoin: bool
    verify_ca: bool
    token_ttl: int
    timeout: int
    ready_timeout: int
    network_timeout: int
    kubeadm_timeouts: t.Mapping[str, str]
    clock_skew_limit: float
    kube_proxy_configuration: t.Mapping[str, t.Any]
