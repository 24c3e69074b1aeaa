# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Test helpers that install Docker on a machine, and create running containers and leftover endpoints."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from simulator.kubernetes_node.docker import dockerd
from simulator.kubernetes_node.docker.dockerd import NAT, DockerContainer, Dockerd
from simulator.kubernetes_node.hns.objects import CREATED
from simulator.kubernetes_node.hns.service import HnsStore
from simulator.machine.executables import make

if TYPE_CHECKING:
    from simulator.machine.machine import Machine

FOLDER = r"C:\Program Files\Docker"
ENVIRONMENT = r"HKLM:\SYSTEM\CurrentControlSet\Control\Session Manager\Environment"


@dataclass
class DockerScene:
    """The endpoints of running, removed and stopped containers, and the ids of the running and stopped containers."""

    running: list[str] = field(default_factory=list)
    stale: list[str] = field(default_factory=list)
    stopped: list[str] = field(default_factory=list)
    containers: list[str] = field(default_factory=list)
    stopped_containers: list[str] = field(default_factory=list)


def install(machine: Machine, version: str = "28.5.1") -> Dockerd:
    """Install dockerd as the service `docker`, start it, and put docker.exe on PATH."""
    machine.files.make_directory(FOLDER)
    for name in ("docker", "dockerd"):
        machine.files.write_bytes(f"{FOLDER}\\{name}.exe", make(name, version))
    path = str(machine.registry.data(ENVIRONMENT, "Path", ""))
    if FOLDER not in path:
        machine.registry.set(ENVIRONMENT, "Path", f"{path};{FOLDER}", "ExpandString")
    if not machine.services.exists("docker"):
        machine.services.create(
            "docker", rf'"{FOLDER}\dockerd.exe" --run-service', Start=2, DisplayName="Docker Engine"
        )
    machine.services.start("docker")
    server = dockerd.connect(machine)
    assert server is not None
    return server


def populate(
    machine: Machine, *, running: int = 2, stale: int = 0, stopped: int = 0, network: str = NAT
) -> DockerScene:
    """Create containers on a machine with Docker.

    Args:
        machine: the machine; if Docker is missing, it is installed.
        running: the number of running containers.
        stale: the number of endpoints whose containers were removed.
        stopped: the number of stopped containers with leftover endpoints (moby/moby#47576). Each of these
            containers has a fixed address. Its endpoint still uses this address, so the container cannot start until
            the endpoint is removed.
        network: the network that the containers use. It must exist.

    Returns:
        The ids of the created endpoints and containers.
    """
    server = dockerd.connect(machine) or install(machine)
    store = HnsStore(machine)
    scene = DockerScene()
    for number in range(running):
        item = server.create(f"app-{number}", "registry.example/app:1", network=network)
        server.start(item)
        scene.running.append(item.endpoint)
        scene.containers.append(item.id)
    for number in range(stale + stopped):
        item = server.create(f"old-{number}", "registry.example/app:1", network=network)
        server.start(item)
        endpoint = server.endpoint(item)
        assert endpoint is not None
        _abandon(machine, item)
        endpoint.state, endpoint.shared = CREATED, [] if number % 2 else [item.id]
        if number < stale:
            server.remove(item, force=True)
            scene.stale.append(endpoint.id)
        else:
            item.address = endpoint.address
            scene.stopped.append(endpoint.id)
            scene.stopped_containers.append(item.id)
    assert all(any(known.id == name for known in store.endpoints()) for name in [*scene.stale, *scene.stopped])
    return scene


def _abandon(machine: Machine, item: DockerContainer) -> None:
    """End a container without notifying dockerd, as happens when the machine loses power."""
    if item.process:
        machine.processes.kill(item.process)
    item.state, item.endpoint, item.process = "exited", "", None
