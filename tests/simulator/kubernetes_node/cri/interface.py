# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""CRI: the interface that kubelet, kubeadm and crictl use to access any container runtime over a pipe.

containerd serves CRI on its own pipe (`containerd/runtime.py`). dockerd's pipe does not support CRI, so cri-dockerd
serves CRI for Docker (`docker/cri_dockerd.py`). From Kubernetes 1.24 on, the kubelet supports only CRI.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from simulator.kubernetes_node.cni import plugins as cni
from simulator.kubernetes_node.cri.shims import Container, ContainerCommand, Sandbox
from simulator.kubernetes_node.images.store import ImageStore, StoredImage
from simulator.machine import listeners
from simulator.machine.objects import ProgramResult

if TYPE_CHECKING:
    from simulator.machine.machine import Machine


class RuntimeFailure(Exception):
    """Raised if a request to the runtime fails. The exception's message is the runtime's."""


def rpc_error(error: Exception) -> str:
    """Return the text that a CRI client shows for an error of the runtime.

    The text has the code `Unknown` for all errors from dockerd, because cri-dockerd does not pass on dockerd's codes.
    """
    text = str(error)
    missing = text.endswith(": not found") and not text.startswith("Error response from daemon: ")
    return f"rpc error: code = {'NotFound' if missing else 'Unknown'} desc = {text}"


@dataclass(frozen=True)
class PodConfig:
    """The configuration of a pod's sandbox."""

    name: str
    namespace: str
    uid: str
    host_network: bool = False
    host_process: bool = False
    attempt: int = 0


@dataclass(frozen=True)
class RuntimeSettings:
    """The settings of a runtime that `crictl info` prints."""

    sandbox_image: str
    cni_conf_dir: str
    cni_bin_dirs: Sequence[str]


class CriRuntime(ABC):
    """A container runtime as its CRI clients see it.

    Attributes:
        kind: the name in the response to CRI's Version request and in node objects: `containerd` or `docker`.
        version: the version of the runtime.
        store: the store of container images.
    """

    kind: ClassVar[str]
    version: str
    store: ImageStore

    @property
    @abstractmethod
    def machine(self) -> Machine:
        """The machine that the runtime runs on."""

    @property
    @abstractmethod
    def settings(self) -> RuntimeSettings:
        """The runtime's settings, as `crictl info` prints them."""

    def problem(self) -> str:
        """Return the reason for RuntimeReady=false, or an empty string if the runtime is ready."""
        return ""

    def load_status(self) -> str:
        """Return the `lastCNILoadStatus` that `crictl info` shows, or an empty string if the runtime reports none."""
        return ""

    def network_problem(self, error: cni.CniError) -> str:
        """Return the message for NetworkReady=false after a CNI error."""
        return f"Network plugin returns error: {error}"

    @abstractmethod
    def network(self) -> cni.NetworkConfig:
        """Return the CNI configuration.

        Raises:
            cni.CniError: the network is not ready. The exception's message gives the reason for NetworkReady=false.
        """

    @abstractmethod
    def pull(self, name: str, credentials: str = "") -> StoredImage:
        """Pull an image. `credentials` has the form `user:password`.

        Raises:
            PullError: the pull fails.
            oci.ReferenceFormatError: the name is invalid.
        """

    @abstractmethod
    def image(self, name: str) -> StoredImage | None:
        """Return an image from the store, or None if the image is missing or does not support this Windows version."""

    @abstractmethod
    def image_id(self, image: StoredImage) -> str:
        """Return an image's id (its configuration's digest), or an empty string if no manifest fits the machine."""

    @abstractmethod
    def image_size(self, image: StoredImage) -> int:
        """Return an image's size in bytes."""

    @property
    @abstractmethod
    def image_folder(self) -> str:
        """The folder with unpacked images."""

    def remove_image(self, name: str) -> None:
        """Remove one name of an image.

        Raises:
            RuntimeFailure: the runtime rejects the call.
        """
        self.store.delete(name)

    @abstractmethod
    def run_sandbox(self, pod: PodConfig) -> Sandbox:
        """Create the sandbox of a pod.

        Raises:
            RuntimeFailure: the runtime rejects the call.
        """

    @abstractmethod
    def stop_sandbox(self, sandbox: Sandbox) -> None:
        """Stop a sandbox and its containers, and remove the sandbox from its network.

        Raises:
            RuntimeFailure: the runtime rejects the call.
        """

    @abstractmethod
    def remove_sandbox(self, sandbox: Sandbox) -> None:
        """Stop and remove a sandbox and its containers.

        Raises:
            RuntimeFailure: the runtime rejects the call.
        """

    @abstractmethod
    def sandboxes(self) -> list[Sandbox]:
        """Return the sandboxes, newest first."""

    @abstractmethod
    def containers(self, sandbox: str = "") -> list[Container]:
        """Return all containers, or only the containers of a sandbox, newest first."""

    @abstractmethod
    def run_container(
        self, sandbox: Sandbox, name: str, image: StoredImage, command: ContainerCommand, *, attempt: int, log: str
    ) -> Container:
        """Create and start a container.

        Raises:
            RuntimeFailure: the runtime rejects the call.
        """

    @abstractmethod
    def stop_container(self, container: Container) -> None:
        """Stop a container."""

    def execute(self, container: Container, argv: Sequence[str], timeout: float) -> ProgramResult:
        """Run another program in a HostProcess container, and return its result. `timeout` is in seconds.

        Raises:
            RuntimeFailure: the runtime does not support HostProcess containers.
        """
        raise RuntimeFailure(f"HostProcess containers need containerd, got the runtime {self.kind}")

    @abstractmethod
    def remove_container(self, container: Container) -> None:
        """Stop and remove a container."""

    def info(self) -> dict[str, Any]:
        """Return the value of `config` in the output of `crictl info`."""
        found = self.settings
        network = {"binDirs": list(found.cni_bin_dirs), "confDir": found.cni_conf_dir}
        return {"cni": network, "sandboxImage": found.sandbox_image}


def connect(machine: Machine, address: str) -> CriRuntime | None:
    """Return the runtime that serves CRI on the given pipe, or None if there is none."""
    found = listeners.behind(machine, address)
    return found if isinstance(found, CriRuntime) else None
