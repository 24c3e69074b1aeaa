# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The resources of the container_runtime role: those of the selected runtime, and those that both runtimes share."""

from __future__ import annotations

from ..resources.directory import closed
from ..role_variables.container_runtime import CniFolderVariables
from . import containerd, docker, service_manager
from .downloads import ResourceMapping
from .services import DOCKER_RUNTIMES, log_folders
from .variables import Variables

ROLE = "container_runtime"


def of_host(variables: Variables) -> list[ResourceMapping]:
    """Return the resources for the container runtime that the host's variables select.

    Args:
        variables: the host's variables.

    Returns:
        The resources, in the order in which they are applied.
    """
    folders = variables.read(CniFolderVariables, ROLE)
    cni = [folders.cni_bin_dir, folders.cni_conf_dir]
    if variables.runtime in DOCKER_RUNTIMES:
        settings = variables.read(docker.DockerSettings, ROLE)
        programs, logs = settings.program_folders, [settings.cri_dockerd_log_dir]
        own, chosen, other = docker.resources(settings), "docker", "containerd"
    else:
        containerd_settings = variables.read(containerd.ContainerdSettings, ROLE)
        programs, logs = [containerd_settings.install_dir], containerd_settings.log_folders
        own, chosen, other = containerd.resources(containerd_settings), "containerd", "cri-dockerd"
        stops = [*containerd_settings.network_services]
        if variables.optional("kubernetes_node_kubelet_service", "native") != "native":
            stops.append("kubelet")
        if stops:
            manager = variables.read(service_manager.ServiceManagerSettings, ROLE)
            programs.append(manager.nssm_dir)
            own += service_manager.resources(manager, stops=stops)
    return [
        # NodeRuntime comes first, because it refuses to switch the runtime of a joined node.
        {"type": "NodeRuntime", "name": chosen},
        # Disable the other runtime, which may be part of the machine's image, or left over from before a reset.
        # Docker's engine is not disabled, because it may have a different purpose, such as building container images.
        {"type": "Service", "name": other, "if_exists": True, "state": "stopped", "start_mode": "disabled"},
        # Restrict access to the folders of programs that run as SYSTEM, and to the folders of their settings, before
        # any file is written there.
        *closed([*programs, *cni], users="read", disrupts=True),
        *log_folders(*logs, only_below="C:\\var\\log"),
        *own,
    ]
