# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Simulate kube-log-runner.exe, which starts another program and writes that program's output to a file.

As in kubernetes staging/src/k8s.io/component-base/logs/kube-log-runner, flags are parsed by Go's flag package and end
where the command begins, and the folder of the log file must exist. kube-log-runner ends when the command ends, and its
exit code is 1 if the command failed. The command itself reports to the service control manager: kubernetes
cluster/gce/windows/k8s-node-setup.psm1 runs kubelet.exe --windows-service with kube-log-runner.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from simulator.kubernetes_node.cni import kube_proxy
from simulator.kubernetes_node.kubelet import program as kubelet
from simulator.kubernetes_node.programs import contracts
from simulator.kubernetes_node.programs.log_file import ProgramLogFile
from simulator.kubernetes_node.programs.versions import version_of
from simulator.machine import command_line
from simulator.machine.objects import RunningService, ServiceProgram
from simulator.machine.processes import Process
from simulator.machine.services import Service, ServiceError
from simulator.machine.windows_paths import normalise

if TYPE_CHECKING:
    from simulator.machine.machine import Machine

# Flags, with the first minor version that has them (kubernetes/kubernetes#127667, in CHANGELOG-1.34.md).
_FLAGS = {
    "log-file": "1.0",
    "also-stdout": "1.0",
    "redirect-stderr": "1.0",
    "flush-interval": "1.34",
    "log-file-size": "1.34",
    "log-file-age": "1.34",
}
_SWITCHES = {"also-stdout", "redirect-stderr"}


def read(argv: Sequence[str], version: str) -> tuple[dict[str, str], list[str]]:
    """Parse a command line as Go's flag package does.

    Args:
        argv: the arguments, without the program.
        version: the version of kube-log-runner, which determines the known flags. If empty, all flags are known.

    Returns:
        The flags, and the command with its arguments.

    Raises:
        ServiceError: the command line is invalid. The error code is 1053, because kube-log-runner ends before it
            reports to the service control manager.
    """
    found: dict[str, str] = {}
    words = list(argv)
    while words and words[0].startswith("-"):
        word = words.pop(0)
        if word == "--":
            break
        name, given, value = word.removeprefix("-").removeprefix("-").partition("=")
        if name not in _FLAGS or (version and not contracts.at_least(version, _FLAGS[name])):
            raise ServiceError(1053, f"flag provided but not defined: -{name}")
        if not given and name not in _SWITCHES:
            if not words:
                raise ServiceError(1053, f"flag needs an argument: -{name}")
            value = words.pop(0)
        found[name] = value
    if not words:
        raise ServiceError(1053, "not enough arguments to run")
    return found, words


def command(argv: Sequence[str]) -> list[str]:
    """Return the command that a service ultimately runs.

    If the service's command line starts kube-log-runner, return the command in its arguments. Otherwise, return the
    command line.
    """
    program = argv[0].replace("/", "\\").rpartition("\\")[2].casefold().removesuffix(".exe")
    return read(argv[1:], "")[1] if program == "kube-log-runner" else list(argv)


class _RunningLogRunner:
    """The processes of kube-log-runner and of the program that it started."""

    def __init__(self, machine: Machine, process: Process, child: RunningService) -> None:
        self._machine, self._process, self._child = machine, process, child

    @property
    def alive(self) -> bool:
        """Whether the started program is running. kube-log-runner ends when that program ends."""
        alive = self._child.alive
        if not alive:
            self._machine.processes.end(self._process)
        return alive

    @property
    def exit_code(self) -> int:
        """The exit code of kube-log-runner: 1 if the started program failed, otherwise 0."""
        return 1 if self._child.exit_code else 0

    def stop(self) -> None:
        """Stop kube-log-runner and the program that it started."""
        self._child.stop()
        self._machine.processes.end(self._process)


class _LogRunnerService:
    def start(self, machine: Machine, service: Service) -> RunningService:
        """Start the command that follows the flags of kube-log-runner, and redirect its output to the log file."""
        flags, words = read(service.argv[1:], version_of(machine, service.argv[0]))
        log = ProgramLogFile(machine, flags.get("log-file", ""))
        found = machine.programs.resolve_service(service.name, " ".join(map(command_line.quote, words)))
        if found.program is None:
            raise ServiceError(1053, f"starting command: {found.path}: error {found.error}")
        process = machine.processes.begin(found.path.rpartition("\\")[2], service.account, image=normalise(found.path))
        if path := flags.get("log-file"):
            # Go's os.OpenFile shares reading and writing, but not deleting:
            # https://pkg.go.dev/syscall?GOOS=windows#Open
            machine.files.open.hold_until_end(path, "w", "rw", process)
        inner = dataclasses.replace(service, argv=words)
        try:
            if isinstance(found.program, kubelet.KubeletService | kube_proxy.ProxyService):
                child = found.program.start(machine, inner, log.write)
            else:
                child = found.program.start(machine, inner)
        except BaseException:
            machine.processes.end(process)
            raise
        return _RunningLogRunner(machine, process, child)


SERVICES: Mapping[str, ServiceProgram] = {"kube-log-runner": _LogRunnerService()}
