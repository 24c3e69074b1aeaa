# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""cri-dockerd.exe, which serves CRI over its pipe and implements CRI with Docker containers.

contracts/docker.json lists the flags. cri-dockerd ends immediately if dockerd does not respond. It does not support
the service control manager (Mirantis/cri-dockerd main.go, cmd/server.go, core/docker_service.go), so on Windows it
needs a wrapper such as nssm. Pods on the host's network cannot start (kubernetes-sigs/sig-windows-tools#88).

Source for the containers of a pod: core/{naming,sandbox_run,sandbox_helpers,container_create}.go.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from simulator.kubernetes_node.cni import plugins as cni
from simulator.kubernetes_node.cri.interface import CriRuntime, PodConfig, RuntimeFailure, RuntimeSettings
from simulator.kubernetes_node.cri.shims import Container, ContainerCommand, Sandbox
from simulator.kubernetes_node.docker import dockerd_config
from simulator.kubernetes_node.docker.dockerd import PIPE, DockerContainer, Dockerd
from simulator.kubernetes_node.docker.images import DockerError, DockerImage
from simulator.kubernetes_node.images import oci
from simulator.kubernetes_node.images.puller import PullError
from simulator.kubernetes_node.images.store import ImageStore, StoredImage
from simulator.kubernetes_node.kubelet.settings import drive
from simulator.kubernetes_node.programs.flags import CommandFlags, FlagError, parse
from simulator.machine import listeners
from simulator.machine.objects import Invocation, Program, ProgramResult

if TYPE_CHECKING:
    from simulator.machine.machine import Machine

ENDPOINT = "npipe:////./pipe/cri-dockerd"
CONF_DIR, BIN_DIR = r"C:\k\cni\config", r"C:\k\cni\bin"
_POD, _NAMESPACE, _UID = "io.kubernetes.pod.name", "io.kubernetes.pod.namespace", "io.kubernetes.pod.uid"
_KIND, _SANDBOX, _NAME = "io.kubernetes.docker.type", "io.kubernetes.sandbox.id", "io.kubernetes.container.name"
_ATTEMPT, _LOG = "attempt", "io.kubernetes.container.logpath"


def _pause(version: str) -> str:
    """Return the default sandbox image of a version of cri-dockerd (cmd/cri/options/options.go)."""
    return f"registry.k8s.io/pause:{'3.10' if dockerd_config.at_least(version, '0.3.16') else '3.9'}"


class CriDockerd(CriRuntime):
    """A running cri-dockerd.

    Args:
        machine: the machine that cri-dockerd runs on.
        flags: the command line's options.
        own_version: the version of cri-dockerd. CRI reports Docker's version instead.
    """

    kind = "docker"

    def __init__(self, machine: Machine, flags: CommandFlags, own_version: str) -> None:
        self._machine = machine
        self.endpoint = flags.text("docker-endpoint") or PIPE
        bin_dirs = [drive(item).rstrip("\\") for item in flags.text("cni-bin-dir", BIN_DIR).split(",") if item]
        image = flags.text("pod-infra-container-image") or _pause(own_version)
        self._settings = RuntimeSettings(image, drive(flags.text("cni-conf-dir", CONF_DIR)), bin_dirs)
        self._objects: dict[str, Sandbox | Container] = {}

    @property
    def machine(self) -> Machine:
        """The machine that cri-dockerd runs on."""
        return self._machine

    @property
    def settings(self) -> RuntimeSettings:
        """The settings that CRI clients see."""
        return self._settings

    def docker(self) -> Dockerd:
        """Return the dockerd that cri-dockerd uses.

        Raises:
            RuntimeFailure: dockerd is not running.
        """
        found = listeners.behind(self._machine, self.endpoint)
        if not isinstance(found, Dockerd):
            raise RuntimeFailure(
                f"Cannot connect to the Docker daemon at {self.endpoint}. Is the docker daemon running?"
            )
        return found

    @property
    def version(self) -> str:  # type: ignore[override]
        """Docker's version."""
        return self.docker().version

    @property
    def store(self) -> ImageStore:  # type: ignore[override]
        """Docker's container images."""
        return self.docker().images.store

    @property
    def image_folder(self) -> str:
        """Docker's data-root folder."""
        return self.docker().config.root

    def problem(self) -> str:
        """Return the reason for RuntimeReady=false, or an empty string if dockerd is running."""
        try:
            self.docker()
        except RuntimeFailure as error:
            return f"docker: failed to get docker version: failed to get docker version from dockerd: {error}"
        return ""

    def network_problem(self, error: cni.CniError) -> str:
        """Return the message for NetworkReady=false after a CNI error."""
        message = "cni config uninitialized" if "cni plugin not initialized" in str(error) else str(error)
        return f"docker: network plugin is not ready: {message}"

    def network(self) -> cni.NetworkConfig:
        """Return the CNI configuration.

        Raises:
            cni.CniError: the network is not ready. The exception's message gives the reason for NetworkReady=false.
        """
        return cni.ready(
            self._machine, self._settings.cni_conf_dir, list(self._settings.cni_bin_dirs), skips_invalid=True
        )

    # -- container images

    def pull(self, name: str, credentials: str = "") -> StoredImage:
        """Pull an image into Docker's store.

        Raises:
            PullError: the pull fails.
        """
        try:
            pulled = self.docker().pull(oci.parse(name, familiar=True), credentials)
            return self._image(self.docker().images.find(pulled.id))
        except (DockerError, RuntimeFailure) as error:
            raise PullError(f"Error response from daemon: {error}") from error

    def image(self, name: str) -> StoredImage | None:
        """Return an image from Docker's store, or None if the image is missing or dockerd is not running."""
        try:
            return self._image(self.docker().images.find(name))
        except (DockerError, RuntimeFailure):
            return None

    @staticmethod
    def _image(found: DockerImage) -> StoredImage:
        return StoredImage((found.tags or found.digests or [found.id])[0], found.target)

    def image_id(self, image: StoredImage) -> str:
        """Return an image's id, or an empty string if the image has no manifest for the machine's Windows build."""
        found = self.store.manifest(image, self._machine.windows.build, exact=True)
        return str(found[1]["config"]["digest"]) if found else ""

    def image_size(self, image: StoredImage) -> int:
        """Return an image's size in bytes."""
        return next((item.size for item in self.docker().images.all() if item.id == self.image_id(image)), 0)

    def remove_image(self, name: str) -> None:
        """Remove one name of an image."""
        server = self.docker()
        try:
            if server.images.store.get(name) is not None:
                server.images.remove(name, force=False, used=server.users())
        except DockerError as error:
            raise RuntimeFailure(f"Error response from daemon: {error}") from error

    # -- pods

    def run_sandbox(self, pod: PodConfig) -> Sandbox:
        """Create a pod's sandbox: a container that runs the pause image."""
        server = self.docker()
        image = self._settings.sandbox_image
        if self.image(image) is None:
            try:
                self.pull(image)
            except PullError as error:
                raise RuntimeFailure(f'failed pulling image "{image}": {error}') from error
        labels = {_POD: pod.name, _NAMESPACE: pod.namespace, _UID: pod.uid, _KIND: "podsandbox", _NAME: "POD",
                  _ATTEMPT: str(pod.attempt)}  # fmt: skip
        name = "_".join(("k8s", "POD", pod.name, pod.namespace, pod.uid, str(pod.attempt)))
        mode = "host" if pod.host_network else "none"
        try:
            item = server.create(name, image, network=mode, program="pause.exe", labels=labels)
        except DockerError as error:
            _clear_conflict(server, name)
            raise RuntimeFailure(
                f'failed to create a sandbox for pod "{pod.name}": Error response from daemon: {error}'
            ) from error
        try:
            server.start(item)
        except DockerError as error:
            server.remove(item, force=True)  # kubelet's garbage collection does this a little later
            raise RuntimeFailure(
                f'failed to start sandbox container for pod "{pod.name}": Error response from daemon: {error}'
            ) from error
        sandbox = self._sandbox(item)
        if pod.host_network:
            sandbox.address = self._machine.address
        else:
            self._set_up(server, item, sandbox)
        return sandbox

    def _set_up(self, server: Dockerd, item: DockerContainer, sandbox: Sandbox) -> None:
        """Let CNI set up a sandbox's network.

        Docker has no network namespaces for CNI plugins, so the plugins attach the endpoint to the sandbox's container.
        """
        try:
            network = self.network()
            sandbox.address = cni.add(self._machine, network, item.id, "", pod_namespace=sandbox.namespace).address
            sandbox.network = network.name
        except cni.CniError as error:
            message = f'networkPlugin cni failed to set up pod "{sandbox.pod}_{sandbox.namespace}" network: {error}'
            server.remove(item, force=True)
            raise RuntimeFailure(
                f'failed to set up sandbox container "{item.id}" network for pod "{sandbox.pod}": {message}'
            ) from error

    def stop_sandbox(self, sandbox: Sandbox) -> None:
        """Stop a sandbox and its containers, and remove the sandbox from its network."""
        server = self.docker()
        for container in self.containers(sandbox.id):
            self.stop_container(container)
        if sandbox.network:
            try:
                cni.remove(self._machine, sandbox.network, sandbox.id)
            except cni.CniError as error:
                raise RuntimeFailure(
                    f'networkPlugin cni failed to teardown pod "{sandbox.pod}_{sandbox.namespace}" network: {error}'
                ) from error
            sandbox.network = ""
        sandbox.ready = False
        for item in [known for known in server.containers() if known.id == sandbox.id]:
            server.stop(item)

    def remove_sandbox(self, sandbox: Sandbox) -> None:
        """Stop and remove a sandbox and its containers."""
        server = self.docker()
        self.stop_sandbox(sandbox)
        for item in server.containers():
            if sandbox.id in (item.id, item.labels.get(_SANDBOX)):
                server.remove(item, force=True)
                self._objects.pop(item.id, None)

    def sandboxes(self) -> list[Sandbox]:
        """Return the sandboxes, newest first."""
        found = [item for item in self._all() if item.labels.get(_KIND) == "podsandbox"]
        return [self._sandbox(item) for item in found]

    def containers(self, sandbox: str = "") -> list[Container]:
        """Return all containers, or only the containers of a sandbox, newest first."""
        found = [item for item in self._all() if item.labels.get(_KIND) == "container"]
        return [self._container(item) for item in found if sandbox in ("", item.labels[_SANDBOX])]

    def _all(self) -> Sequence[DockerContainer]:
        return self.docker().containers()

    def _sandbox(self, item: DockerContainer) -> Sandbox:
        """Return the CRI sandbox for a Docker container, with its current state. Later calls return the same object."""
        known = self._objects.get(item.id)
        if not isinstance(known, Sandbox):
            labels = item.labels
            known = Sandbox(item.id, labels[_POD], labels[_NAMESPACE], labels[_UID], attempt=int(labels[_ATTEMPT]))
            known.created = item.created
            endpoint = next(iter(cni.endpoints_of(self._machine, item.id)), None)
            if endpoint:  # after a restart of cri-dockerd, the results of CNI still exist
                known.address, known.network = endpoint
            self._objects[item.id] = known
        known.ready = item.state == "running" and bool(item.process and item.process.alive)
        return known

    def _container(self, item: DockerContainer) -> Container:
        known = self._objects.get(item.id)
        if not isinstance(known, Container):
            labels = item.labels
            known = Container(item.id, labels[_NAME], labels[_SANDBOX], item.image, item.image_id,
                              int(labels[_ATTEMPT]), log=labels[_LOG], created=item.created)  # fmt: skip
            self._objects[item.id] = known
        known.process, known.started, known.finished = item.process, item.started, item.finished
        known.state = "CREATED" if item.state == "created" else "RUNNING" if _runs(item) else "EXITED"
        if known.state == "EXITED":
            known.exit_code, known.reason = item.exit_code, "Error" if item.exit_code else "Completed"
            known.finished = known.finished or item.started
        return known

    def run_container(
        self, sandbox: Sandbox, name: str, image: StoredImage, command: ContainerCommand, *, attempt: int, log: str
    ) -> Container:
        """Create and start a container in its sandbox's network."""
        server = self.docker()
        labels = {_POD: sandbox.pod, _NAMESPACE: sandbox.namespace, _UID: sandbox.uid, _KIND: "container", _NAME: name,
                  _SANDBOX: sandbox.id, _ATTEMPT: str(attempt), _LOG: log}  # fmt: skip
        whole = "_".join(("k8s", name, sandbox.pod, sandbox.namespace, sandbox.uid, str(attempt)))
        program = command.argv[0].rpartition("\\")[2] if command.argv else ""
        try:
            item = server.create(
                whole,
                self.image_id(image),
                network=f"container:{sandbox.id}",
                program=program or "container.exe",
                labels=labels,
            )
            item.image = image.name
            try:
                server.start(item)
            except DockerError:
                server.remove(item, force=True)
                raise
        except DockerError as error:
            _clear_conflict(server, whole)
            raise RuntimeFailure(f'failed to start container "{name}": Error response from daemon: {error}') from error
        return self._container(item)

    def stop_container(self, container: Container) -> None:
        """Stop a container."""
        for item in [known for known in self._all() if known.id == container.id]:
            self.docker().stop(item)
            self._container(item)

    def remove_container(self, container: Container) -> None:
        """Stop and remove a container."""
        for item in [known for known in self._all() if known.id == container.id]:
            self.docker().remove(item, force=True)
        self._objects.pop(container.id, None)


def _clear_conflict(server: Dockerd, name: str) -> None:
    """Remove a stopped container with the given name, so that a new one can use the name (sandbox_helpers.go)."""
    for item in server.containers():
        if item.name == name and not _runs(item):
            server.remove(item, force=False)


def _runs(item: DockerContainer) -> bool:
    return item.state == "running" and bool(item.process and item.process.alive)


def run(machine: Machine, invocation: Invocation) -> ProgramResult:
    """Simulate cri-dockerd.exe, which runs until it is stopped."""
    version = invocation.version
    try:
        flags, rest = parse(invocation.argv, dockerd_config.table(version, "cri-dockerd"))
    except FlagError as error:
        return _fatal(str(error), "Usage:\n  cri-dockerd\n\nFlags:\n")
    if rest:
        return _fatal(f"Unknown command: {rest[0]}", "Usage:\n  cri-dockerd\n\nFlags:\n")
    if flags.on("help"):
        return ProgramResult(0, "CRI that connects to the Docker Daemon\n\nUsage:\n  cri-dockerd\n\nFlags:\n")
    if flags.on("version") or flags.on("buildinfo"):
        return ProgramResult(0, f"cri-dockerd {version} (0000000)\n")
    plugin = flags.text("network-plugin", "cni")
    server = CriDockerd(machine, flags, version)
    try:
        docker = server.docker().version
    except RuntimeFailure as error:
        return _fatal(f"failed to get docker version: failed to get docker version from dockerd: {error}")
    if dockerd_config.at_least(version, "0.4") and not dockerd_config.at_least(docker, "23"):
        return _fatal("docker API version is older than 1.42.0")
    if plugin not in ("cni", "kubenet", "", "no-op"):
        return _fatal(f"didn't find compatible CNI plugin with given settings: network plugin {plugin!r} not found.")
    address = flags.text("container-runtime-endpoint", ENDPOINT)
    if not address.startswith("npipe:"):
        return _fatal(f"the simulator models only endpoints that begin with npipe:, got {address}")
    if listeners.behind(machine, address) is not None:
        return _fatal(f"open {listeners.pipe_name(address)}: Access is denied.")
    listeners.open_pipe(machine, address, server)
    try:
        invocation.stop.wait()
    finally:
        listeners.close_pipe(machine, address, server)
    return ProgramResult(0, "", 'level=info msg="Start docker client with request timeout 0s"\n')


def _fatal(text: str, printed: str = "") -> ProgramResult:
    quoted = text.replace('"', '\\"')
    return ProgramResult(1, "", f'{printed}time="2026-11-21T00:00:00Z" level=fatal msg="{quoted}"\n')


PROGRAMS: Mapping[str, Program] = {"cri-dockerd": run}
