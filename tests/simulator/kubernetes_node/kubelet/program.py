# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""kubelet.exe: its command line, its service, and the loop that updates the Node object and runs the pods.

As a service, the kubelet needs --windows-service. Without this flag, it never reports to the service control manager,
and its start fails with error 1053. If the flags or the configuration are invalid, the kubelet also ends before it
reports. If the TLS bootstrap fails, the kubelet ends after it has reported.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from simulator.kubernetes_node.api.client import STRATEGIC, ApiError, Client, KubeconfigError, read_kubeconfig
from simulator.kubernetes_node.api.watching import interval
from simulator.kubernetes_node.cri.interface import RuntimeFailure, connect
from simulator.kubernetes_node.kubelet import bootstrap, health, node_status
from simulator.kubernetes_node.kubelet.bootstrap import BootstrapError
from simulator.kubernetes_node.kubelet.pods import Pods
from simulator.kubernetes_node.kubelet.rotation import Rotation
from simulator.kubernetes_node.kubelet.settings import KubeletError, KubeletSettings, read
from simulator.kubernetes_node.programs import contracts
from simulator.kubernetes_node.programs.log_file import Stderr, klog, nowhere
from simulator.kubernetes_node.programs.versions import version_of
from simulator.machine import listeners
from simulator.machine.listeners import Listeners, Port
from simulator.machine.objects import Invocation, Program, ProgramResult, RunningService, ServiceProgram
from simulator.machine.services import Service, ServiceError

if TYPE_CHECKING:
    from simulator.machine.machine import Machine

_TICK = 0.25  # seconds between two checks of the node's state
_PODS_IDLE, _PODS_NONE, _PODS_BUSY = 1.0, 0.5, 0.2  # seconds between two listings of the node's pods
_LEASE = 10.0
_COMES_UP = 1.0


class Kubelet:
    """A running kubelet.

    Args:
        settings: the settings from the kubelet's command line and configuration.
        stderr: a function that is called with each line of the kubelet's log. By default, the lines are discarded,
            because Windows gives a service no standard error.
    """

    def __init__(self, machine: Machine, settings: KubeletSettings, stderr: Stderr = nowhere) -> None:
        self._machine, self.settings, self._stderr = machine, settings, stderr
        self.name = settings.node_name or node_status.host_name(machine)
        self.exit_code = 0
        self.message = ""
        self._stop = threading.Event()
        self._client: Client | None = None
        self._status: dict[str, Any] = {}
        self._uid = ""
        self._sent = self._renewed = self._listed = 0.0
        self._reasons: list[str] | None = None
        self._wait = interval(machine, _PODS_NONE)

    def run(self) -> None:
        """Run the kubelet until it is stopped or fails."""
        health.up(self._machine, self.settings.healthz_port)
        self._stderr(klog("I", f'"Kubelet version" kubeletVersion="v{self.settings.version}"'))
        try:
            self._credentials()
            self._check_runtime()
            self._work()
        except (BootstrapError, KubeletError, KubeconfigError) as error:
            self.exit_code, self.message = 1, str(error)
            self._stderr(klog("E", f'"command failed" err="{error}"'))
            self._machine.services.events.append(f'kubelet: "command failed" err="{error}"')
        finally:
            health.down(self._machine, self.settings.healthz_port)
            self._machine.part(Listeners).ports.pop(self.settings.port, None)
            if self._client:
                self._client.close()

    def stop(self) -> None:
        """Ask the kubelet's loop to end."""
        self._stop.set()

    def _pause(self, seconds: float) -> bool:
        return not self._stop.wait(seconds)

    def _credentials(self) -> None:
        settings = self.settings
        if not settings.kubeconfig:
            return
        if wrong := bootstrap.expired(self._machine, settings.kubeconfig):
            self._stderr(klog("E", f'"{wrong}"'))
        if not bootstrap.usable(self._machine, settings.kubeconfig):
            if not settings.bootstrap_kubeconfig:
                head = "unable to load kubeconfig" if settings.rotates else "invalid kubeconfig"
                missing = f"CreateFile {settings.kubeconfig}: The system cannot find the file specified."
                raise KubeletError(f"failed to run Kubelet: {head}: {missing}")
            bootstrap.bootstrap(self._machine, settings, self.name, self._pause)
        if not self._stop.is_set():
            self._client = Client(self._machine, read_kubeconfig(self._machine, settings.kubeconfig))

    def _check_runtime(self) -> None:
        """Check that a container runtime serves CRI, as PreInitRuntimeService in pkg/kubelet does.

        dockerd's pipe is rejected, because dockerd does not serve CRI on it.

        Raises:
            KubeletError: no container runtime responds.
        """
        endpoint = self.settings.runtime_endpoint
        # The kubelet reaches this point about one second after its start, which is enough for a runtime that starts
        # with it.
        end = time.monotonic() + _COMES_UP
        while connect(self._machine, endpoint) is None and time.monotonic() < end:
            if self._stop.wait(0.1):
                return
        if self._stop.is_set() or connect(self._machine, endpoint) is not None:
            return
        why = "error reading server preface: http2: frame too large"
        if listeners.behind(self._machine, endpoint) is None:
            why = "transport: Error while dialing: The system cannot find the file specified."
        raise KubeletError(
            "failed to run Kubelet: validate service connection: validate CRI v1 runtime API for endpoint "
            f'"{endpoint}": rpc error: code = Unavailable desc = connection error: desc = "{why}"'
        )

    def _work(self) -> None:
        # The kubelet's API starts after it has credentials. The port is only listed, and serves nothing.
        self._machine.part(Listeners).ports[self.settings.port] = Port("::", "kubelet")
        # kubernetes pkg/kubelet/kubelet.go, setupDataDirs
        self._machine.files.make_directory(f"{self.settings.root_dir}\\plugins_registry")
        if self._client is None:
            self._stop.wait()
            return
        pods = Pods(self._machine, self._client, self.settings, self.name, self._machine.settings.time_scale)
        rotation = Rotation(self._machine, self.settings, self.name, self._stderr)
        while not self._stop.is_set():
            try:
                rotation.check(self._client)
                self._turn(pods, self._client)
            except (ApiError, OSError, RuntimeFailure):
                self._listed = time.monotonic()  # the API server or the runtime is not reachable: kubelet retries
            self._stop.wait(interval(self._machine, _TICK))

    def _turn(self, pods: Pods, client: Client) -> None:
        runtime = connect(self._machine, self.settings.runtime_endpoint)
        reasons = node_status.problems(runtime)
        moment = time.monotonic()
        if not self._uid:
            self._register(client)
        if reasons != self._reasons or moment - self._sent >= self.settings.heartbeat:
            self._status = node_status.status(self._machine, self.name, self.settings, runtime, self._status)
            # If the node object was deleted this fails, because a kubelet registers only once
            # (kubernetes/kubernetes#71398).
            client.patch(f"/api/v1/nodes/{self.name}/status", {"status": self._status}, STRATEGIC)
            self._sent, self._reasons = moment, reasons
        if moment - self._renewed >= _LEASE:
            self._lease(client)
            self._renewed = moment
        if moment - self._listed >= self._wait:
            found = client.get("/api/v1/pods", fieldSelector=f"spec.nodeName={self.name}", resourceVersion="0")
            items = found.get("items") or []
            busy = pods.sync(items, runtime)
            wait = _PODS_BUSY if busy else _PODS_IDLE if items else _PODS_NONE
            self._wait = interval(self._machine, wait)
            self._listed = time.monotonic()

    def _register(self, client: Client) -> None:
        document = node_status.node(self._machine, self.name, self.settings)
        if self.settings.document.get("registerNode") is False:
            found = client.get(f"/api/v1/nodes/{self.name}")
        else:
            try:
                found = client.create("/api/v1/nodes", document)
            except ApiError as error:
                if error.status != 409:
                    raise
                metadata = {"labels": node_status.default_labels(document["metadata"]["labels"])}
                found = client.patch(f"/api/v1/nodes/{self.name}", {"metadata": metadata})
        self._stderr(klog("I", f'"Successfully registered node" node="{self.name}"'))
        self._uid = str(found["metadata"]["uid"])
        self._status = dict(found.get("status") or {})
        self._reasons = None

    def _lease(self, client: Client) -> None:
        path = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
        document = node_status.lease(self._machine, self.name, self.settings.lease_seconds, self._uid)
        try:
            client.patch(f"{path}/{self.name}", {"spec": document["spec"]})
        except ApiError as error:
            if error.status != 404:
                raise
            client.create(path, document)


class _RunningKubelet:
    """The process of the kubelet's service."""

    def __init__(self, machine: Machine, settings: KubeletSettings, stderr: Stderr) -> None:
        self.kubelet = Kubelet(machine, settings, stderr)
        self._thread = threading.Thread(
            target=machine.acting.carried(self.kubelet.run), name=f"kubelet-{machine.name}", daemon=True
        )
        self._thread.start()

    @property
    def alive(self) -> bool:
        """Whether the process is running."""
        return self._thread.is_alive()

    @property
    def exit_code(self) -> int:
        """The exit code of the process."""
        return self.kubelet.exit_code

    def stop(self) -> None:
        """End the process."""
        self.kubelet.stop()
        self._thread.join(2.0)


def _failed(error: KubeletError) -> str:
    return f'"command failed" err="{error}"'


class KubeletService:
    """The kubelet as a service program."""

    def start(self, machine: Machine, service: Service, stderr: Stderr = nowhere) -> RunningService:
        """Start the kubelet as a service.

        A program that starts the kubelet, such as kube-log-runner.exe, passes `stderr` to receive the kubelet's log.
        """
        try:
            settings = read(machine, service.argv[1:], version_of(machine, service.argv[0]))
        except KubeletError as error:
            stderr(klog("E", _failed(error)))
            raise ServiceError(1053, _failed(error)) from error
        if not settings.flags.on("windows-service"):
            raise ServiceError(1053, "kubelet runs as a console program, because the flag --windows-service is missing")
        return _RunningKubelet(machine, settings, stderr)


def run(machine: Machine, invocation: Invocation) -> ProgramResult:
    """Run kubelet.exe from a command line."""
    try:
        if _asks(invocation.argv, "version"):
            return ProgramResult(0, f"Kubernetes v{invocation.version}\n")
        if _asks(invocation.argv, "help") or "-h" in invocation.argv:
            return ProgramResult(0, _help(invocation.version))
        settings = read(machine, invocation.argv, invocation.version)
    except KubeletError as error:
        return ProgramResult(1, "", f"E1121 00:00:00.000000    1000 run.go:72] {_failed(error)}\n")
    kubelet = Kubelet(machine, settings)
    thread = threading.Thread(target=machine.acting.carried(kubelet.run), name=f"kubelet-{machine.name}", daemon=True)
    thread.start()
    while thread.is_alive() and not invocation.stop.wait(0.2):
        pass
    kubelet.stop()
    thread.join(2.0)
    message = (
        f'E1121 00:00:00.000000    1000 run.go:72] "command failed" err="{kubelet.message}"\n'
        if kubelet.message
        else ""
    )
    return ProgramResult(kubelet.exit_code, "", message)


def _asks(argv: Sequence[str], name: str) -> bool:
    return any(word in (f"--{name}", f"--{name}=true") for word in argv)


def _help(version: str) -> str:
    """Return the text of --help. It lists the flags in the format of pflag's FlagUsages, without their descriptions."""
    lines = []
    for name, known in sorted(contracts.flags("kubelet", version).items()):
        short = f"-{known['short']}, " if known.get("short") else "    "
        kind = "" if known["type"] == "bool" else f" {known['type']}"
        lines.append(f"  {short}--{name}{kind}\n")
    return f"Usage:\n  kubelet [flags]\n\nFlags:\n{''.join(lines)}"


PROGRAMS: Mapping[str, Program] = {"kubelet": run}
SERVICES: Mapping[str, ServiceProgram] = {"kubelet": KubeletService()}
STATUS_FOLDERS = (r"C:\k", r"C:\etc", r"C:\var", r"C:\opt", r"C:\run", r"C:\bin", r"C:\Program Files\Kubernetes")
