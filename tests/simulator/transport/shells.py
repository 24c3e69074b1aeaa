# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The common part of WinRS shells and PSRP runspace pools: owner, last use, and waiting Receive requests."""

from __future__ import annotations

import base64
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

from simulator.transport import wsman
from simulator.transport.counters import Counters
from simulator.transport.host import Host
from simulator.transport.wsman import WsmanRequest

# In seconds; the default of IdleTimeoutms in winrm/config/winrs is 7200000.
IDLE_TIMEOUT = 7200.0
# The number of bytes in a Receive response in addition to the streams.
ENVELOPE_OVERHEAD = 4096
STATE = wsman.SHELL + "/CommandState/"


@dataclass(frozen=True)
class ShellContext:
    """The context of a shell: its host, the node's counters, the user who opened it, and the user's IP address."""

    host: Host
    counters: Counters
    user: str
    client_address: str


class Shell(ABC):
    """A shell on one node; the condition `changed` protects its commands, and wakes waiting Receive requests.

    Args:
        shell_id: an upper-case UUID.
        resource_uri: the resource URI, which identifies the kind of shell.
        context: the shell's host, counters and user.
    """

    def __init__(self, shell_id: str, resource_uri: str, context: ShellContext) -> None:
        self.id = shell_id
        self.resource_uri = resource_uri
        self.context = context
        self.user = context.user
        self.changed = threading.Condition()
        self.closed = False
        self.last_used = time.monotonic()
        self._receivers: dict[str, str] = {}
        self._last_answers: dict[str, tuple[str, bytes]] = {}

    @abstractmethod
    def command(self, request: WsmanRequest) -> str:
        """Start a command, and return the body of the response."""

    @abstractmethod
    def send(self, request: WsmanRequest) -> None:
        """Process input."""

    @abstractmethod
    def signal(self, request: WsmanRequest) -> None:
        """Stop or remove a command."""

    @abstractmethod
    def receive(self, request: WsmanRequest) -> bytes:
        """Wait for output, and return the whole response."""

    @abstractmethod
    def stop_all(self) -> None:
        """Stop all commands, because the shell ends; the caller must hold `changed`."""

    def close(self) -> None:
        """End the shell: stop its commands, and abort requests that wait for output. An ended shell is left alone."""
        with self.changed:
            if self.closed:
                return
            self.closed = True
            self.stop_all()
            self.changed.notify_all()
        self.context.host.shell_closed(self.id)

    def require_open(self) -> None:
        """Raise an error if the shell has been closed; the caller must hold `changed`.

        Raises:
            WsmanFaultError: the shell is closed.
        """
        if self.closed:
            raise wsman.shell_not_found(self.id)

    def touch(self) -> None:
        """Record a use of the shell."""
        self.last_used = time.monotonic()

    def is_idle(self) -> bool:
        """Return whether the shell has not been used for IDLE_TIMEOUT seconds."""
        return time.monotonic() - self.last_used > IDLE_TIMEOUT

    def receive_when(
        self, request: WsmanRequest, command_id: str, take: Callable[[], str | None], finished: Callable[[], bool]
    ) -> bytes:
        """Wait until there is output, and return the whole response.

        If a response was lost, the client can repeat the Receive with the same message id to get the same response. A
        second Receive for the same command replaces the first Receive, whose client has disconnected.

        Args:
            request: the Receive request.
            command_id: the command whose output is requested; empty for the shell's output.
            take: a function that returns the response's body, or None if there is no output. It is called with
                `changed` locked.
            finished: a function that returns whether the command no longer exists.

        Raises:
            WsmanFaultError: there was no output in time, the shell or command has ended, or another Receive replaced
                this Receive.
        """
        deadline = time.monotonic() + request.operation_timeout
        with self.changed:
            message_id, last = self._last_answers.get(command_id, ("", b""))
            if message_id == request.message_id:
                return last
            self._receivers[command_id] = request.message_id
            self.changed.notify_all()
            while True:
                if self.closed or self._receivers.get(command_id) != request.message_id:
                    raise wsman.operation_aborted()
                if finished():
                    raise wsman.command_not_found()
                body = take()
                if body is not None:
                    break
                left = deadline - time.monotonic()
                if left <= 0:
                    raise wsman.operation_timed_out()
                self.changed.wait(left)
            result = wsman.answer(request, body)
            self._last_answers[command_id] = (request.message_id, result)
            return result

    def forget_receiver(self, command_id: str) -> None:
        """Forget a command's last Receive and its response; the caller must hold `changed`."""
        self._receivers.pop(command_id, None)
        self._last_answers.pop(command_id, None)

    def describe(self) -> dict[str, object]:
        """Return the shell's state for GET /simulator/status."""
        return {"id": self.id, "user": self.user, "kind": "psrp" if "powershell" in self.resource_uri else "winrs"}


def stream_xml(name: str, data: bytes, command_id: str = "", *, end: bool = False) -> str:
    """Return the Stream element of a Receive response."""
    attributes = f' CommandId="{command_id}"' if command_id else ""
    attributes += ' End="true"' if end else ""
    return f'<rsp:Stream Name="{name}"{attributes}>{base64.b64encode(data).decode()}</rsp:Stream>'


def state_xml(command_id: str, state: str, exit_code: int | None = None) -> str:
    """Return a CommandState element: `Running`, or `Done` with an exit code."""
    code = "" if exit_code is None else f"<rsp:ExitCode>{exit_code}</rsp:ExitCode>"
    return f'<rsp:CommandState CommandId="{command_id}" State="{STATE}{state}">{code}</rsp:CommandState>'


def payload_limit(request: WsmanRequest) -> int:
    """Return the number of output bytes that fit, in base64, into the response."""
    return max(request.max_envelope_size - ENVELOPE_OVERHEAD, wsman.MIN_ENVELOPE // 2) * 3 // 4


def input_stream(request: WsmanRequest) -> tuple[str, bytes, bool]:
    """Return a Send request's command id (empty for the shell), its data, and whether the data ends the stream."""
    stream = request.find("Send/Stream")
    if stream is None:
        raise wsman.invalid_parameter("The Send request has no Stream element.")
    try:
        data = base64.b64decode(stream.text or "", validate=False)
    except ValueError as error:
        raise wsman.invalid_parameter(str(error)) from error
    return (stream.get("CommandId") or "").upper(), data, (stream.get("End") or "").lower() in ("true", "1")


def signal_code(request: WsmanRequest) -> tuple[str, str]:
    """Return a Signal request's command id, and the last part of its code in lower case: ctrl_c, terminate etc."""
    signal = request.find("Signal")
    code = request.find("Signal/Code")
    if signal is None or code is None:
        raise wsman.invalid_parameter("The Signal request has no Code element.")
    return (signal.get("CommandId") or "").upper(), (code.text or "").rpartition("/")[2].lower()


def desired_command(request: WsmanRequest) -> str:
    """Return a Receive request's command id, or an empty string if it is for the streams of the shell."""
    desired = request.find("Receive/DesiredStream")
    return "" if desired is None else (desired.get("CommandId") or "").upper()
