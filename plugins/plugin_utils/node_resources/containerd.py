# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The resources of containerd as the node's container runtime."""

from __future__ import annotations

import dataclasses
import ntpath
import typing as t

from ..node_config import containerd
from ..role_variables.container_runtime import ContainerdVariables
from ..specification.convert import to_bool
from ..specification.switches import ALLOW_VERSIONS
from ..windows import node_paths
from . import registry_files
from .downloads import Downloads, ResourceMapping, unpacked
from .services import network_services, recovery
from .variables import Variables


@dataclasses.dataclass(frozen=True, kw_only=True)
class ContainerdSettings(ContainerdVariables):
    """The variables `container_runtime_*` of a node with containerd."""

    downloads: Downloads
    network_services: tuple[str, ...] = ()
    """Services of the pod network, which depend on the kubelet, in the order in which to stop them."""
    unsupported_versions: bool = False
    """Whether unsupported versions are accepted: if the user allows them, or has set a URL for containerd."""

    @classmethod
    def of(cls, variables: Variables, prefix: str) -> ContainerdSettings:
        """Return the role's settings, which are read from the host's variables.

        Args:
            variables: the host's variables.
            prefix: prefix of the role's variables.
        """
        allowed = to_bool(variables.optional(ALLOW_VERSIONS, False), ALLOW_VERSIONS)
        url = bool(variables.value(f"{prefix}_containerd_url"))
        services = network_services(variables)
        return variables.fields(cls, prefix, network_services=services, unsupported_versions=allowed or url)

    @property
    def log_folders(self) -> list[str]:
        """A list with the folder of the log file. The list is empty if there is no log file.

        containerd does not create the folder, and does not start if the folder is missing.
        """
        return [ntpath.dirname(self.log_file)] if self.log_file else []

    @property
    def registry_config_dir(self) -> str:
        """Folder with containerd's registry settings. It contains a subfolder for each registry."""
        return f"{self.install_dir}\\certs.d"


def resources(settings: ContainerdSettings) -> list[ResourceMapping]:
    """Return the resources of containerd. The service comes last, when all of its files exist.

    Args:
        settings: the role's variables.

    Returns:
        The resources, in the order in which they are applied.

    Raises:
        ResourceError: a registry is invalid.
        ArtifactError: the settings of a download are invalid.
        ValueError: another variable is invalid.
    """
    artifact = settings.downloads.artifact(
        "containerd", settings.containerd_version, url=settings.containerd_url, sha256=settings.containerd_sha256
    )
    crictl = crictl_artifact(settings)
    return [
        *_exclusions(settings),
        artifact,
        crictl,
        # List the members, so that each file is moved into place: running pods lock the shim, and tar.exe cannot
        # overwrite a locked file.
        unpacked(
            artifact,
            f"{settings.install_dir}\\bin",
            members=["bin/containerd.exe", "bin/ctr.exe", "bin/containerd-shim-runhcs-v1.exe"],
            strip_components=1,
            check=["containerd.exe", "ctr.exe", "containerd-shim-runhcs-v1.exe"],
            stops=[*settings.network_services, "kubelet", "containerd"],
        ),
        unpacked_crictl(crictl, settings.install_dir),
        *environment(f"{settings.install_dir}\\bin", settings.install_dir, node_paths.CONTAINERD_PIPE),
        {"type": "Directory", "name": settings.registry_config_dir},
        {
            "type": "File",
            "name": _config_path(settings),
            "content": _config(settings),
            "restarts": ["containerd"],
        },
        *registry_files.of_containerd(settings.registries, settings.registry_config_dir),
        _service(settings),
    ]


class HasCrictl(t.Protocol):
    """Settings of a runtime that uses crictl."""

    @property
    def crictl_version(self) -> str:
        """Version of crictl."""

    @property
    def crictl_url(self) -> str:
        """URL of the user's own download; empty to use the publisher's URL."""

    @property
    def crictl_sha256(self) -> str:
        """Expected SHA-256 of the downloaded file; empty if the user sets none."""

    @property
    def downloads(self) -> Downloads:
        """Sources of the role's downloads."""


def crictl_artifact(settings: HasCrictl) -> ResourceMapping:
    """Return the resource that downloads crictl.

    Args:
        settings: version and source of crictl.

    Returns:
        A resource of type Artifact.
    """
    return settings.downloads.artifact(
        "crictl", settings.crictl_version, url=settings.crictl_url, sha256=settings.crictl_sha256
    )


def unpacked_crictl(artifact: ResourceMapping, install_dir: str) -> ResourceMapping:
    """Return the resource that unpacks crictl.

    Args:
        artifact: the resource that downloads crictl.
        install_dir: `container_runtime_install_dir`.

    Returns:
        A resource of type Archive.
    """
    return unpacked(artifact, f"{install_dir}\\crictl", members=["crictl.exe"], check=["crictl.exe"])


def environment(programs: str, install_dir: str, pipe: str) -> list[ResourceMapping]:
    """Return the environment variables for the runtime's programs.

    With PATH, users can run the programs by name. With CONTAINER_RUNTIME_ENDPOINT, crictl finds the runtime.

    Args:
        programs: folder of the runtime's own programs.
        install_dir: `container_runtime_install_dir`, which contains crictl's folder.
        pipe: endpoint of the runtime.

    Returns:
        Resources of type Environment.
    """
    return [
        {"type": "Environment", "name": "PATH", "path_entries": [programs, f"{install_dir}\\crictl"]},
        {"type": "Environment", "name": "CONTAINER_RUNTIME_ENDPOINT", "value": pipe},
    ]


def exclusions(paths: t.Sequence[str], processes: t.Sequence[str], *, enabled: bool) -> list[ResourceMapping]:
    """Return the Microsoft Defender exclusions for a runtime.

    The exclusions must come before any archive or image is unpacked, because scanning makes unpacking several times
    slower.

    Args:
        paths: the folders to exclude.
        processes: file names of the programs to exclude.
        enabled: whether exclusions are enabled.

    Returns:
        A list with one resource of type DefenderExclusion, or an empty list.
    """
    if not enabled:
        return []
    exclusion = {"type": "DefenderExclusion", "name": "container runtime"}
    return [{**exclusion, "paths": list(paths), "processes": list(processes)}]


def _exclusions(settings: ContainerdSettings) -> list[ResourceMapping]:
    programs = ["containerd.exe", "containerd-shim-runhcs-v1.exe", "kubelet.exe", "kube-proxy.exe", "flanneld.exe"]
    return exclusions([settings.install_dir, settings.data_dir], programs, enabled=settings.defender_exclusions)


def _config_path(settings: ContainerdSettings) -> str:
    return f"{settings.install_dir}\\config.toml"


def _config(settings: ContainerdSettings) -> str:
    return containerd.render(
        settings.containerd_version,
        containerd.ContainerdConfig(
            sandbox_image=settings.sandbox_image,
            cni_bin_dir=settings.cni_bin_dir,
            cni_conf_dir=settings.cni_conf_dir,
            registry_config_dir=settings.registry_config_dir,
            root=f"{settings.data_dir}\\root",
            state=f"{settings.data_dir}\\state",
            discard_unpacked_layers=settings.discard_unpacked_layers,
        ),
        unsupported=settings.unsupported_versions,
    )


def _service(settings: ContainerdSettings) -> ResourceMapping:
    log = ["--log-file", settings.log_file, "--log-level", settings.log_level] if settings.log_file else []
    proxy = settings.downloads.proxy
    return {
        "type": "Service",
        "name": "containerd",
        "display_name": "containerd",
        "description": "Container runtime",
        "path": f"{settings.install_dir}\\bin\\containerd.exe",
        "arguments": ["--run-service", "--config", _config_path(settings), *log],
        # Not a delayed start: the kubelet depends on this service and starts automatically.
        "start_mode": "auto",
        "environment": proxy.environment,
        # The service's environment may contain a proxy password.
        "no_log": proxy.has_password,
        "recovery": recovery(),
        "state": "running",
    }
