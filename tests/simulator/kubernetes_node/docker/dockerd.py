# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The running dockerd with its `nat` network, its container images, its containers and their endpoints.

Starting a container creates an endpoint, and stopping the container removes the endpoint (moby
libnetwork/drivers/windows). If the machine goes down while the container runs, the endpoint remains and occupies the
container's address (moby/moby#47576). dockerd creates no endpoint for a container whose network is `none`. A container
whose network is `container:ID` uses the endpoint of the container with this id.
"""

from __future__ import annotations

import contextlib
import ipaddress
import threading
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal

from simulator.kubernetes_node.docker.dockerd_config import PIPE, DaemonConfig
from simulator.kubernetes_node.docker.images import DockerError, DockerImage, DockerImages
from simulator.kubernetes_node.docker.pull import DockerTransfer, Pulled
from simulator.kubernetes_node.hns.objects import Endpoint, HnsError
from simulator.kubernetes_node.hns.service import HnsStore
from simulator.kubernetes_node.images import oci
from simulator.machine import listeners
from simulator.machine.processes import Process

if TYPE_CHECKING:
    from simulator.machine.machine import Machine

__all__ = ["NAT", "PIPE", "DockerContainer", "DockerError", "DockerState", "Dockerd", "connect"]

NAT, SUBNET, GATEWAY = "nat", "172.20.0.0/20", "172.20.0.1"
_STABLE = 20348  # images of this build and of later ones also run on builds later than their own
State = Literal["created", "running", "exited"]


@dataclass
class DockerContainer:
    """A Docker container.

    Args:
        id, name, image: the container's id and name, and the name of its image.
        network: the name of the container's HNS network, `none`, or `container:ID`.
        address: the container's address if it was set manually (`--ip`); otherwise empty.
        endpoint: the id of the HNS endpoint while the container is running.
        state, exit_code: the container's state, and the exit code once the container has exited.
        created, started, finished: the times of these events; None for events that have not happened.
        process: the container's process; None if the container has not been started.
        image_id: the id of the image in the store; empty for a container that a test created without an image.
        program: the program that runs in the container.
        labels: the container's labels, in which cri-dockerd stores the pod's name, namespace and UID.
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
    image_id: str = ""
    program: str = "container.exe"
    labels: Mapping[str, str] = field(default_factory=dict)
    started: datetime | None = None
    finished: datetime | None = None


@dataclass
class DockerState:
    """The containers, by id. They survive restarts of dockerd and of the machine."""

    containers: dict[str, DockerContainer] = field(default_factory=dict)

    def __deepcopy__(self, memo: dict[int, Any]) -> DockerState:
        """Return an empty state for a machine that starts from a copy of this machine's disk, without containers."""
        return DockerState()


class Dockerd:
    """A running dockerd.

    Args:
        machine: the machine that dockerd runs on.
        version: the version of Docker.
        config: the configuration with which dockerd was started.
        environment: dockerd's environment variables, which are those of the machine and of the service.

    Raises:
        DockerError: the configured network does not exist. The exception's message is dockerd's.
        HnsError: HNS refuses the `nat` network.
    """

    def __init__(
        self,
        machine: Machine,
        version: str,
        config: DaemonConfig | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self.machine, self.version = machine, version
        self.config = config or DaemonConfig()
        self._environment = dict(environment or {})
        self._state = machine.part(DockerState)
        for item in self._state.containers.values():
            if item.state == "running" and not (item.process and item.process.alive):
                # The container ended with the machine. If its endpoint still exists, it no longer belongs to any
                # container.
                item.state, item.exit_code, item.endpoint, item.process = "exited", 0x40010004, "", None
        self.images = DockerImages(machine, self.config.root)
        self._default_network()

    def _default_network(self) -> None:
        store = HnsStore(self.machine)
        if self.config.bridge == "none" or store.network_named(self.config.bridge or NAT):
            return
        if self.config.bridge:
            raise DockerError(f"failed to start daemon: Error initializing network controller: network "
                              f"{self.config.bridge} not found")  # fmt: skip
        subnet = ipaddress.ip_network(self.config.fixed_cidr or SUBNET)
        store.create_network(NAT, "NAT", str(subnet), str(subnet[1]), type_text="nat")

    def transfer(self, credentials: str = "", stop: threading.Event | None = None) -> DockerTransfer:
        """Return the object that pulls or pushes an image.

        Args:
            credentials: `user:password`; empty for anonymous access.
            stop: the event that is set when docker.exe ends.
        """
        return DockerTransfer(self.machine, self.version, self.config, self._environment, credentials, stop)

    def pull(self, reference: oci.ImageReference, credentials: str = "", stop: threading.Event | None = None) -> Pulled:
        """Pull an image.

        Raises:
            DockerError: the pull fails.
        """
        return self.transfer(credentials, stop).pull(self.images, reference)

    def users(self) -> dict[str, str]:
        """Return the ids of the images in use, each mapped to the id of a container that uses the image."""
        return {item.image_id: item.id for item in self._state.containers.values() if item.image_id}

    def containers(self) -> list[DockerContainer]:
        """Return all containers, newest first."""
        return sorted(self._state.containers.values(), key=lambda item: item.created, reverse=True)

    def find(self, name: str) -> DockerContainer:
        """Return a container by its name or the first digits of its id.

        Raises:
            DockerError: the container does not exist.
        """
        found = [item for item in self.containers() if item.name == name or item.id.startswith(name)]
        if not found:
            raise DockerError(f"No such container: {name}")
        return found[0]

    def create(
        self,
        name: str,
        image: str,
        *,
        network: str = NAT,
        address: str = "",
        program: str = "container.exe",
        labels: Mapping[str, str] | None = None,
    ) -> DockerContainer:
        """Create a container without starting it. Unlike dockerd, this method accepts a missing image.

        Raises:
            DockerError: another container has the same name.
        """
        other = next((item for item in self.containers() if item.name == name), None)
        if other:
            raise DockerError(
                f'Conflict. The container name "/{name}" is already in use by container "{other.id}". You have to '
                f"remove (or rename) that container to be able to reuse that name."
            )
        found = self._image(image)
        item = DockerContainer(uuid.uuid4().hex * 2, name, image, network, address)
        item.image_id, item.program, item.labels = found.id if found else "", program, dict(labels or {})
        self._state.containers[item.id] = item
        return item

    def _image(self, name: str) -> DockerImage | None:
        try:
            return self.images.find(name)
        except DockerError:
            return None

    def start(self, item: DockerContainer) -> None:
        """Start a container.

        Raises:
            DockerError: the image cannot run on this version of Windows, the network does not exist, or HNS refuses the
                endpoint.
        """
        if item.state == "running":
            return
        found = self._image(item.image_id) if item.image_id else None
        own = self.machine.windows.build
        if found and found.build and found.build != own and not _STABLE <= found.build <= own:
            raise DockerError(
                f"container {item.id} encountered an error during hcs::CreateComputeSystem: The container operating "
                f"system does not match the host operating system. (0xc0370101)"
            )
        item.endpoint = self._connect(item)
        item.process = self.machine.processes.begin(item.program, "ContainerAdministrator")
        item.state, item.exit_code, item.started = "running", 0, datetime.now(UTC)

    def _connect(self, item: DockerContainer) -> str:
        """Create a container's endpoint, and return the endpoint's id, or an empty string if dockerd creates none."""
        if item.network.startswith("container:"):
            other = self.find(item.network.partition(":")[2])
            if other.state != "running":
                raise DockerError(f"cannot join network of a non running container: {other.id}")
            return ""
        if item.network == "none":
            return ""
        store = HnsStore(self.machine)
        network = store.network_named(item.network)
        if network is None:
            raise DockerError(f"network {item.network} not found")
        try:
            address = item.address or store.free_address(network)
            # dockerd does not set the names of its endpoints, so HNS chooses them.
            return store.add_endpoint("Ethernet", network.id, address, container=item.id).id
        except HnsError as error:
            message = f"hnsCall failed in Win32: {error.text} (0x{error.code:x})"
            raise DockerError(
                f"failed to create endpoint {item.name} on network {item.network}: failed during "
                f"hnsCallRawResponse: {message}"
            ) from error

    def stop(self, item: DockerContainer) -> None:
        """Stop a container, and remove its endpoint if HNS still has the endpoint."""
        if item.state != "running":
            return
        if item.process:
            self.machine.processes.kill(item.process)
        item.state, item.exit_code, item.process = "exited", 0x40010004, None
        item.finished = datetime.now(UTC)
        # libnetwork continues if the endpoint no longer exists in HNS.
        with contextlib.suppress(HnsError):
            HnsStore(self.machine).remove_endpoint(item.endpoint)
        item.endpoint = ""

    def remove(self, item: DockerContainer, *, force: bool) -> None:
        """Remove a container.

        Raises:
            DockerError: the container is running, and `force` is not set.
        """
        if item.state == "running" and not force:
            raise DockerError(
                f'cannot remove container "/{item.name}": container is running: stop the container before removing or '
                f"force remove"
            )
        self.stop(item)
        self._state.containers.pop(item.id, None)

    def endpoint(self, item: DockerContainer) -> Endpoint | None:
        """Return a running container's endpoint, or None if it has no endpoint."""
        return next((known for known in HnsStore(self.machine).endpoints() if known.id == item.endpoint), None)


def connect(machine: Machine) -> Dockerd | None:
    """Return the dockerd that listens on the default pipe, or None if there is none."""
    found = listeners.behind(machine, PIPE)
    return found if isinstance(found, Dockerd) else None
