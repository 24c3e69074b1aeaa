# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Run the pods of one node as a kubelet does: pull images, start containers, and report the status of the pods."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from simulator.kubernetes_node.api.client import ApiError, Client
from simulator.kubernetes_node.cri.interface import CriRuntime, PodConfig, RuntimeFailure, rpc_error
from simulator.kubernetes_node.cri.shims import Container, ContainerCommand, Sandbox
from simulator.kubernetes_node.images import oci
from simulator.kubernetes_node.images.puller import PullError
from simulator.kubernetes_node.images.store import StoredImage
from simulator.kubernetes_node.kubelet import pod_environment, pod_status, pod_volumes
from simulator.kubernetes_node.kubelet.pod_environment import ContainerConfigError
from simulator.kubernetes_node.kubelet.pod_volumes import VolumeError, Volumes
from simulator.kubernetes_node.kubelet.probes import Probes
from simulator.kubernetes_node.kubelet.settings import KubeletSettings, drive
from simulator.kubernetes_node.programs import contracts
from simulator.kubernetes_node.programs.flags import duration

if TYPE_CHECKING:
    from simulator.machine.machine import Machine

_FIRST_DELAY = 10.0  # kubelet's first back-off, which doubles each time, in simulated seconds
_LONGEST_PULL_DELAY = 300.0
# The back-off starts again after a container has run for this time, in simulated seconds. Source:
# https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/#restart-policy
_STABLE = 600.0


class _ResolverError(Exception):
    """Raised if the value of the kubelet's resolvConf is invalid on Windows."""


@dataclass
class Turn:
    """The state of a container: its current and previous runs, its restarts, and the reason if it is waiting."""

    waiting: str = "ContainerCreating"
    message: str = ""
    restarts: int = 0
    delay: float = 0.0
    not_before: float = 0.0
    seen: str = ""
    current: Container | None = None
    last: Container | None = None
    probes: Probes = field(default_factory=Probes)


@dataclass
class Worker:
    """A kubelet's state for one pod."""

    uid: str
    volumes: Volumes = field(default_factory=Volumes)
    sandbox: Sandbox | None = None
    attempts: int = 0
    turns: dict[str, Turn] = field(default_factory=dict)
    retry: float = 0.0
    event: str = ""
    reported: dict[str, Any] | None = None

    def turn(self, name: str) -> Turn:
        """Return the state of a container."""
        return self.turns.setdefault(name, Turn(waiting="PodInitializing" if self.sandbox else "ContainerCreating"))


class Pods:
    """The pods of a kubelet. Only the kubelet's thread calls the methods.

    Args:
        name: the name of the node.
        scale: the number of real seconds that a simulated second of a back-off or of a probe's interval takes.
    """

    def __init__(self, machine: Machine, client: Client, settings: KubeletSettings, name: str, scale: float) -> None:
        self._machine, self._client, self._settings, self._name = machine, client, settings, name
        self._scale = scale
        self._workers: dict[str, Worker] = {}
        self._service_variables: dict[str, str] = {}

    def sync(self, pods: list[dict[str, Any]], runtime: CriRuntime | None) -> bool:
        """Do the next step for each pod of the node. Return whether any pod is pending, not ready or being deleted."""
        busy = False
        present = {pod["metadata"]["uid"] for pod in pods}
        if runtime:
            self._sweep(runtime, present)
        for pod in sorted(pods, key=lambda item: str(item["metadata"].get("creationTimestamp"))):
            worker = self._workers.setdefault(pod["metadata"]["uid"], Worker(pod["metadata"]["uid"]))
            if pod["metadata"].get("deletionTimestamp"):
                self._finish(pod, worker, runtime)
                busy = True
            elif (pod.get("status") or {}).get("phase") not in ("Succeeded", "Failed"):
                if runtime:
                    self._advance(pod, worker, runtime)
                busy |= self._report(pod, worker)
        return busy

    def _sweep(self, runtime: CriRuntime, present: set[str]) -> None:
        """Remove the sandboxes, folders and states of pods that no longer exist in the API server."""
        for sandbox in runtime.sandboxes():
            if sandbox.uid not in present and _removed(runtime, sandbox):
                pod_volumes.remove(self._machine, self._settings.root_dir, sandbox.uid)
        for uid in [uid for uid in self._workers if uid not in present]:
            del self._workers[uid]

    def _finish(self, pod: dict[str, Any], worker: Worker, runtime: CriRuntime | None) -> None:
        if runtime is None:
            return  # without a runtime nothing can be stopped, so the pod stays Terminating
        gone = [_removed(runtime, item) for item in runtime.sandboxes() if item.uid == worker.uid]
        if not all(gone):
            return  # the pod stays Terminating, and kubelet retries
        pod_volumes.remove(self._machine, self._settings.root_dir, worker.uid)
        metadata = pod["metadata"]
        try:
            self._client.delete(
                f"/api/v1/namespaces/{metadata['namespace']}/pods/{metadata['name']}",
                {
                    "kind": "DeleteOptions",
                    "apiVersion": "v1",
                    "gracePeriodSeconds": 0,
                    "preconditions": {"uid": worker.uid},
                },
            )
        except ApiError as error:
            if error.status not in (404, 409):
                raise
        self._workers.pop(worker.uid, None)

    def _advance(self, pod: dict[str, Any], worker: Worker, runtime: CriRuntime) -> None:
        if not self._sandbox(pod, worker, runtime):
            return
        containers = pod["spec"].get("initContainers") or []
        for container in containers:
            if not self._container(pod, worker, runtime, container, initial=True):
                return
        for container in pod["spec"]["containers"]:
            self._container(pod, worker, runtime, container, initial=False)

    def _sandbox(self, pod: dict[str, Any], worker: Worker, runtime: CriRuntime) -> bool:
        """Create a pod's volumes and sandbox if they are missing, and return whether the sandbox exists now."""
        current = next((item for item in runtime.sandboxes() if item.uid == worker.uid and item.ready), None)
        if worker.sandbox is not None and current is None:
            # After a reboot, or the removal of the sandbox, everything starts again.
            for turn in worker.turns.values():
                if turn.current:
                    turn.last, turn.current, turn.restarts = turn.current, None, turn.restarts + 1
        worker.sandbox = current
        if time.monotonic() < worker.retry:
            return worker.sandbox is not None
        try:
            pod_volumes.prepare(self._machine, self._client, pod, self._settings.root_dir, worker.volumes)
            if worker.sandbox is None:
                self._refuse_resolv_conf()
                _end_dead(runtime, worker.uid)
                known = [item.attempt for item in runtime.sandboxes() if item.uid == worker.uid]
                worker.attempts = max([worker.attempts, *(attempt + 1 for attempt in known)])
                worker.sandbox = runtime.run_sandbox(self._pod_config(pod, worker))
                worker.attempts += 1
            worker.event = ""
        except (VolumeError, RuntimeFailure, ApiError, _ResolverError) as error:
            text = rpc_error(error) if isinstance(error, RuntimeFailure) else str(error)
            is_sandbox = isinstance(error, (RuntimeFailure, _ResolverError))
            worker.event = f"Failed to create pod sandbox: {text}" if is_sandbox else text
            worker.retry = time.monotonic() + 1.0
            return False
        return True

    def _refuse_resolv_conf(self) -> None:
        if self._settings.resolv_conf not in ("", "Host"):
            given = self._settings.resolv_conf
            raise _ResolverError(f'Unexpected resolver config value: "{given}". Expected "" or "Host".')

    def _pod_config(self, pod: dict[str, Any], worker: Worker) -> PodConfig:
        metadata = pod["metadata"]
        host_process = _host_process(pod, {})
        return PodConfig(
            metadata["name"], metadata["namespace"], worker.uid, bool(pod["spec"].get("hostNetwork")) or host_process,
            host_process, worker.attempts,
        )  # fmt: skip

    def _container(
        self, pod: dict[str, Any], worker: Worker, runtime: CriRuntime, container: dict[str, Any], initial: bool
    ) -> bool:
        """Do the next step for a container, and return whether it has succeeded and will not be restarted.

        The caller starts the container that follows an init container only when this returns True.
        """
        turn = worker.turn(container["name"])
        if worker.sandbox is not None and turn.current is None and turn.last is None:
            # After a restart, the kubelet finds the containers that it created before.
            found = [item for item in runtime.containers(worker.sandbox.id) if item.name == container["name"]]
            if found:
                turn.current, turn.restarts = found[0], found[0].attempt
        current = turn.current
        if current is not None:
            if current.alive:
                turn.seen = ""
                self._probe(runtime, container, turn, current)
                return False
            if current.state == "EXITED":
                if current.exit_code == 0 and (initial or pod["spec"].get("restartPolicy") in ("OnFailure", "Never")):
                    return True
                if pod["spec"].get("restartPolicy") == "Never":
                    return False
                names = f"{pod['metadata']['name']}_{pod['metadata']['namespace']}({worker.uid})"
                if not self._may_restart(turn, current, f"container={container['name']} pod={names}"):
                    return False
                if turn.last:
                    runtime.remove_container(turn.last)
                turn.last, turn.current, turn.restarts = current, None, turn.restarts + 1
        self._begin(pod, worker, runtime, container, turn)
        return False

    def _probe(self, runtime: CriRuntime, container: dict[str, Any], turn: Turn, current: Container) -> None:
        """Run a container's probes. End the container if its startup or liveness probe has failed too often."""
        if current.command is None or not current.command.host_process:
            return

        def run(argv: list[str], timeout: float) -> tuple[bool, str]:
            result = runtime.execute(current, argv, timeout)
            return result.exit_code == 0, result.stdout + result.stderr

        if problem := turn.probes.step(container, current.id, run, self._scale):
            runtime.stop_container(current)
            current.message = problem

    def _may_restart(self, turn: Turn, current: Container, names: str) -> bool:
        if turn.seen != current.id:
            turn.seen = current.id
            longest = self._settings.max_restart_delay
            ran = (current.finished - current.started).total_seconds() if current.finished and current.started else 0.0
            turn.delay = min(turn.delay * 2 or _FIRST_DELAY, longest) if ran < _STABLE * self._scale else _FIRST_DELAY
            turn.not_before = time.monotonic() + (turn.delay * self._scale if turn.restarts else 0.0)
            turn.waiting = "CrashLoopBackOff"
            turn.message = f"back-off {duration(turn.delay)} restarting failed {names}"
        return time.monotonic() >= turn.not_before

    def _begin(
        self, pod: dict[str, Any], worker: Worker, runtime: CriRuntime, container: dict[str, Any], turn: Turn
    ) -> None:
        image = self._image(runtime, container, turn)
        if image is None or worker.sandbox is None:
            return
        try:
            command = self._command(pod, worker, runtime, container)
        except ContainerConfigError as error:
            turn.waiting, turn.message = "CreateContainerConfigError", str(error)
            return
        metadata = pod["metadata"]
        folder = (
            f"{self._settings.log_folder}\\{metadata['namespace']}_{metadata['name']}_{worker.uid}\\{container['name']}"
        )
        self._machine.files.make_directory(folder)
        log = f"{folder}\\{turn.restarts}.log"
        turn.waiting, turn.message = "ContainerCreating", ""
        if time.monotonic() < turn.not_before:
            return
        try:
            turn.current = runtime.run_container(
                worker.sandbox, container["name"], image, command, attempt=turn.restarts, log=log
            )
        except RuntimeFailure as error:
            turn.waiting, turn.message = "RunContainerError", str(error)
            turn.delay = min(turn.delay * 2 or _FIRST_DELAY, _LONGEST_PULL_DELAY)
            turn.not_before = time.monotonic() + turn.delay * self._scale

    def _image(self, runtime: CriRuntime, container: dict[str, Any], turn: Turn) -> StoredImage | None:
        name = str(container["image"])
        policy = container.get("imagePullPolicy") or (
            "Always" if name.endswith(":latest") or ":" not in name.rpartition("/")[2] else "IfNotPresent"
        )
        found = runtime.image(name)
        if found is not None and policy != "Always":
            return found
        if found is None and policy == "Never":
            turn.waiting, turn.message = (
                "ErrImageNeverPull",
                f'Container image "{name}" is not present with pull policy of Never',
            )
            return None
        if time.monotonic() < turn.not_before:
            if turn.waiting == "ErrImagePull":
                reason = f": ErrImagePull: {turn.message}" if contracts.at_least(self._settings.version, "1.32") else ""
                turn.waiting, turn.message = "ImagePullBackOff", f'Back-off pulling image "{name}"{reason}'
            return None
        try:
            pulled = runtime.pull(name)
        except (PullError, oci.ReferenceFormatError, OSError) as error:
            if isinstance(error, oci.ReferenceFormatError):
                reason = f'couldn\'t parse image name "{name}": invalid reference format'
                turn.waiting, turn.message = "InvalidImageName", f'Failed to apply default image tag "{name}": {reason}'
            else:
                turn.waiting, turn.message = "ErrImagePull", rpc_error(error)
            turn.delay = min(turn.delay * 2 or _FIRST_DELAY, _LONGEST_PULL_DELAY)
            turn.not_before = time.monotonic() + turn.delay * self._scale
            return None
        turn.delay = turn.not_before = 0.0
        return pulled

    def _command(
        self, pod: dict[str, Any], worker: Worker, runtime: CriRuntime, container: dict[str, Any]
    ) -> ContainerCommand:
        address = self._settings.node_ip or self._machine.address
        pod_address = worker.sandbox.address if worker.sandbox else ""
        node = {"status.hostIP": address, "status.podIP": pod_address, "spec.nodeName": self._name}
        if not self._service_variables:
            self._service_variables = self._services()
        variables = pod_environment.environment(self._client, pod, container, node, self._service_variables)
        words = [*(container.get("command") or []), *(container.get("args") or [])]
        argv = tuple(pod_environment.expand(str(word), variables) for word in words)
        host_process = _host_process(pod, container)
        bound = (
            runtime.kind == "containerd"
            and contracts.at_least(runtime.version, "1.7")
            and self._machine.windows.build >= 20348
        )
        rootfs = r"C:\hpc" if bound else f"C:\\C\\{worker.uid[:8]}{container['name']}"
        options = _windows_options(pod, container)
        return ContainerCommand(
            argv=argv,
            environment=variables,
            mounts=pod_volumes.mounts(container, worker.volumes, rootfs, bound),
            host_process=host_process,
            rootfs=rootfs,
            directory=drive(str(container.get("workingDir") or "")),
            replaces_entry_point=bool(container.get("command")),
            user=str(options.get("runAsUserName") or "NT AUTHORITY\\SYSTEM"),
        )

    def _services(self) -> dict[str, str]:
        try:
            return pod_environment.service_variables(self._client.get("/api/v1/services").get("items", []))
        except ApiError:
            return {}

    def _report(self, pod: dict[str, Any], worker: Worker) -> bool:
        """Send a pod's status to the API server if it has changed. Return whether the pod is pending or not ready."""
        address = self._settings.node_ip or self._machine.address
        specs = {item["name"]: item for item in pod["spec"]["containers"]}
        known = {
            name: pod_status.Known(
                turn.current, turn.last, turn.restarts, turn.waiting, turn.message, _is_ready(turn, specs.get(name))
            )
            for name, turn in worker.turns.items()
        }
        pod_address = worker.sandbox.address if worker.sandbox else ""
        status = pod_status.build(pod, known, pod_address, address, worker.event)
        if status != worker.reported:
            metadata = pod["metadata"]
            try:
                self._client.patch(
                    f"/api/v1/namespaces/{metadata['namespace']}/pods/{metadata['name']}/status",
                    {"metadata": {"uid": metadata["uid"]}, "status": status},
                )
                worker.reported = status
            except ApiError as error:
                if error.status not in (404, 409):
                    raise
        ready = all(item.get("ready") for item in status.get("containerStatuses", []))
        return status["phase"] == "Pending" or not ready


def _is_ready(turn: Turn, container: Mapping[str, Any] | None) -> bool:
    current = turn.current
    if container is None or current is None or current.command is None or not current.command.host_process:
        return True
    return turn.probes.ready(container, current.id)


def _end_dead(runtime: CriRuntime, uid: str) -> None:
    """Stop a pod's dead sandboxes before the pod gets a new sandbox, so that CNI detaches them from their networks."""
    for sandbox in runtime.sandboxes():
        if sandbox.uid == uid and not sandbox.ready and sandbox.network:
            runtime.stop_sandbox(sandbox)


def _removed(runtime: CriRuntime, sandbox: Sandbox) -> bool:
    """Remove a sandbox, and return whether that succeeded."""
    try:
        runtime.remove_sandbox(sandbox)
    except RuntimeFailure:
        return False
    return True


def _windows_options(pod: Mapping[str, Any], container: Mapping[str, Any]) -> dict[str, Any]:
    levels = [level.get("securityContext") or {} for level in (pod["spec"], container)]
    return {key: value for level in levels for key, value in (level.get("windowsOptions") or {}).items()}


def _host_process(pod: Mapping[str, Any], container: Mapping[str, Any]) -> bool:
    if container:
        return bool(_windows_options(pod, container).get("hostProcess"))
    return any(_windows_options(pod, item).get("hostProcess") for item in [{}, *pod["spec"]["containers"]])
