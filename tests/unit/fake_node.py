# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The parts of Ansible's ActionBase that the engine uses, with a scripted machine and connections that break."""

from __future__ import annotations

import base64
import copy
import dataclasses
import gzip
import json
import types
import typing as t

from unit.scripted_machine import ScriptedMachine

from simulator.machine.objects import ProcessEndedError


class LinkError(Exception):
    """An exception of a connection plugin."""


@dataclasses.dataclass
class FakeShell:
    options: dict[str, t.Any] = dataclasses.field(default_factory=lambda: {"async_dir": "%USERPROFILE%/.ansible_async"})

    def get_option(self, option: str) -> t.Any:
        return self.options[option]

    def set_option(self, option: str, value: t.Any) -> None:
        self.options[option] = value


Fault = t.Literal["before", "after", "killed", "garbled", "reset"]


class FakeConnection:
    """A connection with faults by the number of the command (from 1): before it, after it, or lost by the node."""

    def __init__(self, machine: ScriptedMachine, faults: t.Mapping[int, Fault] | None = None) -> None:
        self.machine = machine
        self.faults = dict(faults or {})
        self.commands = 0
        self.detaching = False
        """Whether Ansible's async wrapper runs the command."""
        self.resets = 0
        self.closes = 0
        self.unreachable = 0
        """The number of resets that will fail."""
        self._play_context = types.SimpleNamespace(no_log=False)
        self._shell = FakeShell()
        self.no_log_seen: list[bool] = []
        self.error: Exception = LinkError("connection reset by peer")

    def exec_command(
        self, command: str, in_data: bytes | None = None, sudoable: bool = True
    ) -> tuple[int, bytes, bytes]:
        self.commands += 1
        self.no_log_seen.append(self._play_context.no_log)
        fault = self.faults.get(self.commands)
        if fault == "before" or not self.machine.is_on:
            raise self.error
        batch = json.loads(in_data or b"")
        if fault == "killed" and batch.get("key"):
            self.machine.kill(batch)
            raise self.error
        if self.detaching:
            self.machine.detach(batch)
        observation = None if self.detaching else self._handle(batch)
        if fault == "after":
            raise self.error
        if fault == "garbled":
            return 1, b'{"changed": fal', b"out of memory"
        return 0, json.dumps({"changed": False, "observation": observation}).encode(), b""

    def _handle(self, batch: dict[str, t.Any]) -> dict[str, t.Any]:
        try:
            return self.machine.handle(batch)
        except ProcessEndedError:
            # The machine went down in the meantime.
            raise self.error from None

    def reset(self) -> None:
        self.resets += 1
        was_on = self.machine.wait_until_on()
        if self.unreachable or not was_on:
            self.unreachable = max(0, self.unreachable - 1)
            raise LinkError("connection refused")

    def close(self) -> None:
        self.closes += 1


class FakeTask:
    """The attributes of a task that the engine uses."""

    def __init__(self) -> None:
        self.async_val = 0
        self.args: dict[str, t.Any] = {}

    def copy(self) -> FakeTask:
        return copy.copy(self)


class FakeAction:
    """The parts of ActionBase that the engine uses."""

    def __init__(self, machine: ScriptedMachine, faults: t.Mapping[int, Fault] | None = None) -> None:
        self.machine = machine
        self._connection = FakeConnection(machine, faults)
        self._task = FakeTask()
        self._play_context = self._connection._play_context
        self._loader = self._templar = None
        self.async_dirs: list[str] = []
        self._shared_loader_obj = None

    def _execute_module(
        self, *, module_name: str, module_args: dict[str, t.Any], task_vars: dict[str, t.Any]
    ) -> dict[str, t.Any]:
        batch = module_args["batch"]
        if batch.startswith("H4sI"):
            batch = gzip.decompress(base64.b64decode(batch)).decode()
        collects = json.loads(batch).get("mode") == "collect"
        assert module_name == f"winkube.node.{'collect_batch' if collects else 'invoke_calls'}"
        self._connection.detaching = bool(self._task.async_val)
        _, output, error = self._connection.exec_command("run", in_data=batch.encode())
        try:
            result: dict[str, t.Any] = json.loads(output)
        except ValueError:
            return {
                "failed": True,
                "msg": "Module result deserialization failed.",
                "_ansible_parsed": False,
                "module_stdout": output.decode(),
                "module_stderr": error.decode(),
            }
        if self._task.async_val:
            self.async_dirs.append(self._connection._shell.get_option("async_dir"))
            return {
                "started": 1,
                "finished": 0,
                "ansible_job_id": "j1.2",
                "results_file": "C:\\x",
                "_ansible_parsed": True,
            }
        return {**result, "_ansible_parsed": True}


class FakeTime:
    """A clock that only moves during sleeps."""

    def __init__(self) -> None:
        self.now = 0.0

    def clock(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds
