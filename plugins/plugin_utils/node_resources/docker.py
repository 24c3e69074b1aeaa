# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The resources of Docker as the node's container runtime: dockerd, and cri-dockerd, which nssm runs as a service."""

from __future__ import annotations

import dataclasses
import json
import ntpath
import typing as t

from ..active_directory import credential_spec
from ..node_config import nssm, registries
from ..resources.directory import closed
from ..role_variables.container_runtime import DockerVariables
from ..windows import node_paths
from ..windows.sddl import ADMINISTRATORS_ONLY_FILE
from . import containerd, registry_files, service_manager
from .downloads import Downloads, ResourceMapping, unpacked
from .services import DOCKER_NETWORK_SERVICES, recovery
from .variables import Variables

STOPS = (*DOCKER_NETWORK_SERVICES, "kubelet", "cri-dockerd", "docker")
"""Services to stop, in this order, before dockerd.exe is replaced."""
_EVENT_SOURCE = "HKLM:\\SYSTEM\\CurrentControlSet\\Services\\EventLog\\Application\\docker"


@dataclasses.dataclass(frozen=True, kw_only=True)
class Engine:
    """A build of Docker's engine: its publisher, version and download."""

    kind: str
    """`moby` for Docker's own build, `docker` for Mirantis' build."""
    version: str
    url: str
    sha256: str

    @classmethod
    def of(cls, variables: Variables, prefix: str) -> Engine:
        """Return the build of Docker's engine that the variable `container_runtime` selects.

        Args:
            variables: the host's variables.
            prefix: prefix of the role's variables.
        """
        kind = str(variables.value(prefix))
        return variables.fields(cls, f"{prefix}_{kind}", kind=kind)


@dataclasses.dataclass(frozen=True, kw_only=True)
class DockerSettings(DockerVariables):
    """The variables `container_runtime_*` of a node with Docker."""

    engine: Engine
    downloads: Downloads

    @property
    def program_folders(self) -> list[str]:
        """Folders of programs that run as SYSTEM or that administrators run."""
        return [self.docker_dir, self.cri_dockerd_dir, self.nssm_dir, self.install_dir]

    @property
    def configuration_file(self) -> str:
        """Path of daemon.json."""
        return f"{self.docker_data_dir}\\config\\daemon.json"


def resources(settings: DockerSettings) -> list[ResourceMapping]:
    """Return the resources of Docker's engine and cri-dockerd.

    Args:
        settings: the role's variables.

    Returns:
        The resources, in the order in which they are applied.

    Raises:
        ResourceError: a registry is invalid, or Docker does not support its settings.
        ArtifactError: the settings of a download are invalid.
        ValueError: another variable is invalid.
    """
    return [
        *closed([ntpath.dirname(settings.configuration_file)]),
        *_files(settings),
        *registry_files.of_docker(settings.registries),
        *_credential_specs(settings),
        *_docker_service(settings),
        *nssm.parameters(
            "cri-dockerd",
            application=f"{settings.cri_dockerd_dir}\\cri-dockerd.exe",
            arguments=cri_dockerd_arguments(settings),
            log_dir=settings.cri_dockerd_log_dir,
        ),
        {
            "type": "Service",
            "name": "cri-dockerd",
            "display_name": "cri-dockerd",
            "description": "Docker Engine as the kubelet's container runtime",
            "path": service_manager.program(settings.nssm_dir),
            "start_mode": "auto",
            # cri-dockerd exits if dockerd does not respond.
            "dependencies": ["docker"],
            "recovery": recovery(),
            "state": "running",
        },
    ]


def daemon_configuration(settings: DockerSettings) -> dict[str, t.Any]:
    """Return the content of daemon.json.

    Source: docs.docker.com, dockerd ("Daemon configuration file" on Windows; "Daemon proxy configuration" for 23.0 and
    later).

    Args:
        settings: the role's variables.

    Returns:
        The content. The keys of `container_runtime_docker_daemon` override the collection's keys.

    Raises:
        ResourceError: a registry is invalid.
    """
    proxy = settings.downloads.proxy
    urls = {"http-proxy": proxy.http_proxy, "https-proxy": proxy.https_proxy, "no-proxy": proxy.no_proxy}
    return {
        "data-root": settings.docker_data_dir,
        "log-driver": "json-file",
        "log-opts": dict(settings.docker_log_options),
        **registries.docker_settings(registries.read(settings.registries)),
        **({"proxies": urls} if proxy.is_set else {}),
        **settings.docker_daemon,
    }


def cri_dockerd_arguments(settings: DockerSettings) -> list[str]:
    """Return the arguments of cri-dockerd.

    The CNI folders are passed as arguments, because cri-dockerd's defaults differ from the collection's folders.
    Source: Mirantis/cri-dockerd, cmd/cri/options/options.go.

    Args:
        settings: the role's variables.
    """
    return [
        f"--container-runtime-endpoint={node_paths.CRI_DOCKERD_PIPE}",
        f"--docker-endpoint={node_paths.DOCKER_PIPE}",
        f"--pod-infra-container-image={settings.sandbox_image}",
        "--network-plugin=cni",
        f"--cni-bin-dir={settings.cni_bin_dir}",
        f"--cni-conf-dir={settings.cni_conf_dir}",
        f"--log-level={settings.log_level}",
    ]


def _files(settings: DockerSettings) -> list[ResourceMapping]:
    programs = ["dockerd.exe", "cri-dockerd.exe", "kubelet.exe", "kube-proxy.exe", "flanneld.exe"]
    paths = [settings.docker_dir, settings.docker_data_dir]
    proxy = settings.downloads.proxy
    return [
        *containerd.exclusions(paths, programs, enabled=settings.defender_exclusions),
        *_programs(settings),
        *containerd.environment(settings.docker_dir, settings.install_dir, node_paths.CRI_DOCKERD_PIPE),
        {
            "type": "File",
            "name": settings.configuration_file,
            "content": json.dumps(daemon_configuration(settings), indent=2, sort_keys=True) + "\n",
            # The file may contain a proxy password.
            "acl": ADMINISTRATORS_ONLY_FILE,
            "no_log": proxy.has_password,
            "restarts": ["docker"],
        },
    ]


def _programs(settings: DockerSettings) -> list[ResourceMapping]:
    engine, find = settings.engine, settings.downloads.artifact
    docker = find(engine.kind, engine.version, url=engine.url, sha256=engine.sha256)
    cri = find(
        "cri-dockerd",
        settings.cri_dockerd_version,
        url=settings.cri_dockerd_url,
        sha256=settings.cri_dockerd_sha256,
    )
    nssm_archive = service_manager.artifact(settings, settings.downloads)
    crictl = containerd.crictl_artifact(settings)
    return [
        docker,
        cri,
        nssm_archive,
        crictl,
        unpacked(
            docker,
            settings.docker_dir,
            members=["docker/docker.exe", "docker/dockerd.exe"],
            strip_components=1,
            check=["docker.exe", "dockerd.exe"],
            stops=list(STOPS),
        ),
        unpacked(
            cri,
            settings.cri_dockerd_dir,
            members=["cri-dockerd/cri-dockerd.exe"],
            strip_components=1,
            check=["cri-dockerd.exe"],
            stops=list(STOPS[:-1]),
        ),
        service_manager.installed(nssm_archive, settings, stops=STOPS[:-1]),
        containerd.unpacked_crictl(crictl, settings.install_dir),
    ]


def _docker_service(settings: DockerSettings) -> list[ResourceMapping]:
    """Return resources for the service and the event source that `dockerd --register-service` would create.

    Source: moby/moby, cmd/dockerd/service_windows.go.
    """
    program = f"{settings.docker_dir}\\dockerd.exe"
    source = {"type": "Registry", "key": _EVENT_SOURCE}
    return [
        {**source, "value_name": "CustomSource", "value_type": "DWord", "value": 1},
        {**source, "value_name": "EventMessageFile", "value": program},
        {**source, "value_name": "TypesSupported", "value_type": "DWord", "value": 7},
        {
            "type": "Service",
            "name": "docker",
            "display_name": "Docker Engine",
            "description": "Container runtime",
            "path": program,
            "arguments": ["--run-service", "--config-file", settings.configuration_file],
            "start_mode": "auto",
            "recovery": recovery(),
            "state": "running",
        },
    ]


def _credential_specs(settings: DockerSettings) -> list[ResourceMapping]:
    """Return resources for the files that `docker run --security-opt credentialspec=file://NAME.json` reads.

    Docker reads the files from the CredentialSpecs folder in its data folder. Pods do not need them, because the
    kubelet passes the content of a pod's credential spec to the runtime. Source: moby/moby, daemon/oci_windows.go
    (credentialSpecFileLocation).
    """
    folder = f"{settings.docker_data_dir}\\CredentialSpecs"
    if not settings.docker_credential_specs:
        return []
    return [
        *closed([folder]),
        *(
            {
                "type": "File",
                "name": f"{folder}\\{name}.json",
                "content": credential_spec.to_json(spec),
                # `PluginInput` may be a password.
                "acl": ADMINISTRATORS_ONLY_FILE,
                "no_log": True,
            }
            for name, spec in settings.docker_credential_specs.items()
        ),
    ]
