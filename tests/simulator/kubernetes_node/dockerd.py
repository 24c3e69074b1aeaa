# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""dockerd as far as HNS is concerned: its network `nat`, containers, and the endpoints that it makes for them.

An endpoint is made when a container starts and removed when it stops (moby libnetwork/drivers/windows); one that was
left, because the machine went down first, keeps its address from the container (moby/moby#47576).
"""

from __future__ import annotations

import contextlib
import ipaddress
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal

from simulator.kubernetes_node.hns_objects import Endpoint, HnsError, Network
from simulator.kubernetes_node.hns_store import Store
from simulator.machine import listeners
from simulator.machine.objects import RunningService, ServiceProgram
from simulator.machine.processes import Process
from simulator.machine.services import Service

if TYPE_CHECKING:
    from simulator.machine.machine import Machine

PIPE = "npipe:////./pipe/docker_engine"
NAT, SUBNET, GATEWAY = "nat", "172.20.0.0/20", "172.20.0.1"
State = Literal["created", "running", "exited"]


class DockerError(Exception):
    """dockerd refused; the text is its own."""


@dataclass
class DockerContainer:
    """A container of Docker.

    Parameters:
        network: name of its HNS network; `address` only if it was given by hand (`--ip`).
        endpoint: its HNS endpoint while it runs.
    """

    id: str
    name: str
    image: str
    network: str = NAT
    address: str = ""
    endpoint: str = ""
    state: State = "created"
    exit_code: int = 0
    created: datetime = field(default_factory=lambda: datetime.now(UTC))
    process: Process | None = None


@dataclass
class DockerState:
    """The containers, by id; they outlive dockerd and the machine's reboots."""

    containers: dict[str, DockerContainer] = field(default_factory=dict)

    def __deepcopy__(self, memo: dict[int, Any]) -> DockerState:
        """A machine that starts from this one's disk has none."""
        return DockerState()


class Dockerd:
    """A running dockerd."""

    def __init__(self, machine: Machine, version: str) -> None:
        self.machine, self.version = machine, version
        self._state = machine.part(DockerState)
        for item in self._state.containers.values():
            if item.state == "running" and not (item.process and item.process.alive):
                # It died with the machine; its endpoint, if it is still there, is nobody's now.
                item.state, item.exit_code, item.endpoint, item.process = "exited", 0x40010004, "", None
        store = Store(machine)
        if store.network_named(NAT) is None:
            store.create_network(NAT, "NAT", SUBNET, GATEWAY, type_text="nat")

    def containers(self) -> list[DockerContainer]:
        """Return all containers, newest first."""
        return sorted(self._state.containers.values(), key=lambda item: item.created, reverse=True)

    def find(self, name: str) -> DockerContainer:
        """Return a container by its name or the beginning of its id. Raises DockerError."""
        found = [item for item in self.containers() if item.name == name or item.id.startswith(name)]
        if not found:
            raise DockerError(f"No such container: {name}")
        return found[0]

    def create(self, name: str, image: str, *, network: str = NAT, address: str = "") -> DockerContainer:
        """Make a container, without starting it. Raises DockerError."""
        if any(item.name == name for item in self.containers()):
            raise DockerError(f'Conflict. The container name "/{name}" is already in use.')
        item = DockerContainer(uuid.uuid4().hex * 2, name, image, network, address)
        self._state.containers[item.id] = item
        return item

    def start(self, item: DockerContainer) -> None:
        """Start a container. Raises DockerError."""
        if item.state == "running":
            return
        store = Store(self.machine)
        network = store.network_named(item.network)
        if network is None:
            raise DockerError(f"network {item.network} not found")
        try:
            address = item.address or _free_address(store, network)
            # It names none of its endpoints, so HNS does.
            endpoint = store.add_endpoint("Ethernet", network.id, address, container=item.id)
        except HnsError as error:
            said = f"hnsCall failed in Win32: {error.said} (0x{error.code:x})"
            raise DockerError(
                f"failed to create endpoint {item.name} on network {item.network}: failed during "
                f"hnsCallRawResponse: {said}"
            ) from error
        item.endpoint = endpoint.id
        item.process = self.machine.processes.begin("container.exe", "ContainerAdministrator")
        item.state, item.exit_code = "running", 0

    def stop(self, item: DockerContainer) -> None:
        """Stop a container: its endpoint goes, if HNS still has it."""
        if item.state != "running":
            return
        if item.process:
            self.machine.processes.kill(item.process)
        item.state, item.exit_code, item.process = "exited", 0x40010004, None
        # libnetwork goes on when HNS does not have the endpoint any more.
        with contextlib.suppress(HnsError):
            Store(self.machine).remove_endpoint(item.endpoint)
        item.endpoint = ""

    def remove(self, item: DockerContainer, *, force: bool) -> None:
        """Remove a container. Raises DockerError if it runs, unless forced."""
        if item.state == "running" and not force:
            raise DockerError(
                f'cannot remove container "/{item.name}": container is running: stop the container before removing or '
                f"force remove"
            )
        self.stop(item)
        self._state.containers.pop(item.id, None)

    def endpoint(self, item: DockerContainer) -> Endpoint | None:
        """Return a running container's endpoint."""
        return next((known for known in Store(self.machine).endpoints() if known.id == item.endpoint), None)


def _free_address(store: Store, network: Network) -> str:
    taken = {item.address for item in store.endpoints() if item.network == network.id} | {network.gateway}
    hosts = ipaddress.ip_network(network.subnet).hosts()
    return next(str(item) for item in hosts if str(item) not in taken)


def connect(machine: Machine) -> Dockerd | None:
    """Return the dockerd that listens, or None."""
    found = listeners.behind(machine, PIPE)
    return found if isinstance(found, Dockerd) else None


class _Running:
    """The service's process."""

    def __init__(self, machine: Machine, server: Dockerd) -> None:
        self._machine, self._server = machine, server
        self.alive = True
        self.exit_code = 0
        listeners.open_pipe(machine, PIPE, server)

    def stop(self) -> None:
        """End it, and the containers with it; a machine that goes down does not wait for their endpoints."""
        self.alive = False
        listeners.close_pipe(self._machine, PIPE, self._server)
        if self._machine.power.state != "going-down":
            for item in self._server.containers():
                self._server.stop(item)


class _Service:
    def start(self, machine: Machine, service: Service) -> RunningService:
        """Start dockerd as a service."""
        return _Running(machine, Dockerd(machine, "28.5.1"))


def _status(machine: Machine) -> object:
    return [
        {"id": item.id, "name": item.name, "state": item.state, "network": item.network, "endpoint": item.endpoint}
        for item in machine.part(DockerState).containers.values()
    ]


SERVICES: Mapping[str, ServiceProgram] = {"dockerd": _Service()}
STATUS = {"docker": _status}
