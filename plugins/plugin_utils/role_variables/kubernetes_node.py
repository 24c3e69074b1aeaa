# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The variables of the kubernetes_node role."""

from __future__ import annotations

import dataclasses
import typing as t

from ..active_directory.ccg_plugins import CcgPlugin
from ..lifecycle.join_commands import Listed
from ..node_config.credential_providers import CredentialProvider
from ..specification.describe import SECRET
from .shared import DownloadVariables, ServiceProxyVariables


@dataclasses.dataclass(frozen=True, kw_only=True)
class KubeletVariables:
    """The variables of the kubelet and of the other Kubernetes programs on a node."""

    version: str
    url: str = dataclasses.field(metadata=SECRET)
    sha256: str
    install_dir: str
    cluster_dns: tuple[str, ...]
    kubelet_configuration: t.Mapping[str, t.Any]
    kube_reserved: t.Mapping[str, str]
    system_reserved: t.Mapping[str, str]
    eviction_hard: t.Mapping[str, str]
    kubelet_arguments: t.Mapping[str, t.Any] = dataclasses.field(metadata=SECRET)
    credential_providers: tuple[CredentialProvider, ...]
    ccg_plugins: tuple[CcgPlugin, ...]
    kubelet_service: t.Literal["native", "nssm", "launcher"]
    pre_kubeadm_commands: tuple[Listed, ...] = dataclasses.field(default=(), metadata=SECRET)
    post_kubeadm_commands: tuple[Listed, ...] = dataclasses.field(default=(), metadata=SECRET)
    cloud_provider: t.Literal["", "azure", "external"]
    kubelet_log_file: str
    kubelet_log_max_mb: int
    kubelet_log_max_days: int
    open_kubelet_port: bool
    kubelet_clients: tuple[str, ...]


@dataclasses.dataclass(frozen=True, kw_only=True)
class KubernetesNodeVariables(KubeletVariables, DownloadVariables, ServiceProxyVariables):
    """The variables `kubernetes_node_*`."""

    hostname: str
    no_proxy: str
