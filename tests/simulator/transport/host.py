# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The agreement between the transport (this package) and the machine it gives a network to (`simulator.machine`).

The transport calls a `Host`; a `Host` calls back on the `NodePorts` it was attached to. That is all they share.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol


@dataclass(frozen=True)
class Account:
    """A local account that may log on over the network.

    Args:
        password: in clear text; NTLM's hash is computed from it.
        password_expired: Windows then refuses the logon (HTTP 401), with the right password as with a wrong one.
        disabled: as above.
    """

    password: str
    password_expired: bool = False
    disabled: bool = False


@dataclass(frozen=True)
class WinrmSettings:
    """What winrm/config says of who may speak to the machine, and how.

    Args:
        transports: `HTTP`, `HTTPS`: those that have a listener which can answer.
        basic, negotiate: of winrm/config/service/auth.
        allow_unencrypted: of winrm/config/service: whether plain messages are taken without TLS.
        certificate: of the HTTPS listener with its private key, in PEM; empty: the fleet's certificate is served.
    """

    transports: frozenset[str] = frozenset(("HTTP", "HTTPS"))
    basic: bool = True
    negotiate: bool = True
    allow_unencrypted: bool = True
    certificate: bytes = b""


class ConsoleInput(Protocol):
    """What a client types while a command runs."""

    def read(self, *, to_exit: bool) -> bytes:
        """Return all of it up to its end, or up to a line that is `exit`; waits until that has come."""


@dataclass(frozen=True)
class Execution:
    """One remote command while it runs.

    Args:
        id: the WinRS command's or PSRP pipeline's identifier.
        shell_id: of the WinRS shell or runspace pool it runs in. Runspaces keep their state as long as their pool.
        user: account name as the host spells it.
        kind: `process` (WinRS) or `script` (PSRP).
        environment: variables that the client set for a WinRS shell.
        working_directory: of a WinRS shell, if the client named one.
        console: of a WinRS command whose standard input is no pipe: what the client types.
        stopped: set when the client terminated the command, deleted its shell, or the node lost power. A slow command
            polls or waits on it, and returns soon after; its result is then thrown away.
    """

    id: str
    shell_id: str
    user: str
    kind: str
    environment: Mapping[str, str] = field(default_factory=dict)
    working_directory: str | None = None
    console: ConsoleInput | None = None
    stopped: threading.Event = field(default_factory=threading.Event)


@dataclass(frozen=True)
class ProcessResult:
    """What a WinRS command left behind: its streams (bytes, as the process wrote them) and its exit code."""

    stdout: bytes = b""
    stderr: bytes = b""
    exit_code: int = 0


@dataclass(frozen=True)
class PipelineCommand:
    """One command of a PSRP pipeline.

    Args:
        text: the script, or the command's name.
        is_script: whether `text` is a script.
        arguments: (parameter name or None, value) in the order given.
        ends_statement: whether the next command begins a statement of its own.
    """

    text: str
    is_script: bool
    arguments: tuple[tuple[str | None, object], ...] = ()
    ends_statement: bool = False


@dataclass(frozen=True)
class Pipeline:
    """What a PSRP client asks for: commands, and the objects piped into the first (None: no input at all)."""

    commands: tuple[PipelineCommand, ...]
    input: tuple[object, ...] | None = None

    @property
    def script(self) -> str:
        """Text of the first command: the script, wherever a client sends a single script (as Ansible does)."""
        return self.commands[0].text


@dataclass(frozen=True)
class ScriptError:
    """An error record of a pipeline.

    Args:
        message: the exception's message.
        category: a name of System.Management.Automation.ErrorCategory, such as `ObjectNotFound`.
        fully_qualified_error_id: such as `CommandNotFoundException`.
        exception: .NET type of the exception.
        activity: what ran, usually the command's name.
        reason: short name of the exception's type.
        target_name, target_type: of the target object.
        position: `InvocationInfo.PositionMessage`.
        command_name: `InvocationInfo.MyCommand`.
        stack_trace: `ScriptStackTrace`.
    """

    message: str
    category: str = "NotSpecified"
    fully_qualified_error_id: str = ""
    exception: str = "System.Management.Automation.RuntimeException"
    activity: str = ""
    reason: str = ""
    target_name: str = ""
    target_type: str = ""
    position: str | None = None
    command_name: str | None = None
    stack_trace: str | None = None


@dataclass(frozen=True)
class Information:
    """A record of the information stream.

    Args:
        user, computer: who wrote it, and where.
        shown: whether the client's host shows it.
        from_host: whether Write-Host wrote it.
        newline: whether a line ends after it.
    """

    text: str
    user: str
    computer: str
    shown: bool = True
    from_host: bool = False
    newline: bool = True


@dataclass(frozen=True)
class ScriptResult:
    """What a pipeline left behind.

    Args:
        output: objects as psrpcore serializes them: str, int, bool, None, list, dict, bytes, or psrpcore's own types.
        errors: non-terminating error records.
        exit_code: argument of `exit`, which reaches the client as the host call SetShouldExit; None without `exit`.
        failure: the terminating error; the pipeline's state is then Failed.
        warnings, verbose, debug, information: records of these streams.
    """

    output: Sequence[object] = ()
    errors: Sequence[ScriptError] = ()
    exit_code: int | None = None
    failure: ScriptError | None = None
    warnings: Sequence[str] = ()
    verbose: Sequence[str] = ()
    debug: Sequence[str] = ()
    information: Sequence[Information] = ()


class NodePorts(Protocol):
    """What a host may do to its own network and shells. Safe to call from any thread, also from inside a command."""

    def drop_link(self, seconds: float) -> None:
        """Cut all connections and refuse new ones for this long; shells and commands live on. Returns at once."""

    def close_ports(self, *, forget_shells: bool = True) -> None:
        """The node goes off (reboot, shutdown): ports close, connections break, shells end and commands are stopped."""

    def open_ports(self) -> None:
        """The node is up again: listen on the same ports as before."""

    def listeners_changed(self) -> None:
        """Listeners of WinRM were made or removed: ports open, or close with the connections that came in there."""

    def forget_shells(self) -> None:
        """The WinRM service restarts: shells end and commands are stopped, connections stay."""


class Host(Protocol):
    """What a simulated machine offers to the transport. Every method may be called from many threads at once."""

    @property
    def name(self) -> str:
        """The computer's name: `Machine` in faults."""

    def attach(self, ports: NodePorts) -> None:
        """Take the node's network. Called once, before the ports open."""

    def accounts(self) -> Mapping[str, Account]:
        """Account names (compared without case) and what is needed to log on. Asked at every logon."""

    def winrm(self) -> WinrmSettings:
        """What winrm/config says. Asked when ports open, and of every request."""

    def run_process(self, command_line: str, stdin: bytes, execution: Execution) -> ProcessResult:
        """Run a WinRS command line with its whole standard input. Runs in a thread of its own and may block."""

    def run_script(self, pipeline: Pipeline, execution: Execution) -> ScriptResult:
        """Run a PSRP pipeline with its whole input. Runs in a thread of its own and may block."""

    def shell_closed(self, shell_id: str) -> None:
        """A shell or runspace pool ended (deleted, or forgotten): drop the state kept for it."""

    def set_fault(self, fault: Mapping[str, object]) -> Callable[[], None] | None:
        """Take a fault of POST /simulator/faults whose `kind` is not one of the transport's.

        Returns:
            What is to happen once the request is answered: whatever breaks its connection, such as a reboot.

        Raises:
            ValueError: the host does not know it; its text is the answer.
        """

    def status(self) -> dict[str, object]:
        """What GET /simulator/status says of the machine: JSON values.

        The transport adds its own keys: `counters`, `open_shells`, `pending_faults`.
        """
