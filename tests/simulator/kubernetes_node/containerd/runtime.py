# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A running containerd, which manages images and containers for kubelet, ctr and crictl, over its named pipe."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from simulator.kubernetes_node import hns
from simulator.kubernetes_node.cni import plugins as cni
from simulator.kubernetes_node.containerd.config import ContainerdConfig
from simulator.kubernetes_node.cri import image_files, shims
from simulator.kubernetes_node.cri.interface import CriRuntime, PodConfig, RuntimeFailure, RuntimeSettings
from simulator.kubernetes_node.cri.shims import Container, ContainerCommand, Sandbox
from simulator.kubernetes_node.images import oci
from simulator.kubernetes_node.images.puller import Puller, PullError, PullOptions, endpoints, pull
from simulator.kubernetes_node.images.store import K8S, ImageStore, StoredImage
from simulator.kubernetes_node.programs import contracts
from simulator.machine import listeners
from simulator.machine.objects import ProgramResult
from simulator.machine.service_rules import is_administrator

if TYPE_CHECKING:
    from simulator.machine.machine import Machine

MANAGED = {"io.cri-containerd.image": "managed"}
PINNED = {"io.cri-containerd.pinned": "pinned"}


class Containerd(CriRuntime):
    """A running containerd.

    Args:
        machine: the machine that containerd runs on.
        version: the version of containerd.exe.
        config: the configuration with which containerd was started.
        environment: containerd's environment variables, which are those of the machine and of the service.
        account: the account that containerd runs as. The simulator assumes that the Host Compute Service accepts only
            administrators. Microsoft does not document this requirement, but the way in which containerd
            and Docker are installed implies the requirement.
    """

    kind = "containerd"

    def __init__(self, machine: Machine, version: str, config: ContainerdConfig, environment: Mapping[str, str],
                 account: str = "LocalSystem") -> None:  # fmt: skip
        self._machine = machine
        self._may_compute = is_administrator(machine, account)
        self.version = version
        self.config = config
        self.environment = dict(environment)
        self.store = ImageStore(machine.files, config.root)
        self.store.make_namespace(K8S)
        machine.files.make_directory(config.state)

    @property
    def machine(self) -> Machine:
        """The machine that containerd runs on."""
        return self._machine

    @property
    def settings(self) -> RuntimeSettings:
        """The settings that CRI clients see."""
        return RuntimeSettings(self.config.sandbox_image, self.config.cni_conf_dir, self.config.cni_bin_dirs)

    @property
    def image_folder(self) -> str:
        """The folder with unpacked images."""
        return f"{self.config.root}\\io.containerd.snapshotter.v1.windows"

    @property
    def build(self) -> int:
        """The machine's Windows build, by which images are selected."""
        return self._machine.windows.build

    @property
    def exact(self) -> bool:
        """Whether an image's Windows build must match the machine's exactly, as containerd before 1.7 requires."""
        return not contracts.at_least(self.version, "1.7")

    # -- images

    def pull(self, name: str, credentials: str = "") -> StoredImage:
        """Pull an image for a CRI client, with the mirrors in config_path and the proxies of containerd's service.

        Args:
            name: the image's name.
            credentials: the client's `user:password`, from a pull secret or `crictl --creds`; by default, the
                credentials in containerd's configuration.

        Raises:
            PullError: the pull fails.
            oci.ReferenceFormatError: the name is invalid.
        """
        reference = oci.parse(name, familiar=True)
        config = self.config
        places = endpoints(self._machine, reference.host, config.registry_config_path, mirrors=config.registry_mirrors)
        images = config.plugin("io.containerd.cri.v1.images", "io.containerd.grpc.v1.cri")
        discard = images.get("discard_unpacked_layers") or images.get("containerd", {}).get("discard_unpacked_layers")
        pinned = PINNED if str(reference) == config.sandbox_image and contracts.at_least(self.version, "1.7") else {}
        options = PullOptions(self.build, self.exact, bool(discard), {**MANAGED, **pinned})
        credentials = credentials or config.credentials(reference.host)
        puller = Puller(self._machine, self.environment, credentials, version=self.version)
        try:
            image, manifest = pull(self.store, puller, places, reference, options)
        except PullError as error:
            raise PullError(f'failed to pull and unpack image "{reference}": {error}') from error
        for extra in (
            str(manifest["config"]["digest"]),
            f"{reference.host}/{reference.path}@{image.target['digest']}",
        ):
            self.store.put(StoredImage(extra, image.target, dict(image.labels)))
        return image

    def image(self, name: str) -> StoredImage | None:
        """Return an image from the store, or None if the image is missing or does not support this Windows version."""
        try:
            found = self.store.get(str(oci.parse(name, familiar=True)))
        except oci.ReferenceFormatError:
            found = self.store.get(name)
        return found if found and self.store.manifest(found, self.build, self.exact) else None

    def image_id(self, image: StoredImage) -> str:
        """Return an image's id (its configuration's digest), or an empty string if no manifest fits the machine."""
        found = self.store.manifest(image, self.build, self.exact)
        return str(found[1]["config"]["digest"]) if found else ""

    def image_size(self, image: StoredImage) -> int:
        """Return an image's size in bytes."""
        return self.store.size(image, self.build, self.exact)

    # -- pods

    def network(self) -> cni.NetworkConfig:
        """Return the CNI configuration.

        Raises:
            cni.CniError: the network is not ready. The exception's message gives the reason for NetworkReady=false.
        """
        return cni.ready(self._machine, self.config.cni_conf_dir, self.config.cni_bin_dirs)

    def load_status(self) -> str:
        """Return `OK`, or the reason why the CNI configuration could not be loaded."""
        return cni.load_status(self._machine, self.config.cni_conf_dir, self.config.cni_bin_dirs)

    def run_sandbox(self, pod: PodConfig) -> Sandbox:
        """Create the sandbox of a pod.

        Raises:
            RuntimeFailure: containerd is too old for the pod, runs as an account that is not an administrator, or
                cannot pull the pause image; or CNI fails.
        """
        if pod.host_process and not contracts.at_least(self.version, "1.6"):
            raise RuntimeFailure(f"HostProcess containers need containerd 1.6 or later, got {self.version}")
        image = self.config.sandbox_image
        if self.image(image) is None:
            try:
                self.pull(image)
            except Exception as error:
                raise RuntimeFailure(
                    f'failed to get sandbox image "{image}": failed to pull image "{image}": {error}'
                ) from error
        sandbox = Sandbox(shims.new_id(), pod.name, pod.namespace, pod.uid, attempt=pod.attempt)
        if not self._may_compute:
            # The text is from microsoft/hcsshim#2017.
            message = f"hcs::CreateComputeSystem {sandbox.id}: Access is denied.: unknown"
            raise RuntimeFailure(f"failed to create containerd task: failed to create shim task: {message}")
        known = shims.settle(self._machine)
        known.leases.add(sandbox.id)
        if pod.host_network:
            sandbox.address = self._machine.address
        else:
            try:
                self._join_network(sandbox)
            except cni.CniError as error:
                known.leases.discard(sandbox.id)
                raise RuntimeFailure(f'failed to setup network for sandbox "{sandbox.id}": {error}') from error
        known.sandboxes[sandbox.id] = sandbox
        shims.start_shim(self._machine, sandbox)
        return sandbox

    def _join_network(self, sandbox: Sandbox) -> None:
        """Create the network namespace and the network endpoint of a sandbox.

        Raises:
            cni.CniError: a CNI plugin fails.
        """
        network = self.network()
        netns = hns.new_id()
        sandbox.address = cni.add(
            self._machine, network, sandbox.id, netns, pod_namespace=sandbox.namespace, pod=sandbox.pod
        ).address
        sandbox.network, sandbox.netns = network.name, netns

    def stop_sandbox(self, sandbox: Sandbox) -> None:
        """Stop a sandbox and its containers, and remove the sandbox from its network.

        Raises:
            RuntimeFailure: CNI cannot remove the sandbox from its network.
        """
        for container in self.containers(sandbox.id):
            shims.stop(self._machine, container)
        if sandbox.network:
            try:
                cni.remove(self._machine, sandbox.network, sandbox.id)
            except cni.CniError as error:
                raise RuntimeFailure(f'failed to destroy network for sandbox "{sandbox.id}": {error}') from error
            sandbox.network = ""
        sandbox.ready = False
        shims.stop_shim(self._machine, sandbox)

    def remove_sandbox(self, sandbox: Sandbox) -> None:
        """Stop and remove a sandbox and its containers.

        Raises:
            RuntimeFailure: CNI cannot remove the sandbox from its network.
        """
        self.stop_sandbox(sandbox)
        found = self._machine.part(shims.Shims)
        for container in self.containers(sandbox.id):
            self.remove_container(container)
        found.sandboxes.pop(sandbox.id, None)
        found.leases.discard(sandbox.id)

    def sandboxes(self) -> list[Sandbox]:
        """Return the sandboxes, newest first."""
        return sorted(shims.settle(self._machine).sandboxes.values(), key=lambda item: item.created, reverse=True)

    def containers(self, sandbox: str = "") -> list[Container]:
        """Return all containers, or only the containers of a sandbox, newest first."""
        found = [item for item in shims.settle(self._machine).containers.values() if sandbox in ("", item.sandbox)]
        return sorted(found, key=lambda item: item.created, reverse=True)

    def run_container(
        self, sandbox: Sandbox, name: str, image: StoredImage, command: ContainerCommand, *, attempt: int, log: str
    ) -> Container:
        """Create and start a container."""
        found = shims.settle(self._machine)
        container = Container(shims.new_id(), name, sandbox.id, image.name, self.image_id(image), attempt, log=log)
        found.containers[container.id] = container
        known = self.store.manifest(image, self.build, self.exact)
        if known:
            command = image_files.complete(command, image_files.settings_of(self.store, known[1]))
            command = image_files.mount(self._machine, command, self.store.root(known[1]), self._scratch(container))
        shims.start(self._machine, container, command)
        return container

    def execute(self, container: Container, argv: Sequence[str], timeout: float) -> ProgramResult:
        """Run another program in a running container, and return the program's result."""
        return shims.execute(self._machine, container, argv, timeout)

    def _scratch(self, container: Container) -> str:
        return f"{self.image_folder}\\containers\\{container.id}"

    def stop_container(self, container: Container) -> None:
        """Stop a container."""
        shims.stop(self._machine, container)

    def remove_container(self, container: Container) -> None:
        """Stop and remove a container."""
        shims.stop(self._machine, container)
        self._machine.part(shims.Shims).containers.pop(container.id, None)
        image_files.remove(self._machine, self._scratch(container))


def connect(machine: Machine, address: str) -> Containerd | None:
    """Return the running containerd that listens on the given named pipe, or None if there is none."""
    found = listeners.behind(machine, address)
    return found if isinstance(found, Containerd) else None
