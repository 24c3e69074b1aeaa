# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""containerd.exe: its command line, and its service.

The flags are in contracts/containerd.json. `--register-service` creates a service whose command line consists of
`--run-service` (which --help does not show) and the other given flags (containerd
cmd/containerd/command/service_windows.go). A service logs to `--log-file`, whose folder must exist; without this flag
there is no log.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Mapping
from typing import TYPE_CHECKING

from simulator.kubernetes_node.containerd import config as containerd_config
from simulator.kubernetes_node.containerd.config import ConfigError, ContainerdConfig
from simulator.kubernetes_node.containerd.runtime import Containerd
from simulator.kubernetes_node.cri.shims import Shims
from simulator.kubernetes_node.programs import cli, contracts
from simulator.kubernetes_node.programs.log_file import ProgramLogFile
from simulator.kubernetes_node.programs.versions import version_of
from simulator.machine import listeners
from simulator.machine.command_line import quote
from simulator.machine.objects import Invocation, Program, ProgramResult, RunningService, ServiceProgram
from simulator.machine.services import Service, ServiceError

if TYPE_CHECKING:
    from simulator.machine.machine import Machine

DEFAULT_CONFIG = r"C:\Program Files\containerd\config.toml"
_HIDDEN = {"run-service": False, "service-name": True, "no-console": False}


def load_config(machine: Machine, line: cli.CommandLine, version: str) -> ContainerdConfig:
    """Return the configuration of a containerd that was started with the given command line.

    Raises:
        ConfigError: containerd rejects the configuration, or the file given with --config does not exist. With a
            command such as `config dump`, a missing file is not an error.
    """
    path = line.text("config", DEFAULT_CONFIG)
    named = "config" in line.flags
    text = machine.files.read_text(path) if machine.files.is_file(path) else None
    if text is None and named and line.command == "":
        # The daemon ignores a missing file only at the default path.
        raise ConfigError(f"open {path}: The system cannot find the file specified.")
    config = containerd_config.load(text, version, path, lambda pattern: _imports(machine, pattern))
    for name in ("root", "state"):
        if line.text(name):
            config.tables[name] = line.text(name)
    if line.text("address"):
        server = config.plugin("io.containerd.server.v1.grpc") or config.tables.setdefault("grpc", {})
        server["address"] = line.text("address")
    return config


def _imports(machine: Machine, pattern: str) -> Mapping[str, str]:
    folder, _, name = pattern.replace("/", "\\").rpartition("\\")
    if not machine.files.is_directory(folder):
        return {}
    files = [
        entry for entry in machine.files.listing(folder) if fnmatch.fnmatch(entry.name.casefold(), name.casefold())
    ]
    return {entry.path: machine.files.read_text(entry.path) for entry in files if not entry.is_directory}


def run(machine: Machine, invocation: Invocation) -> ProgramResult:
    """Simulate containerd.exe on a command line."""
    version = invocation.version
    try:
        line = cli.read("containerd", invocation.argv, version, _HIDDEN)
    except cli.UsageError as error:
        return ProgramResult(1, error.printed, f"{error}\n")
    if line.on("version"):
        module = "github.com/containerd/containerd" + ("/v2" if contracts.at_least(version, "2.0") else "")
        return ProgramResult(0, f"containerd {module} v{version} \n")
    if line.on("help"):
        return ProgramResult(0, "NAME:\n   containerd - high performance container runtime\n")
    if line.command == "config default":
        return ProgramResult(0, containerd_config.default_text(version))
    try:
        if line.command in ("config dump", "config migrate"):
            config = load_config(machine, line, version)
            return ProgramResult(
                0, containerd_config.dump(config.tables), "".join(f"{text}\n" for text in config.warnings)
            )
        if line.on("register-service"):
            return _register(machine, invocation, line)
        if line.on("unregister-service"):
            machine.services.delete(line.text("service-name", "containerd"))
            return ProgramResult()
        if line.command:
            return ProgramResult(0, "")
        return _foreground(machine, invocation, line)
    except ConfigError as error:
        return ProgramResult(1, "", f"containerd: {error}\n")
    except ServiceError as error:
        return ProgramResult(1, "", f"containerd: {error.text}\n")


def _register(machine: Machine, invocation: Invocation, line: cli.CommandLine) -> ProgramResult:
    """Create the service for `--register-service`. The other flags become part of the service's command line."""
    words = [invocation.program, "--run-service"]
    for name in ("service-name", "log-file", "config", "address", "root", "state", "log-level"):
        if line.text(name):
            words += [f"--{name}", line.text(name)]
    image = " ".join(quote(word) for word in words)
    machine.services.create(
        line.text("service-name", "containerd"),
        image,
        DisplayName="containerd",
        Description="Container runtime",
        Start=2,
    )
    return ProgramResult()


def _foreground(machine: Machine, invocation: Invocation, line: cli.CommandLine) -> ProgramResult:
    config = load_config(machine, line, invocation.version)
    server = Containerd(machine, invocation.version, config, invocation.environment)
    if listeners.behind(machine, config.address):
        return ProgramResult(
            1, "", f"containerd: failed to get listener for main endpoint: open {config.address}: Access is denied.\n"
        )
    listeners.open_pipe(machine, config.address, server)
    try:
        invocation.stop.wait()
    finally:
        listeners.close_pipe(machine, config.address, server)
    return ProgramResult(0, "", "".join(f"{text}\n" for text in config.warnings))


class _RunningContainerd:
    """The process of the containerd service."""

    def __init__(self, machine: Machine, server: Containerd) -> None:
        self._machine, self._server = machine, server
        self.alive = True
        self.exit_code = 0
        listeners.open_pipe(machine, server.config.address, server)

    def stop(self) -> None:
        """End the process. Containers keep running."""
        self.alive = False
        listeners.close_pipe(self._machine, self._server.config.address, self._server)


class _ContainerdService:
    def start(self, machine: Machine, service: Service) -> RunningService:
        """Start containerd as a service.

        With --run-service, containerd reports to the service control manager once it has read its configuration.
        Without this flag, it never does.

        Raises:
            ServiceError: the configuration is invalid, or --run-service is missing.
        """
        version = version_of(machine, service.argv[0])
        try:
            line = cli.read("containerd", service.argv[1:], version, _HIDDEN)
            config = load_config(machine, line, version)
        except (cli.UsageError, ConfigError) as error:
            raise ServiceError(1053, str(error)) from error
        if not line.on("run-service"):
            raise ServiceError(1053, "containerd needs --run-service to run as a service")
        log = ProgramLogFile(machine, line.text("log-file"))
        for text in config.warnings:
            log.write(text)
        log.write('level=info msg="containerd successfully booted"')
        environment = {**machine.environment(), **service.environment}
        return _RunningContainerd(machine, Containerd(machine, version, config, environment, service.account))


PROGRAMS: Mapping[str, Program] = {"containerd": run}
SERVICES: Mapping[str, ServiceProgram] = {"containerd": _ContainerdService()}


def _servers(machine: Machine) -> list[Containerd]:
    pipes = machine.part(listeners.Listeners).pipes
    return [server for server in list(pipes.values()) if isinstance(server, Containerd)]


def _images(machine: Machine) -> object:
    return [
        {"name": image.name, "digest": image.target["digest"], "labels": dict(image.labels)}
        for server in _servers(machine)
        for image in server.store.images()
    ]


def _containers(machine: Machine) -> object:
    found = machine.part(Shims)
    pods = {item.id: item for item in found.sandboxes.values()}
    return [
        {
            "name": item.name,
            "pod": pods[item.sandbox].pod if item.sandbox in pods else "",
            "namespace": pods[item.sandbox].namespace if item.sandbox in pods else "",
            "image": item.image,
            "state": "EXITED" if item.state == "RUNNING" and not item.alive else item.state,
            "exit_code": item.exit_code,
            "message": item.message,
        }
        for item in list(found.containers.values())
    ]


STATUS = {"container_images": _images, "containers": _containers}
STATUS_FOLDERS = (r"C:\Program Files\containerd", r"C:\ProgramData\containerd\root")
