# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The variables of a host that are compared with its cluster."""

from __future__ import annotations

import dataclasses
import typing as t


@dataclasses.dataclass(frozen=True, kw_only=True)
class HostVariables:
    """The variables of a host that are compared with the cluster."""

    kubernetes: str
    """Version of Kubernetes; empty if unknown."""
    runtime: str
    containerd: str
    cni_plugin: str
    backend: str
    """The backend of flannel."""
    calico_mode: str = ""
    """The mode of Calico. If it is empty, the node uses the cluster's mode."""
    set_strict_affinity: bool = False
    """Whether the run sets Calico's strict affinity."""
    enable_calico_windows: bool = False
    """Whether the run changes the Tigera operator's Installation so that Calico runs on Windows nodes."""
    cni_bin_dir: str = ""
    """Folder of CNI plugins; empty if unknown."""
    cni_conf_dir: str = ""
    """Folder of CNI configurations; empty if unknown."""
    mtu: int = 0
    """The MTU of the pods' packets (cni_mtu). If it is 0 (not set), the usual MTU of network adapters minus the
    overlay's headers is assumed."""
    cluster_dns: tuple[str, ...] = ()
    """DNS addresses that replace the addresses in kubeadm's configuration."""
    pods: str
    services: str
    api_server: str
    """The API server (`HOST:PORT`) that the node uses instead of the cluster's endpoint, or an empty string."""
    hosts: t.Mapping[str, str]
    """Maps each name in the node's hosts file to its address."""
    unsupported_versions: bool = False
    """Whether users allow versions that are not supported (allow_unsupported_versions)."""
    own_builds: t.Container[str] = ()
    """Which of the programs `kubernetes` and `containerd` come from archives at URLs that users chose."""
    address: str
    """The address at which Ansible reaches the node."""
