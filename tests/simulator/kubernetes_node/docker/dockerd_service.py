# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""dockerd.exe: its command line, and its service.

`--register-service` creates a service that runs dockerd with the other given options. This service starts
automatically, and it is started again one minute after its first and its second failure in a day. With invalid flags or
an invalid daemon.json, dockerd writes to the event log and ends before it reports to the service control manager.
dockerd does not start without vmcompute.dll, which the feature Containers installs.

Sources: moby/moby cmd/dockerd/service_windows.go, daemon_windows.go.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from simulator.kubernetes_node.docker import dockerd_config
from simulator.kubernetes_node.docker.dockerd import Dockerd, DockerState
from simulator.kubernetes_node.docker.dockerd_config import DaemonConfig, DockerdError
from simulator.kubernetes_node.docker.images import DockerError
from simulator.kubernetes_node.hns.objects import SERVICE as HNS
from simulator.kubernetes_node.hns.objects import HnsError
from simulator.kubernetes_node.programs.flags import CommandFlags
from simulator.kubernetes_node.programs.versions import version_of
from simulator.machine import listeners
from simulator.machine.command_line import quote
from simulator.machine.failure_actions import make_failure_actions
from simulator.machine.objects import Invocation, Program, ProgramResult, RunningService, ServiceProgram
from simulator.machine.registry import Value
from simulator.machine.services import Service, ServiceError
from simulator.windows.system import event_log_store

if TYPE_CHECKING:
    from simulator.machine.machine import Machine

_MINUTE = 60_000  # milliseconds
_EVENTS = r"HKLM:\SYSTEM\CurrentControlSet\Services\EventLog\Application\{}"
_INFO, _FATAL = (4, 1), (2, 4)  # level and id of the event: cmd/dockerd/winresources


def start(machine: Machine, config: DaemonConfig, version: str, environment: Mapping[str, str]) -> Dockerd:
    """Start dockerd.

    Raises:
        DockerdError: dockerd does not start. The exception's message gives the reason.
    """
    if not machine.services.exists(HNS):
        raise DockerdError("failed to load vmcompute.dll, ensure that the Containers feature is installed")
    for host in config.hosts:
        if host.startswith("npipe:") and listeners.behind(machine, host) is not None:
            raise DockerdError(f"failed to load listeners: open {listeners.pipe_name(host)}: Access is denied.")
    try:
        return Dockerd(machine, version, config, environment)
    except DockerError as error:
        raise DockerdError(str(error)) from error
    except HnsError as error:
        raise DockerdError(f"failed to start daemon: Error initializing network controller: {error}") from error
    except OSError as error:
        raise DockerdError(f"failed to start daemon: {error.strerror or error}") from error


def _open(machine: Machine, server: Dockerd) -> None:
    found = machine.part(listeners.Listeners)
    for host in server.config.hosts:
        if host.startswith("npipe:"):
            listeners.open_pipe(machine, host, server)
        else:
            address, _, port = host.removeprefix("tcp://").rpartition(":")
            found.ports[int(port or 2375)] = listeners.Port(address or "0.0.0.0", "dockerd")


def _close(machine: Machine, server: Dockerd) -> None:
    found = machine.part(listeners.Listeners)
    for host in server.config.hosts:
        if host.startswith("npipe:"):
            listeners.close_pipe(machine, host, server)
        else:
            found.ports.pop(int(host.rpartition(":")[2] or 2375), None)


def run(machine: Machine, invocation: Invocation) -> ProgramResult:
    """Simulate dockerd.exe on a command line."""
    version = invocation.version
    try:
        flags = dockerd_config.read_flags(invocation.argv, version)
        if flags.on("version"):
            return ProgramResult(0, f"Docker version {version}, build 0000000\n")
        if flags.on("help"):
            return ProgramResult(0, "Usage:  dockerd [OPTIONS]\n")
        if flags.on("unregister-service"):
            return _unregister(machine, flags)
        if flags.on("register-service"):
            return _register(machine, invocation, flags)
        config = dockerd_config.read(machine, flags, version)
        if flags.on("validate"):
            return ProgramResult(0, "", "configuration OK\n")
        server = start(machine, config, version, invocation.environment)
    except DockerdError as error:
        return ProgramResult(1, "", f"{error}\n")
    except ServiceError as error:
        return ProgramResult(1, "", f"{error.text}\n")
    _open(machine, server)
    try:
        invocation.stop.wait()
    finally:
        _close(machine, server)
    return ProgramResult()


def _register(machine: Machine, invocation: Invocation, flags: CommandFlags) -> ProgramResult:
    words = [word for word in invocation.argv if word not in ("--register-service", "--unregister-service")]
    name = flags.text("service-name", "docker")
    machine.services.create(
        name,
        " ".join(quote(word) for word in (invocation.program, "--run-service", *words)),
        DisplayName="Docker Engine",
        Start=2,
        FailureActions=make_failure_actions(86400, [("restart", _MINUTE), ("restart", _MINUTE), ("none", 0)]),
    )
    source = {"CustomSource": 1, "EventMessageFile": Value(invocation.program, "ExpandString"), "TypesSupported": 7}
    machine.registry.write(_EVENTS.format(name), source)
    return ProgramResult()


def _unregister(machine: Machine, flags: CommandFlags) -> ProgramResult:
    if flags.on("register-service"):
        raise DockerdError("--register-service and --unregister-service cannot be used together")
    name = flags.text("service-name", "docker")
    machine.services.delete(name)
    machine.registry.delete_key(_EVENTS.format(name))
    return ProgramResult()


class _RunningDockerd:
    """The process of the dockerd service."""

    def __init__(self, machine: Machine, server: Dockerd) -> None:
        self._machine, self._server = machine, server
        self.alive = True
        self.exit_code = 0
        _open(machine, server)

    def stop(self) -> None:
        """End the process and its containers. If the machine is going down, the containers' endpoints remain."""
        self.alive = False
        _close(self._machine, self._server)
        if self._machine.power.state != "going-down":
            for item in self._server.containers():
                self._server.stop(item)


class _DockerdService:
    def start(self, machine: Machine, service: Service) -> RunningService:
        """Start dockerd as a service.

        Raises:
            ServiceError: dockerd does not start, or --run-service is missing.
        """
        version = version_of(machine, service.argv[0])
        try:
            flags = dockerd_config.read_flags(service.argv[1:], version)
            config = dockerd_config.read(machine, flags, version)
            if not flags.on("run-service"):
                raise ServiceError(1053, "dockerd needs --run-service to run as a service")
            server = start(machine, config, version, {**machine.environment(), **service.environment})
        except DockerdError as error:
            _log(machine, service, _FATAL, str(error))
            raise ServiceError(1053, str(error)) from error
        _log(machine, service, _INFO, "Daemon has completed initialization")
        for host in config.hosts:
            _log(machine, service, _INFO, f"API listen on {host.partition(':')[2]}")
        return _RunningDockerd(machine, server)


def _log(machine: Machine, service: Service, kind: tuple[int, int], text: str) -> None:
    """Write to the Application event log as the service. dockerd has no other log when it runs as a service."""
    event_log_store.write(machine, "Application", text, provider=service.name, level=kind[0], event_id=kind[1])


def _status(machine: Machine) -> object:
    return [
        {
            "id": item.id,
            "name": item.name,
            "image": item.image,
            "state": item.state,
            "network": item.network,
            "endpoint": item.endpoint,
        }
        for item in list(machine.part(DockerState).containers.values())
    ]


def _images(machine: Machine) -> object:
    pipes = machine.part(listeners.Listeners).pipes
    servers = [server for server in list(pipes.values()) if isinstance(server, Dockerd)]
    return [
        {"id": image.id, "tags": image.tags, "digests": image.digests}
        for server in servers
        for image in server.images.all()
    ]


PROGRAMS: Mapping[str, Program] = {"dockerd": run}
SERVICES: Mapping[str, ServiceProgram] = {"dockerd": _DockerdService()}
STATUS = {"docker": _status, "docker_images": _images}
