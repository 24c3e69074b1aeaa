# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The resources of role container_runtime: the choice of the runtime, and what both runtimes have in common."""

from __future__ import annotations

import dataclasses

from ..resources.directory import closed
from . import containerd, docker
from .downloads import Resource
from .services import DOCKER_RUNTIMES, log_folders
from .variables import Variables

ROLE = "container_runtime"


@dataclasses.dataclass(frozen=True, kw_only=True)
class Folders:
    """What the roles that prepare both runtimes name alike."""

    cni_bin_dir: str
    cni_conf_dir: str


def of_host(variables: Variables) -> list[Resource]:
    """Returns the resources of the runtime that the host has, read from its variables.

    Args:
        variables: of the host.

    Returns:
        The resources, in the order in which they are made.
    """
    folders = variables.read(Folders, ROLE)
    cni = [folders.cni_bin_dir, folders.cni_conf_dir]
    if variables.runtime in DOCKER_RUNTIMES:
        settings = variables.read(docker.DockerSettings, ROLE)
        programs, logs = settings.program_folders, [settings.cri_dockerd_log_dir]
        own, chosen, other = docker.resources(settings), "docker", "containerd"
    else:
        found = variables.read(containerd.ContainerdSettings, ROLE)
        programs, logs = [found.install_dir], found.log_folders
        own, chosen, other = containerd.resources(found), "containerd", "cri-dockerd"
    return [
        # First: it refuses to switch a node that has joined.
        {"type": "NodeRuntime", "name": chosen},
        # An image may have brought the other runtime along, or the machine was reset. Docker's engine itself may be
        # there for something else, such as building container images.
        {"type": "Service", "name": other, "if_exists": True, "state": "stopped", "start_mode": "disabled"},
        # What runs as SYSTEM, or decides what does, is closed before anything is written there.
        *closed([*programs, *cni], users="read", disturbs=True),
        *log_folders(*logs, only_below="C:\\var\\log"),
        *own,
    ]
