# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""WinRS shells: command lines with standard input, two output streams and an exit code ([MS-WSMV] 3.1.4)."""

from __future__ import annotations

import logging
import threading
import uuid
from dataclasses import dataclass, field

from simulator.transport import wsman
from simulator.transport.host import Execution, ProcessResult
from simulator.transport.shells import (
    Shell,
    ShellContext,
    desired_command,
    input_stream,
    payload_limit,
    signal_code,
    state_xml,
    stream_xml,
)
from simulator.transport.wsman import WsmanRequest

log = logging.getLogger(__name__)

# STATUS_CONTROL_C_EXIT: the exit code of a console process that ctrl_c ended.
CONTROL_C_EXIT = 0xC000013A - (1 << 32)


class Console:
    """The input that a client types for a command whose standard input is a console."""

    def __init__(self, changed: threading.Condition) -> None:
        self._changed = changed
        self._typed = bytearray()
        self._ended = False
        self.stopped = threading.Event()

    def add(self, data: bytes, *, end: bool) -> None:
        """Add input; the caller must hold the lock."""
        self._typed += data
        self._ended = self._ended or end or b"\x1a" in data
        self._changed.notify_all()

    def read(self, *, to_exit: bool) -> bytes:
        """Wait until the input or command ends, and return the input. With `to_exit`, a line `exit` ends the input."""
        with self._changed:
            while not self._ended and not self.stopped.is_set():
                lines = [line.strip().lower() for line in bytes(self._typed).splitlines()]
                if to_exit and b"exit" in lines:
                    break
                self._changed.wait(0.2)
            return bytes(self._typed).partition(b"\x1a")[0]


@dataclass
class ShellCommand:
    """A command of a shell, with its input and the output that has not been sent yet."""

    line: str
    execution: Execution
    console: Console
    stdin: bytearray = field(default_factory=bytearray)
    started: bool = False
    done: bool = False
    exit_code: int = 0
    stdout: bytes = b""
    stderr: bytes = b""


class WinrsShell(Shell):
    """A WinRS shell, whose resource URI ends with `/windows/shell/cmd`."""

    def __init__(self, shell_id: str, request: WsmanRequest, context: ShellContext) -> None:
        super().__init__(shell_id, wsman.CMD_RESOURCE, context)
        variables = request.body.iter(f"{{{wsman.SHELL}}}Variable")
        self._environment = {item.get("Name") or "": item.text or "" for item in variables}
        folder = request.find("Shell/WorkingDirectory")
        self._working_directory = None if folder is None else folder.text
        self._commands: dict[str, ShellCommand] = {}

    def command(self, request: WsmanRequest) -> str:
        """Create a command. It starts immediately if its standard input is a console, or else at the end of its input.

        The standard input is a pipe instead of a console if WINRS_CONSOLEMODE_STDIN is false.
        """
        line = request.find("CommandLine")
        program = request.find("CommandLine/Command")
        if line is None or program is None:
            raise wsman.invalid_parameter("The Command request has no CommandLine element.")
        arguments = [item.text or "" for item in line.iter(f"{{{wsman.SHELL}}}Arguments")]
        command_id = (line.get("CommandId") or str(uuid.uuid4())).upper()
        typed = request.options.get("WINRS_CONSOLEMODE_STDIN", "TRUE").upper() not in ("FALSE", "0")
        console = Console(self.changed)
        execution = Execution(
            command_id, self.id, self.user, self._environment, self._working_directory,
            stopped=console.stopped, console=console if typed else None,
        )  # fmt: skip
        command = ShellCommand(" ".join([program.text or "", *arguments]), execution, console)
        with self.changed:
            self.require_open()
            self._commands[command_id] = command
            if typed:
                self._start(command)
        return f"<rsp:CommandResponse><rsp:CommandId>{command_id}</rsp:CommandId></rsp:CommandResponse>"

    def send(self, request: WsmanRequest) -> None:
        """Pass standard input to a command.

        If the input is a pipe, the command starts when the input ends. Console input goes to the running command.
        """
        command_id, data, end = input_stream(request)
        with self.changed:
            command = self._command(command_id)
            if not command.started:
                command.stdin += data
                if end:
                    self._start(command)
            elif command.execution.console is not None:
                command.console.add(data, end=end)

    def signal(self, request: WsmanRequest) -> None:
        """End a command, and also remove it if the signal is `terminate`."""
        command_id, code = signal_code(request)
        with self.changed:
            command = self._command(command_id)
            command.execution.stopped.set()
            if code == "terminate":
                del self._commands[command_id]
                self.forget_receiver(command_id)
            elif not command.done:
                self._finish(command, ProcessResult(exit_code=CONTROL_C_EXIT))
            self.changed.notify_all()

    def receive(self, request: WsmanRequest) -> bytes:
        """Wait until a command has ended, and return a part of its output. The last part comes with the exit code."""
        command_id = desired_command(request)
        with self.changed:
            command = self._command(command_id)

        def take() -> str | None:
            return _take_output(command, payload_limit(request)) if command.done else None

        return self.receive_when(request, command_id, take, lambda: command_id not in self._commands)

    def stop_all(self) -> None:
        """Stop every command of the shell."""
        for command in self._commands.values():
            command.execution.stopped.set()

    def _command(self, command_id: str) -> ShellCommand:
        command = self._commands.get(command_id)
        if command is None:
            raise wsman.command_not_found()
        return command

    def _start(self, command: ShellCommand) -> None:
        command.started = True
        self.context.counters.add(remote_commands=1)
        threading.Thread(target=self._run, args=(command,), name=f"winrs-{command.execution.id}", daemon=True).start()

    def _run(self, command: ShellCommand) -> None:
        stdin, command.stdin = bytes(command.stdin), bytearray()
        try:
            result = self.context.host.run_process(command.line, stdin, command.execution)
        except Exception as error:
            # The client must see errors of the simulator, and the command must end.
            log.exception("command %s", command.execution.id)
            result = ProcessResult(stderr=f"simulator: {type(error).__name__}: {error}\r\n".encode(), exit_code=255)
        with self.changed:
            if not command.done:
                self._finish(command, result)

    def _finish(self, command: ShellCommand, result: ProcessResult) -> None:
        command.stdout, command.stderr, command.exit_code = result.stdout, result.stderr, result.exit_code
        command.done = True
        self.changed.notify_all()


def _take_output(command: ShellCommand, limit: int) -> str:
    command_id = command.execution.id
    stdout, command.stdout = command.stdout[:limit], command.stdout[limit:]
    limit -= len(stdout)
    stderr, command.stderr = command.stderr[:limit], command.stderr[limit:]
    parts = [stream_xml(name, data, command_id) for name, data in (("stdout", stdout), ("stderr", stderr)) if data]
    if command.stdout or command.stderr:
        parts.append(state_xml(command_id, "Running"))
    else:
        parts += [stream_xml(name, b"", command_id, end=True) for name in ("stdout", "stderr")]
        parts.append(state_xml(command_id, "Done", command.exit_code))
    return f"<rsp:ReceiveResponse>{''.join(parts)}</rsp:ReceiveResponse>"
