# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Resolve paths in HostProcess containers, access the API server and write output, as all of Calico's programs do.

Paths below `%CONTAINER_SANDBOX_MOUNT_POINT%` work with every version of containerd.

The source of paths and credentials is libcalico-go/lib/winutils.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from simulator.kubernetes_node.api import cluster_access
from simulator.kubernetes_node.api.client import KubeconfigError, ServerAccess
from simulator.kubernetes_node.kubelet.settings import drive
from simulator.machine.objects import Invocation

if TYPE_CHECKING:
    from simulator.machine.machine import Machine

_KEPT = 300
_ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount"


class CalicoError(Exception):
    """Raised if a Calico program cannot continue. The text is the program's log message."""


class StoppedError(Exception):
    """Raised in a program that has to end because its container is being stopped."""


@dataclass
class Logs:
    """The last lines of output of each program, by the program's name."""

    lines: dict[str, list[str]] = field(default_factory=dict)


class Output:
    """The output of one program.

    If the invocation has an `emit` function, each line is passed to it immediately.

    Args:
        machine: the machine that the program runs on.
        run: the invocation of the program.
        name: the program's name, under which the machine's status shows the output.
    """

    def __init__(self, machine: Machine, run: Invocation, name: str) -> None:
        self._emit = run.emit
        self._kept: list[str] = []
        self._log = machine.part(Logs).lines.setdefault(name, [])

    def write(self, text: str) -> None:
        """Write a line, unless it repeats the previous line."""
        if self._log and self._log[-1] == text:
            return
        self._log[:] = [*self._log[1 - _KEPT :], text]
        if self._emit:
            self._emit(text)
        else:
            self._kept.append(text)

    def log(self, level: str, text: str, **fields: object) -> None:
        """Write a log line in the format of libcalico-go/lib/logutils."""
        stamp = datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S.000")
        pairs = "".join(f" {name.removesuffix('_')}={value}" for name, value in fields.items())
        line = f"[{level}] {text}{pairs}"
        if not (self._log and self._log[-1].endswith(line)):
            self.write(f"{stamp} {line}")

    def text(self) -> str:
        """Return the output, or an empty string if the invocation has an `emit` function."""
        return "".join(f"{line}\n" for line in self._kept)


def host_path(run: Invocation, path: str) -> str:
    """Return the host path of a file in the container, as winutils.GetHostPath does."""
    root = run.variable("CONTAINER_SANDBOX_MOUNT_POINT")
    if not root:
        return drive(path)
    text = drive(path)
    return root + (text[2:] if text[1:2] == ":" else f"\\{text}")


def in_cluster(machine: Machine, run: Invocation) -> ServerAccess:
    """Return how a pod accesses the API server with its service account, as winutils.GetInClusterConfig does.

    Raises:
        KubeconfigError: an environment variable or the token is missing.
        OSError: the API server is not reachable at its address.
    """
    host, port = run.variable("KUBERNETES_SERVICE_HOST"), run.variable("KUBERNETES_SERVICE_PORT")
    if not host or not port:
        names = "KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT"
        raise KubeconfigError(f"unable to load in-cluster configuration, {names} must be defined")
    token, authority = (host_path(run, f"{_ACCOUNT}/{name}") for name in ("token", "ca.crt"))
    if not machine.files.is_file(token):
        raise KubeconfigError(f"open {token}: The system cannot find the path specified.")
    ca = machine.files.read_text(authority) if machine.files.is_file(authority) else None
    return cluster_access.reach(machine, ServerAccess(f"https://{host}:{port}", ca=ca, token_file=token))


def pause(machine: Machine, run: Invocation, seconds: float) -> None:
    """Wait for a number of seconds on the machine's clock.

    Raises:
        StoppedError: the program has to end before the time has elapsed.
    """
    if run.stop.wait(max(0.02, seconds * machine.settings.time_scale)):
        raise StoppedError
