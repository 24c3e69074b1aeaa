# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The variables of the container_runtime role."""

from __future__ import annotations

import dataclasses
import typing as t

from ..node_config.registry_settings import RegistrySettings
from ..specification.describe import SECRET
from .shared import DownloadVariables, ServiceProxyVariables


@dataclasses.dataclass(frozen=True, kw_only=True)
class CniFolderVariables:
    """The variables for the folders of the CNI plugins, which containerd and Docker need."""

    cni_bin_dir: str
    cni_conf_dir: str


@dataclasses.dataclass(frozen=True, kw_only=True)
class RuntimeVariables(CniFolderVariables):
    """The variables that nodes with containerd and nodes with Docker have in common."""

    crictl_version: str
    crictl_url: str = dataclasses.field(metadata=SECRET)
    crictl_sha256: str
    install_dir: str
    log_level: t.Literal["trace", "debug", "info", "warn", "error", "fatal", "panic"]
    sandbox_image: str
    registries: t.Mapping[str, RegistrySettings]
    defender_exclusions: bool


@dataclasses.dataclass(frozen=True, kw_only=True)
class ContainerdVariables(RuntimeVariables):
    """The variables of a node with containerd."""

    containerd_version: str
    containerd_url: str = dataclasses.field(metadata=SECRET)
    containerd_sha256: str
    data_dir: str
    log_file: str
    discard_unpacked_layers: bool


@dataclasses.dataclass(frozen=True, kw_only=True)
class ServiceManagerVariables:
    """The variables of nssm, which runs programs such as cri-dockerd and flanneld as services."""

    nssm_version: str
    nssm_url: str = dataclasses.field(metadata=SECRET)
    nssm_sha256: str
    nssm_dir: str


@dataclasses.dataclass(frozen=True, kw_only=True)
class DockerVariables(RuntimeVariables, ServiceManagerVariables):
    """The variables of a node with Docker.

    The variables that select an edition of the Docker engine are in `ContainerRuntimeVariables`.
    """

    cri_dockerd_version: str
    cri_dockerd_url: str = dataclasses.field(metadata=SECRET)
    cri_dockerd_sha256: str
    docker_dir: str
    docker_data_dir: str
    docker_log_options: t.Mapping[str, t.Any]
    docker_daemon: t.Mapping[str, t.Any] = dataclasses.field(metadata=SECRET)
    docker_credential_specs: t.Mapping[str, t.Mapping[str, t.Any]] = dataclasses.field(metadata=SECRET)
    cri_dockerd_dir: str
    cri_dockerd_log_dir: str


@dataclasses.dataclass(frozen=True, kw_only=True)
class ContainerRuntimeVariables(ContainerdVariables, DockerVariables, DownloadVariables, ServiceProxyVariables):
    """The variables `container_runtime` and `container_runtime_*`."""

    container_runtime: t.Literal["containerd", "docker", "moby"] = dataclasses.field(
        metadata={"variable": "container_runtime"}
    )
    moby_version: str
    moby_url: str = dataclasses.field(metadata=SECRET)
    moby_sha256: str
    docker_version: str
    docker_url: str = dataclasses.field(metadata=SECRET)
    docker_sha256: str
    no_proxy: str
