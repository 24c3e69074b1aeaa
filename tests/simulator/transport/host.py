# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The interface between the transport (this package) and the machine (`simulator.machine`).

The transport calls a `Host`, and a `Host` calls the `NodePorts` to which it was attached. The transport and the machine
share no other state.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol


@dataclass(frozen=True)
class LogonAccount:
    """A local account, with the data that is needed to check network logons.

    Args:
        password: the password in clear text, from which the NTLM hash is computed.
        password_expired: whether the password has expired. Windows then refuses every logon (HTTP 401), even with the
            correct password.
        disabled: whether the account is disabled. Windows then also refuses every logon.
    """

    password: str
    password_expired: bool = False
    disabled: bool = False


@dataclass(frozen=True)
class WinrmSettings:
    """The settings in winrm/config that control who may access the machine, and how.

    Args:
        transports: the transports with a working listener: `HTTP`, `HTTPS` or both.
        basic, negotiate: the settings in winrm/config/service/auth.
        allow_unencrypted: whether unencrypted messages are accepted without TLS (in winrm/config/service).
        certificate: the HTTPS listener's certificate and private key, in PEM. If empty, the node uses the certificate
            that all nodes share.
    """

    transports: frozenset[str] = frozenset(("HTTP", "HTTPS"))
    basic: bool = True
    negotiate: bool = True
    allow_unencrypted: bool = True
    certificate: bytes = b""


class ConsoleInput(Protocol):
    """The input that a client types while a command runs."""

    def read(self, *, to_exit: bool) -> bytes:
        """Wait until the input or command ends, and return the input. With `to_exit`, a line `exit` ends the input."""


@dataclass(frozen=True)
class Execution:
    """A remote command that is running.

    Args:
        id: the identifier of the WinRS command or PSRP pipeline.
        shell_id: the identifier of the WinRS shell or runspace pool. Runspaces keep their state as long as
            their pool exists.
        user: the account name as the host spells it.
        environment: the environment variables that the client set for a WinRS shell.
        working_directory: the folder of a WinRS shell, if the client set one.
        console: the typed input of a WinRS command whose standard input is not a pipe.
        stopped: an event that is set when the client stops the command, or when its shell ends. A slow command polls or
            waits for this event, and returns soon after it is set. The command's result is then discarded.
    """

    id: str
    shell_id: str
    user: str
    environment: Mapping[str, str] = field(default_factory=dict)
    working_directory: str | None = None
    console: ConsoleInput | None = None
    stopped: threading.Event = field(default_factory=threading.Event)


@dataclass(frozen=True)
class ProcessResult:
    """The result of a WinRS command: its output (bytes, as the process wrote them) and its exit code."""

    stdout: bytes = b""
    stderr: bytes = b""
    exit_code: int = 0


@dataclass(frozen=True)
class PipelineCommand:
    """One command of a PSRP pipeline.

    Args:
        text: the script, or the name of the command.
        is_script: whether `text` is a script.
        arguments: pairs of a parameter name (None for an unnamed argument) and a value, in the given order.
        ends_statement: whether the next command starts a new statement.
    """

    text: str
    is_script: bool
    arguments: tuple[tuple[str | None, object], ...] = ()
    ends_statement: bool = False


@dataclass(frozen=True)
class PipelineRequest:
    """The request of a PSRP client: commands, and the input objects of the first command (None if it has no input)."""

    commands: tuple[PipelineCommand, ...]
    input: tuple[object, ...] | None = None

    @property
    def script(self) -> str:
        """The text of the first command, which is the whole script if a client sends one script, as Ansible does."""
        return self.commands[0].text


@dataclass(frozen=True)
class ScriptError:
    """An error record of a pipeline.

    Args:
        message: the message of the exception.
        category: a member of System.Management.Automation.ErrorCategory, such as `ObjectNotFound`.
        fully_qualified_error_id: the id, such as `CommandNotFoundException`.
        exception: the .NET type of the exception.
        activity: the operation, usually the name of the command.
        reason: the short name of the exception's type.
        target_name, target_type: the name and type of the target object.
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
        user, computer: the user and computer that wrote the record.
        shown: whether the client's host displays the record.
        from_host: whether Write-Host wrote the record.
        newline: whether the record ends a line.
    """

    text: str
    user: str
    computer: str
    shown: bool = True
    from_host: bool = False
    newline: bool = True


@dataclass(frozen=True)
class ScriptResult:
    """The result of a pipeline.

    Args:
        output: objects that psrpcore can serialize: str, int, bool, None, list, dict, bytes, or psrpcore's own types.
        errors: the non-terminating error records.
        exit_code: the argument of `exit`, which is sent to the client as the host call SetShouldExit; None if the
            script did not call `exit`.
        failure: the terminating error, with which the pipeline's state becomes Failed.
        warnings, verbose, debug, information: the records of these streams.
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
    """The operations that a simulated machine can perform on its own network ports and WinRM shells.

    The machine may call these methods from any thread, even during a command.
    """

    def drop_link(self, seconds: float) -> None:
        """Cut all connections, and refuse new ones for a number of seconds. Shells keep running. Return immediately."""

    def close_ports(self, *, forget_shells: bool = True) -> None:
        """Close ports and cut connections; by default, also end shells and stop commands, as a shutdown does."""

    def open_ports(self) -> None:
        """Open the ports of WinRM's listeners, because the node has started or its link is up again."""

    def listeners_changed(self) -> None:
        """Open and close ports after a change to WinRM's listeners; the connections of a closed port are cut."""

    def forget_shells(self) -> None:
        """Handle a restart of the WinRM service: shells end, commands are stopped, and connections stay open."""


class Host(Protocol):
    """The interface of a simulated machine for the transport. Many threads may call it concurrently."""

    @property
    def name(self) -> str:
        """The computer's name, which WSMan faults contain as `Machine`."""

    @property
    def build(self) -> int:
        """The build number of Windows, such as 20348."""

    @property
    def powershell(self) -> str:
        """The version of PowerShell in which pipelines run, such as `5.1.20348.2849`."""

    def attach(self, ports: NodePorts) -> None:
        """Store the node's network ports. This is called once, before the ports open."""

    def accounts(self) -> Mapping[str, LogonAccount]:
        """Return the accounts that can log on, keyed by case-insensitive name. This is called for every logon."""

    def winrm(self) -> WinrmSettings:
        """Return the settings in winrm/config. This is called when ports open, and for every connection and request."""

    def run_process(self, command_line: str, stdin: bytes, execution: Execution) -> ProcessResult:
        """Run a WinRS command line with all its standard input. This is called in a separate thread and may block."""

    def run_script(self, pipeline: PipelineRequest, execution: Execution) -> ScriptResult:
        """Run a PSRP pipeline with all its input. This is called in a separate thread and may block."""

    def shell_closed(self, shell_id: str) -> None:
        """Discard the state of a shell or runspace pool that was deleted or lost."""

    def set_fault(self, fault: Mapping[str, object]) -> Callable[[], None] | None:
        """Inject a fault from POST /simulator/faults whose `kind` is unknown to the transport.

        Returns:
            A function to call after the response, if the fault breaks the connection, as a reboot does; otherwise None.

        Raises:
            ValueError: the host does not know the kind, or a value is invalid. The client gets the text of the error.
        """

    def status(self) -> dict[str, object]:
        """Return the machine's state for GET /simulator/status, as JSON values.

        The transport adds its own keys: `counters`, `open_shells`, `pending_faults`.
        """
