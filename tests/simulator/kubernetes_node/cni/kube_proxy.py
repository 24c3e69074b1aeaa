# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Simulate kube-proxy.exe, with its command line, its configuration and its load balancers in HNS.

contracts/kubernetes.json lists the flags and the configuration's fields. The `kube_proxy_sync` module creates the load
balancers. An unknown field is only logged, because kube-proxy then decodes the configuration again in lenient mode.

Sources: kubernetes pkg/proxy/winkernel/proxier.go for the behavior and messages on Windows, and
cmd/kube-proxy/app/options.go for the lenient mode.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import yaml

from simulator.kubernetes_node import hns
from simulator.kubernetes_node.api import cluster_access
from simulator.kubernetes_node.api.client import ApiError, Client, KubeconfigError
from simulator.kubernetes_node.api.watching import interval
from simulator.kubernetes_node.cni.kube_proxy_sync import Programmer, ProxyLog
from simulator.kubernetes_node.kubelet.settings import drive
from simulator.kubernetes_node.programs import configuration, contracts
from simulator.kubernetes_node.programs.configuration import ConfigurationError
from simulator.kubernetes_node.programs.flags import CommandFlags, FlagError, parse
from simulator.kubernetes_node.programs.log_file import Stderr, klog, nowhere
from simulator.kubernetes_node.programs.versions import version_of
from simulator.machine.objects import Invocation, Program, ProgramResult, RunningService, ServiceProgram
from simulator.machine.services import Service, ServiceError

if TYPE_CHECKING:
    from simulator.machine.machine import Machine

KIND = "kubeproxy.config.k8s.io/v1alpha1 KubeProxyConfiguration"
_SYNC = 5.0  # seconds between two checks of the cluster's services
_INTERVAL = 1.0  # seconds between two checks of kube-proxy's configuration
_AGAIN = 1.0  # seconds until a retry after a failure
_NO_PROXIER = "unable to create proxier: "


class ProxyError(Exception):
    """Raised if kube-proxy has to end because of an error. The exception's message is the one that kube-proxy logs."""


@dataclass
class ProxySettings:
    """kube-proxy's settings, from its command line and its configuration file."""

    flags: CommandFlags
    document: dict[str, Any] = field(default_factory=dict)
    gates: dict[str, bool] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)

    def _kernel(self, name: str) -> Any:
        return (self.document.get("winkernel") or {}).get(name)

    @property
    def service(self) -> bool:
        """Whether kube-proxy runs as a Windows service."""
        return self.flags.on("windows-service") or bool(self.document.get("windowsRunAsService"))

    @property
    def network(self) -> str:
        """The configured name of the HNS network, or an empty string if none is configured.

        If none is configured, kube-proxy uses the name in the environment variable KUBE_NETWORK.
        """
        return str(self._kernel("networkName") or self.flags.text("network-name"))

    @property
    def source_vip(self) -> str:
        """The source address for traffic to services on an overlay network."""
        return str(self._kernel("sourceVip") or self.flags.text("source-vip"))

    @property
    def dsr(self) -> bool:
        """Whether direct server return is enabled."""
        return bool(self._kernel("enableDSR")) or self.flags.on("enable-dsr")

    @property
    def kubeconfig(self) -> str:
        """The path of the kubeconfig, or an empty string if kube-proxy uses its pod's service account."""
        return str((self.document.get("clientConnection") or {}).get("kubeconfig") or self.flags.text("kubeconfig"))


def read(machine: Machine, argv: Sequence[str], version: str) -> ProxySettings:
    """Read kube-proxy's command line, and the configuration file that it names.

    Raises:
        ProxyError: kube-proxy rejects the configuration.
    """
    try:
        flags, rest = parse(argv, contracts.flags("kube-proxy", version))
    except FlagError as error:
        raise ProxyError(str(error)) from error
    if rest:
        raise ProxyError(f'unknown command "{rest[0]}" for "kube-proxy"')
    settings = ProxySettings(flags)
    if flags.text("config"):
        _load(machine, drive(flags.text("config")), settings, version)
    wanted: dict[str, object] = dict(settings.document.get("featureGates") or {}) if settings.document else {}
    try:
        settings.gates = configuration.gates({**wanted, **flags.pairs("feature-gates")}, version)
    except ConfigurationError as error:
        raise ProxyError(f"failed complete: {error}") from error
    mode = str(settings.document.get("mode") or flags.text("proxy-mode") or "kernelspace")
    if mode != "kernelspace":
        raise ProxyError(
            f'failed validate: KubeProxyConfiguration.mode: Invalid value: "{mode}": must be kernelspace or blank '
            f"(blank means the "
            "most-available proxy [currently kernelspace])"
        )
    return settings


def _load(machine: Machine, path: str, settings: ProxySettings, version: str) -> None:
    if not machine.files.is_file(path):
        raise ProxyError(f"failed complete: open {path}: The system cannot find the file specified.")
    try:
        document = yaml.safe_load(machine.files.read_text(path))
        if not isinstance(document, dict) or not document.get("kind"):
            raise ConfigurationError("Object 'Kind' is missing in configuration file")
        kind = f"{document.get('apiVersion')} {document['kind']}"
        if kind != KIND:
            raise ConfigurationError(
                f'no kind "{document["kind"]}" is registered for version "{document.get("apiVersion")}"'
            )
        unknown = configuration.check(document, KIND, version)
    except (yaml.YAMLError, ConfigurationError) as error:
        raise ProxyError(f"failed complete: {error}") from error
    if unknown:
        settings.warnings.append(
            f'"Using lenient decoding as strict decoding failed" err="{configuration.strict_error(unknown)}"'
        )
    settings.document = document


class KubeProxy:
    """A running kube-proxy. The `run` method returns when kube-proxy is stopped, or raises ProxyError on a failure."""

    def __init__(self, machine: Machine, invocation: Invocation, settings: ProxySettings) -> None:
        self._machine, self._invocation, self._settings = machine, invocation, settings
        self._stop = invocation.stop
        self._configuration = self._read_configuration()

    def _read_configuration(self) -> str:
        path = drive(self._settings.flags.text("config") or "")
        return self._machine.files.read_text(path) if path and self._machine.files.is_file(path) else ""

    def _watch(self, seconds: float) -> bool:
        """Wait for a number of seconds, and return whether kube-proxy has to stop.

        Source: cmd/kube-proxy/app/options.go.

        Raises:
            ProxyError: the configuration file has changed.
        """
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            if self._stop.wait(min(left, _INTERVAL)):
                return True
            if self._read_configuration() != self._configuration:
                raise ProxyError("content of the proxy server's configuration file was updated")
        return False

    def run(self) -> None:
        """Wait for the HNS network, and then keep the load balancers up to date until kube-proxy is stopped.

        Raises:
            ProxyError: a setting is incompatible with the network, the configuration has changed, or the API server's
                address or credentials cannot be read.
        """
        network = self._network()
        if network is None:
            return
        self._check(network)
        client = self._client()
        settings = self._settings
        programmer = Programmer(self._machine, network, settings.source_vip, dsr=settings.dsr)
        try:
            while not self._stop.is_set():
                pause = interval(self._machine, _SYNC)
                try:
                    services = client.get("/api/v1/services", resourceVersion="0").get("items") or []
                    slices = client.get("/apis/discovery.k8s.io/v1/endpointslices", resourceVersion="0")
                    programmer.sync(services, slices.get("items") or [])
                except (ApiError, OSError, hns.HnsError):
                    pause = interval(self._machine, _AGAIN)
                self._watch(pause)
        finally:
            client.close()

    def _network(self) -> hns.Network | None:
        name = self._settings.network or self._invocation.variable("KUBE_NETWORK")
        if not name:
            raise ProxyError(f"{_NO_PROXIER}Environment variable KUBE_NETWORK and network-flag not initialized")
        store, log = hns.store(self._machine), self._machine.part(ProxyLog)
        while True:
            found = store.network_named(name)
            if found:
                return found
            missing = "Unable to find HNS Network specified, please check network name and CNI deployment"
            log.write("E", f'"{missing}" hnsNetworkName="{name}"')
            if self._watch(interval(self._machine, 1.0)):
                return None

    def _check(self, network: hns.Network) -> None:
        settings = self._settings
        if settings.dsr and not settings.gates.get("WinDSR", False):
            raise ProxyError(f"{_NO_PROXIER}WinDSR feature gate not enabled")
        if network.kind != "Overlay":
            return
        if not settings.gates.get("WinOverlay", False):
            raise ProxyError(f"{_NO_PROXIER}WinOverlay feature gate not enabled")
        if not settings.source_vip:
            raise ProxyError(f"{_NO_PROXIER}source-vip flag not set")
        self._machine.part(ProxyLog).write("I", f'"Source VIP" sourceVip="{settings.source_vip}"')

    def _client(self) -> Client:
        """Wait until the API server's address is reachable, and return a client for the API server.

        Raises:
            ProxyError: the kubeconfig or the pod's service account cannot be used, or kube-proxy is stopped.
        """
        while True:
            try:
                access = cluster_access.access_of(
                    self._machine,
                    self._invocation,
                    drive(self._settings.kubeconfig),
                    self._settings.flags.text("master"),
                )
                return Client(self._machine, access)
            except KubeconfigError as error:
                raise ProxyError(str(error)) from error
            except OSError as error:
                if self._stop.wait(2.0):
                    raise ProxyError("stopped") from error


def run(machine: Machine, invocation: Invocation) -> ProgramResult:
    """Simulate kube-proxy.exe, which runs until it is stopped."""
    if any(word in ("--version", "--version=true") for word in invocation.argv):
        return ProgramResult(0, f"Kubernetes v{invocation.version}\n")
    try:
        settings = read(machine, invocation.argv, invocation.version)
        if settings.flags.on("help"):
            return ProgramResult(0, "Usage:\n  kube-proxy [flags]\n")
        if settings.service:
            raise ProxyError(
                "failed to connect to the service controller: The service process could not connect to the service "
                "controller."
            )
        KubeProxy(machine, invocation, settings).run()
    except ProxyError as error:
        return ProgramResult(1, "", f'E1121 00:00:00.000000    1000 run.go:72] "command failed" err="{error}"\n')
    return ProgramResult(0, "", "".join(f"I1121 00:00:00.000000    1000 {text}\n" for text in settings.warnings))


class _Running:
    """The process of kube-proxy when it runs as a Windows service."""

    def __init__(self, machine: Machine, invocation: Invocation, settings: ProxySettings, stderr: Stderr) -> None:
        self.exit_code = 0
        self._machine, self._invocation, self._stderr = machine, invocation, stderr
        self._proxy = KubeProxy(machine, invocation, settings)
        self._thread = threading.Thread(
            target=machine.acting.carried(self._run), name=f"kube-proxy-{machine.name}", daemon=True
        )
        self._thread.start()

    def _run(self) -> None:
        try:
            self._proxy.run()
        except ProxyError as error:
            self.exit_code = 1
            self._stderr(klog("E", f'"command failed" err="{error}"'))
            self._machine.services.events.append(f"kube-proxy: {error}")

    @property
    def alive(self) -> bool:
        """Whether the process is running."""
        return self._thread.is_alive()

    def stop(self) -> None:
        """End the process."""
        self._invocation.stop.set()
        self._thread.join(2.0)


class ProxyService:
    """kube-proxy as a program that Windows can run as a service."""

    def start(self, machine: Machine, service: Service, stderr: Stderr = nowhere) -> RunningService:
        """Start kube-proxy as a service.

        The function `stderr` receives the lines of the error output. kube-log-runner.exe passes its own function.

        Raises:
            ServiceError: the configuration is invalid, or --windows-service is missing.
        """
        version = version_of(machine, service.argv[0])
        try:
            settings = read(machine, service.argv[1:], version)
        except ProxyError as error:
            stderr(klog("E", f'"command failed" err="{error}"'))
            raise ServiceError(1053, str(error)) from error
        if not settings.service:
            raise ServiceError(1053, "kube-proxy needs --windows-service to run as a service")
        variables = {**machine.environment(), **service.environment}
        for text in settings.warnings:
            stderr(klog("W", text))
        stderr(klog("I", f'"Version info" version="v{version}"'))
        invocation = Invocation(service.argv[1:], environment=variables, version=version)
        return _Running(machine, invocation, settings, stderr)


def _status(machine: Machine) -> object:
    """Return the last lines of kube-proxy's log."""
    return list(machine.part(ProxyLog).lines)


PROGRAMS: Mapping[str, Program] = {"kube-proxy": run}
STATUS: Mapping[str, Callable[[Machine], object]] = {"kube_proxy": _status}
SERVICES: Mapping[str, ServiceProgram] = {"kube-proxy": ProxyService()}
