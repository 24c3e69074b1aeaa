# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The sandboxes and containers of a machine. Shim processes keep them running when containerd ends."""

from __future__ import annotations

import copy
import threading
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal

from simulator.kubernetes_node.cri.mounts import Mount, MountedFiles
from simulator.machine.executables import HEAD_SIZE, identify
from simulator.machine.objects import NotModelled, ProcessEndedError, ProgramResult
from simulator.machine.processes import Process
from simulator.machine.programs import MachinePrograms, NotExecutableError, ProgramNotFoundError, ProgramTimeoutError
from simulator.machine.rights.guard import AccessDeniedError
from simulator.machine.windows_paths import normalise

if TYPE_CHECKING:
    from simulator.machine.machine import Machine

SHIM = "containerd-shim-runhcs-v1.exe"
State = Literal["CREATED", "RUNNING", "EXITED"]


def now() -> datetime:
    """Return the current time in UTC."""
    return datetime.now(UTC)


@dataclass
class Sandbox:
    """The sandbox of a pod.

    Args:
        id: the sandbox's id in CRI.
        pod, namespace, uid: the pod's name, namespace and UID.
        address: the pod's address; empty until CNI has assigned one.
        network: the name of the CNI configuration; empty for pods on the host's network.
        created: the time when the sandbox was created.
        ready: whether CRI lists the sandbox as ready.
        attempt: the number of earlier attempts to create the pod's sandbox, as in CRI.
        netns: the id of the sandbox's network namespace in HNS.
    """

    id: str
    pod: str
    namespace: str
    uid: str
    address: str = ""
    network: str = ""
    created: datetime = field(default_factory=now)
    ready: bool = True
    attempt: int = 0
    netns: str = ""
    shim: Process | None = None
    """The process of the sandbox's shim. Until the sandbox is stopped, the shim's executable cannot be replaced."""


@dataclass
class Container:
    """A container and its process."""

    id: str
    name: str
    sandbox: str
    image: str
    image_id: str
    attempt: int = 0
    state: State = "CREATED"
    exit_code: int = 0
    reason: str = ""
    message: str = ""
    created: datetime = field(default_factory=now)
    started: datetime | None = None
    finished: datetime | None = None
    log: str = ""
    process: Process | None = None
    command: ContainerCommand | None = None

    @property
    def alive(self) -> bool:
        """Whether the container's process is running."""
        return self.state == "RUNNING" and self.process is not None and self.process.alive


@dataclass
class Shims:
    """All sandboxes and containers of a machine.

    Args:
        sandboxes: maps the id of each pod sandbox to the sandbox.
        containers: maps the id of each container that CRI manages to the container.
        leases: the ids of sandboxes for which containerd has a lease. The lease begins when the creation of the sandbox
            begins (before CRI lists the sandbox), and it ends when the sandbox is removed (containerd
            internal/cri/server/sandbox_run.go).
        elsewhere: maps a containerd namespace to the ids of the containers in it that CRI does not manage (such as
            those of `nerdctl run` and BuildKit).
    """

    sandboxes: dict[str, Sandbox] = field(default_factory=dict)
    containers: dict[str, Container] = field(default_factory=dict)
    leases: set[str] = field(default_factory=set)
    elsewhere: dict[str, list[str]] = field(default_factory=dict)

    def __deepcopy__(self, memo: dict[int, Any]) -> Shims:
        """Return an empty state for a machine that starts from a copy of this machine's disk, without containers."""
        return Shims()


@dataclass(frozen=True)
class ContainerCommand:
    r"""The command of a container.

    Args:
        argv: the program and its arguments. If argv is still empty after `image_files.complete`, the container does
            nothing until it is stopped.
        replaces_entry_point: whether argv begins with a program. Otherwise, argv contains only arguments
            for the image's own program.
        environment: the container's environment variables.
        mounts: folders of the host that are visible under other paths.
        host_process: whether the program runs on the host itself. Other containers do nothing until they are stopped.
        rootfs: the folder in which a HostProcess container sees its own files (`C:\hpc`).
        directory: the working folder; empty for the image's working folder.
        user: the account that the program runs as.
    """

    argv: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    mounts: tuple[Mount, ...] = ()
    host_process: bool = False
    rootfs: str = r"C:\hpc"
    directory: str = ""
    user: str = "NT AUTHORITY\\SYSTEM"
    replaces_entry_point: bool = True


def start_shim(machine: Machine, sandbox: Sandbox) -> None:
    """Start a sandbox's shim. The executable is in containerd's folder (runtime v2, one shim for each pod)."""
    service = machine.services.get("containerd")
    image = f"{service.argv[0].rpartition(chr(92))[0]}\\{SHIM}" if service and service.argv else ""
    if machine.files.is_file(image):
        sandbox.shim = machine.processes.begin(SHIM, "NT AUTHORITY\\SYSTEM", image=normalise(image))


def stop_shim(machine: Machine, sandbox: Sandbox) -> None:
    """End a sandbox's shim."""
    if sandbox.shim is not None:
        machine.processes.kill(sandbox.shim)
        sandbox.shim = None


def new_id() -> str:
    """Return an id for a sandbox or container: 64 hexadecimal digits."""
    return uuid.uuid4().hex + uuid.uuid4().hex


def settle(machine: Machine) -> Shims:
    """Update the states of containers whose processes have ended, and of sandboxes that are older than the last boot.

    Returns:
        All sandboxes and containers.
    """
    shims = machine.part(Shims)
    for container in list(shims.containers.values()):
        if container.state == "RUNNING" and not container.alive:
            _exit(container, 0xC000013A, "Error")
    booted = machine.power.boot_time
    for sandbox in list(shims.sandboxes.values()):
        if sandbox.ready and sandbox.created < booted:
            sandbox.ready = False
    return shims


def _start_error(program: str, error: Exception) -> str:
    """Return containerd's message about a program that Windows cannot start."""
    if isinstance(error, NotExecutableError):
        return f"{program} is not a valid Win32 application."
    if isinstance(error, AccessDeniedError):
        return f"failed to start process {program!r}: Access is denied."
    return (
        f"failed to create containerd task: failed to create shim task: failed to start job container: "
        f"failed to start process {program!r}: The system cannot find the file specified."
    )


def start(machine: Machine, container: Container, command: ContainerCommand) -> None:
    """Start a container's process. If it cannot start, mark the container as exited with the reason StartError."""
    container.started, container.command = now(), command
    if not command.host_process or not command.argv:
        program = command.argv[0].rpartition("\\")[2] if command.argv else "container.exe"
        container.process = machine.processes.begin(program or "container.exe", "ContainerAdministrator")
        container.state = "RUNNING"
        return
    view = _view(machine, command)
    variables = _variables(machine, command)
    argv, name = _script(view, [_mount_point(word, command.rootfs) for word in command.argv])
    directory = _mount_point(command.directory, command.rootfs) or command.rootfs
    try:
        with machine.acting.as_account(command.user):
            view.programs.find(argv[0], variables, directory)
    except NotModelled as error:
        container.message = error.message
        _exit(container, 128, "StartError")
        return
    except (ProgramNotFoundError, NotExecutableError, AccessDeniedError) as error:
        container.message = _start_error(argv[0], error)
        _exit(container, 128, "StartError")
        return
    container.state = "RUNNING"
    begun = threading.Event()

    def work(process: Process) -> None:
        container.process = process
        begun.set()
        try:
            result = view.programs.run(
                argv[0],
                argv[1:],
                environment=variables,
                directory=directory,
                stop=process.stop,
                user=command.user,
                emit=lambda text: _append_log(machine, container, "stdout", text),
            )
        except (ProgramNotFoundError, NotExecutableError, AccessDeniedError) as error:
            result = ProgramResult(1, "", str(error))
        except ProcessEndedError:
            # The process was killed. The shim reports that, unless it went down together with the machine.
            if container.state == "RUNNING" and machine.power.state == "on":
                _exit(container, 0xFFFFFFFF, "Error")
            return
        _write_log(machine, container, result)
        _exit(container, result.exit_code, "Completed" if result.exit_code == 0 else "Error")
        container.message = result.stderr.strip()[-1000:] if result.exit_code else ""

    machine.processes.detach(name, command.user, work)
    begun.wait(5)


def execute(machine: Machine, container: Container, argv: Sequence[str], timeout: float) -> ProgramResult:
    """Run another program in a HostProcess container, and return its result (CRI's ExecSync)."""
    command = container.command
    if command is None:
        return ProgramResult(1, "", "the container is not running")
    view = _view(machine, command)
    words, _ = _script(view, [_mount_point(word, command.rootfs) for word in argv])
    directory = _mount_point(command.directory, command.rootfs) or command.rootfs
    try:
        return view.programs.run(
            words[0],
            words[1:],
            environment=_variables(machine, command),
            directory=directory,
            user=command.user,
            timeout=timeout,
        )
    except (ProgramNotFoundError, NotExecutableError, AccessDeniedError) as error:
        return ProgramResult(128, "", _start_error(words[0], error))
    except ProgramTimeoutError:
        return ProgramResult(1, "", f"timed out after {timeout:g}s")


def _variables(machine: Machine, command: ContainerCommand) -> dict[str, str]:
    return {
        **machine.user_environment(command.user),
        **command.environment,
        "CONTAINER_SANDBOX_MOUNT_POINT": command.rootfs,
    }


def _script(view: Machine, argv: list[str]) -> tuple[list[str], str]:
    """Return the command line that the simulator runs for a container's command, and the name of the process.

    For `powershell.exe SCRIPT`, the command line is the script itself if the simulator has a model of the script.
    """
    name = argv[0].replace("/", "\\").rpartition("\\")[2]
    if name.casefold() not in ("powershell", "powershell.exe") or len(argv) < 2:
        return argv, name
    found = view.files.is_file(argv[1]) and identify(view.files.read_bytes(argv[1])[:HEAD_SIZE])
    return (argv[1:] if found else argv), "powershell.exe"


def stop(machine: Machine, container: Container) -> None:
    """Stop a container."""
    if container.process is not None and container.state == "RUNNING":
        machine.processes.kill(container.process)
        _exit(container, 0xC000013A, "Error")


def _exit(container: Container, code: int, reason: str) -> None:
    container.state = "EXITED"
    # Kubernetes shows Windows' exit codes as signed numbers.
    container.exit_code = code - (1 << 32) if code >= 1 << 31 else code
    container.reason = reason
    container.finished = now()
    if container.started is None:
        container.started = container.finished


def _view(machine: Machine, command: ContainerCommand) -> Machine:
    """Return the machine as a HostProcess container sees it, with the container's volumes."""
    if not command.mounts:
        return machine
    view = copy.copy(machine)
    view.files = MountedFiles(machine.files, command.mounts)
    view.programs = MachinePrograms(view)
    return view


def _mount_point(text: str, rootfs: str) -> str:
    for form in (
        "%CONTAINER_SANDBOX_MOUNT_POINT%",
        "$env:CONTAINER_SANDBOX_MOUNT_POINT",
        "$CONTAINER_SANDBOX_MOUNT_POINT",
    ):
        text = text.replace(form, rootfs)
    return text


def _write_log(machine: Machine, container: Container, result: ProgramResult) -> None:
    if not container.log:
        return
    for stream, text in (("stdout", result.stdout), ("stderr", result.stderr)):
        _append_log(machine, container, stream, text)


def _append_log(machine: Machine, container: Container, stream: str, text: str) -> None:
    if not container.log:
        return
    stamp = now().isoformat().replace("+00:00", "Z")
    lines = [f"{stamp} {stream} F {line}\n" for line in text.splitlines()]
    try:
        machine.files.make_directory(container.log.rpartition("\\")[0])
        before = machine.files.read_text(container.log) if machine.files.is_file(container.log) else ""
        machine.files.write_text(container.log, before + "".join(lines))
    except OSError:
        pass  # a full disk only loses logs
