# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""CRI: what kubelet, kubeadm and crictl ask of a container runtime behind a pipe, whichever runtime it is.

containerd answers on its own pipe (`containerd/runtime.py`); for Docker, cri-dockerd does (`docker/cri_dockerd.py`).
dockerd's own pipe does not speak CRI. Since Kubernetes 1.24, the kubelet speaks nothing else.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from simulator.kubernetes_node.cni import plugins as cni
from simulator.kubernetes_node.cri.shims import Command, Container, Sandbox
from simulator.kubernetes_node.images.store import Image, ImageStore
from simulator.machine import listeners

if TYPE_CHECKING:
    from simulator.machine.machine import Machine


class RuntimeFailure(Exception):
    """A request that the runtime refused; the text is its own."""


@dataclass(frozen=True)
class PodConfig:
    """What a sandbox is made of."""

    name: str
    namespace: str
    uid: str
    host_network: bool = False
    host_process: bool = False
    attempt: int = 0


@dataclass(frozen=True)
class Settings:
    """What `crictl info` shows of a runtime's configuration."""

    sandbox_image: str
    cni_conf_dir: str
    cni_bin_dirs: Sequence[str]


class Runtime(ABC):
    """A container runtime as its CRI clients see it.

    Attributes:
        kind: as CRI's Version and node objects name it: `containerd`, `docker`.
        version: of the runtime.
        store: the container images.
    """

    kind: ClassVar[str]
    version: str
    store: ImageStore

    @property
    @abstractmethod
    def machine(self) -> Machine:
        """The machine it runs on."""

    @property
    @abstractmethod
    def settings(self) -> Settings:
        """Its configuration."""

    def problem(self) -> str:
        """Return why RuntimeReady is false; empty if it is true."""
        return ""

    def network_problem(self, error: cni.CniError) -> str:
        """Return the message of NetworkReady=false."""
        return f"Network plugin returns error: {error}"

    @abstractmethod
    def network(self) -> cni.NetworkConfig:
        """Return the CNI configuration. Raises cni.CniError: why NetworkReady is false."""

    @abstractmethod
    def pull(self, name: str, credentials: str = "") -> Image:
        """Pull an image; `credentials` as `user:password`. Raises PullError."""

    @abstractmethod
    def image(self, name: str) -> Image | None:
        """Return an image that is in the store and fits this Windows."""

    @abstractmethod
    def image_id(self, image: Image) -> str:
        """Return an image's id: the digest of its configuration."""

    @abstractmethod
    def image_size(self, image: Image) -> int:
        """Return an image's size in bytes."""

    @property
    @abstractmethod
    def image_folder(self) -> str:
        """The folder of unpacked images."""

    def remove_image(self, name: str) -> None:
        """Remove a name of an image. Raises RuntimeFailure."""
        self.store.delete(name)

    @abstractmethod
    def run_sandbox(self, pod: PodConfig) -> Sandbox:
        """Make a pod's sandbox. Raises RuntimeFailure."""

    @abstractmethod
    def stop_sandbox(self, sandbox: Sandbox) -> None:
        """Stop a sandbox: its containers end, its network goes. Raises RuntimeFailure."""

    @abstractmethod
    def remove_sandbox(self, sandbox: Sandbox) -> None:
        """Stop and remove a sandbox with its containers. Raises RuntimeFailure."""

    @abstractmethod
    def sandboxes(self) -> list[Sandbox]:
        """Return the sandboxes, newest first."""

    @abstractmethod
    def containers(self, sandbox: str = "") -> list[Container]:
        """Return the containers (of a sandbox), newest first."""

    @abstractmethod
    def run_container(
        self, sandbox: Sandbox, name: str, image: Image, command: Command, *, attempt: int, log: str
    ) -> Container:
        """Make and start a container. Raises RuntimeFailure."""

    @abstractmethod
    def stop_container(self, container: Container) -> None:
        """Stop a container."""

    @abstractmethod
    def remove_container(self, container: Container) -> None:
        """Remove a container, stopping it first."""

    def info(self) -> dict[str, Any]:
        """Return what `crictl info` prints under `config`."""
        found = self.settings
        network = {"binDirs": list(found.cni_bin_dirs), "confDir": found.cni_conf_dir}
        return {"cni": network, "sandboxImage": found.sandbox_image}


def connect(machine: Machine, address: str) -> Runtime | None:
    """Return the runtime that answers CRI on a pipe, or None."""
    found = listeners.behind(machine, address)
    return found if isinstance(found, Runtime) else None
