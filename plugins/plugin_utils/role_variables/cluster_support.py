# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The variables of the cluster_support role."""

from __future__ import annotations

import dataclasses
import typing as t

from ..active_directory.credential_spec import ClusterCredentialSpec
from ..specification.describe import SECRET


@dataclasses.dataclass(frozen=True, kw_only=True)
class ClusterSupportVariables:
    """The variables `cluster_support_*`."""

    namespace: str
    restrict_linux_daemon_sets: bool
    network: bool
    kube_proxy_account: bool
    runtime_classes: bool
    runtime_handler: str
    tolerations: tuple[t.Mapping[str, t.Any], ...]
    windows_exporter: bool
    windows_exporter_port: int
    windows_exporter_collectors: str
    windows_exporter_open_port: bool
    prometheus_rules: bool
    prometheus_labels: t.Mapping[str, str]
    log_shipper: bool
    log_outputs: tuple[t.Mapping[str, t.Any], ...] = dataclasses.field(metadata=SECRET)
    log_builds: tuple[t.Literal["windows-2019", "windows-2022", "windows-2025"], ...]
    csi_drivers: tuple[t.Literal["smb", "azure_disk", "azure_file"], ...]
    cloud_provider: t.Literal["", "azure", "external"]
    gmsa_credential_specs: tuple[ClusterCredentialSpec, ...]
    demo: bool
    demo_namespace: str
    demo_builds: tuple[t.Literal["windows-2019", "windows-2022", "windows-2025"], ...]
    demo_timeout: int
    images: t.Mapping[str, t.Any]
    force_conflicts: bool
    kubernetes_version: str
    api_server: str
    kubeconfig: str
    kubeconfig_context: str
    delegate: str
