# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A machine with only a few commands, for tests of the transport without a model of Windows."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import replace

from simulator.transport.host import (
    Execution,
    LogonAccount,
    NodePorts,
    PipelineRequest,
    ProcessResult,
    ScriptError,
    ScriptResult,
    WinrmSettings,
)
from simulator.transport.powershell_command_line import parse_command_line


class EchoHost:
    """Runs one-word scripts: `sleep 2`, `big 1000`, `exit 3`, `fail`, `error`, `raise`, `reboot 1`; echoes others.

    `held` runs until `release` is set.
    """

    def __init__(self, name: str = "ECHO", password: str = "P@ss:w0rd") -> None:
        self.name = name
        self.build, self.powershell = 17763, "5.1.17763.6530"
        self.accounts_by_name = {"Administrator": LogonAccount(password)}
        self.settings = WinrmSettings()
        self.ports: NodePorts | None = None
        self.runs: list[str] = []
        self.finished: list[str] = []
        self.stopped: list[str] = []
        self.closed_shells: list[str] = []
        self.faults: list[Mapping[str, object]] = []
        self.executions: list[Execution] = []
        self.release = threading.Event()
        self.pipelines: list[PipelineRequest] = []
        self._lock = threading.Lock()

    def expire_password(self) -> None:
        self.accounts_by_name = {
            name: replace(account, password_expired=True) for name, account in self.accounts_by_name.items()
        }

    def wait_for_stopped(self, script: str, seconds: float = 60) -> None:
        deadline = time.monotonic() + seconds
        while script not in self.stopped:
            assert time.monotonic() < deadline, f"{script} was not stopped"
            time.sleep(0.01)

    def attach(self, ports: NodePorts) -> None:
        self.ports = ports

    def accounts(self) -> Mapping[str, LogonAccount]:
        return self.accounts_by_name

    def winrm(self) -> WinrmSettings:
        return self.settings

    def run_process(self, command_line: str, stdin: bytes, execution: Execution) -> ProcessResult:
        parsed = parse_command_line(command_line)
        script = parsed.script if parsed and parsed.script is not None else command_line
        output, code = self._run(script, execution)
        lines = [*output, *([f"stdin={stdin.decode()}"] if stdin else [])]
        stderr = b"it failed\r\n" if code else b""
        return ProcessResult("\r\n".join(lines).encode() + b"\r\n", stderr, code)

    def run_script(self, pipeline: PipelineRequest, execution: Execution) -> ScriptResult:
        script = pipeline.script
        self.pipelines.append(pipeline)
        error = ScriptError(
            "it went wrong",
            "ObjectNotFound",
            "CommandNotFoundException",
            activity="Get-Nothing",
            target_name="nothing",
            target_type="String",
            position="At line:1 char:1",
            command_name="Get-Nothing",
        )
        if script.startswith("fail"):
            return ScriptResult(failure=error)
        if script.startswith("error"):
            return ScriptResult(output=["before"], errors=[error])
        if script.startswith("objects"):
            return ScriptResult(output=["a", 1, True, None, {"k": [1, 2]}], warnings=["beware"])
        if pipeline.input is not None:
            return ScriptResult(output=[f"input={json.dumps(pipeline.input)}"])
        output, code = self._run(script, execution)
        arguments = [str(value) for command in pipeline.commands if command.is_script for _, value in command.arguments]
        return ScriptResult(output=[*output, *arguments], exit_code=code or None)

    def shell_closed(self, shell_id: str) -> None:
        self.closed_shells.append(shell_id)

    def set_fault(self, fault: Mapping[str, object]) -> Callable[[], None] | None:
        if fault["kind"] != "disk_full":
            raise ValueError(f"unknown fault {fault['kind']}")
        self.faults.append(fault)
        return None

    def status(self) -> dict[str, object]:
        return {"name": self.name, "runs": len(self.runs)}

    def _run(self, script: str, execution: Execution) -> tuple[list[str], int]:
        script = script.splitlines()[0].strip() if script.strip() else ""
        with self._lock:
            self.runs.append(script)
            self.executions.append(execution)
        word, _, rest = script.partition(" ")
        output, code = [f"echo={script}"], 0
        if word == "sleep" and execution.stopped.wait(float(rest)):
            self.stopped.append(script)
        elif word == "held":
            assert self.release.wait(60)
        elif word == "big":
            output = ["x" * int(rest)]
        elif word == "raise":
            raise RuntimeError("raised")
        elif word == "exit":
            code = int(rest)
        elif word == "reboot" and self.ports is not None:
            self.ports.close_ports()
            time.sleep(float(rest))
            self.ports.open_ports()
        with self._lock:
            self.finished.append(script)
        return output, code
