# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""An in-memory node behind the parts of Ansible's ActionBase that the engine uses: its link can break at any command.

It carries out batches by docs/wire.md; what a command does is a function that the test gives.
"""

from __future__ import annotations

import copy
import dataclasses
import json
import types
import typing as t

Handler = t.Callable[[dict[str, t.Any]], t.Any]
"""From a call to its output objects (a list), a whole result (a dict), or an exception for an error."""


def error_result(message: str, error_id: str = "Broken", category: str = "NotSpecified") -> dict[str, t.Any]:
    """The result of a call that failed."""
    return {
        "ok": False,
        "error": {"category": category, "id": error_id, "type": "System.Exception", "message": message},
    }


def header_output(
    build: int = 20348, installation: str = "Server", product: str = "Windows Server 2022 Datacenter", **extra: t.Any
) -> list[dict[str, t.Any]]:
    """What a node answers to the header's @read-registry, in its order."""
    values = [str(build), 2700, product, installation, "WIN-1", extra.get("active", "WIN-1"), extra.get("renames")]
    answers: list[dict[str, t.Any]] = [{"exists": value is not None, "value": value} for value in values]
    return [*answers, {"key_exists": extra.get("servicing", False)}, {"key_exists": extra.get("update", False)}]


class Machine:
    """Executes batches; remembers keys like the real module."""

    def __init__(self, handlers: t.Mapping[str, Handler]) -> None:
        self.handlers = dict(handlers)
        self.executed: list[dict[str, t.Any]] = []
        self.results: dict[str, dict[str, t.Any] | None] = {}
        """By key: the observation; None while it runs."""
        self.lost: set[str] = set()
        self.running_answers = 0
        """So many collects are answered with `running` first."""
        self.batches: list[dict[str, t.Any]] = []
        self.reboots = 0

    def ran(self, command: str) -> int:
        """How often a command was executed."""
        return sum(call["command"] == command for call in self.executed)

    def handle(self, batch: dict[str, t.Any]) -> dict[str, t.Any]:
        self.batches.append(batch)
        for key in batch.get("forget", ()):
            self.results.pop(key, None)
            self.lost.discard(key)
        key = batch.get("key")
        if batch["mode"] == "collect":
            return self._collect(t.cast("str", key))
        if key is None:
            return self.execute(batch["calls"])
        if key in self.results:
            return {"state": "known"}
        self.results[key] = None
        self.results[key] = self.execute(batch["calls"])
        return t.cast("dict[str, t.Any]", self.results[key])

    def _collect(self, key: str) -> dict[str, t.Any]:
        if key in self.lost:
            return {"state": "lost", "progress": {"id": "r0.x", "done": 0, "total": 1}}
        if key not in self.results:
            return {"state": "unknown"}
        if self.running_answers:
            self.running_answers -= 1
            return {"state": "running", "progress": {"id": "r1.make", "done": 1, "total": 3}}
        return t.cast("dict[str, t.Any]", self.results[key])

    def execute(self, calls: list[dict[str, t.Any]]) -> dict[str, t.Any]:
        results: dict[str, dict[str, t.Any]] = {}
        stopped: dict[str, str] | None = None
        for call in calls:
            if stopped is not None and not call.get("always"):
                continue
            result = self._call(call, results)
            results[call["id"]] = result
            if call["command"] == "@stop-if" and result["output"][0]:
                stopped = {"id": call["id"], "reason": "barrier"}
            elif result.get("error") and call.get("on_error", "stop") == "stop":
                stopped = {"id": call["id"], "reason": "error"}
        return {"state": "finished", "calls": results, "stopped": stopped}

    def _call(self, call: dict[str, t.Any], results: dict[str, dict[str, t.Any]]) -> dict[str, t.Any]:
        if not all(results.get(name, {}).get("ok") for name in call.get("needs", ())):
            return {"ok": False, "skipped": "needs"}
        source = call.get("input")
        if source is not None:
            found = [item for name in source["from"] for item in results.get(name, {}).get("output", ())]
            where = source.get("where", {})
            left = [
                item
                for item in found
                if isinstance(item, dict) and all(str(item.get(key)) == str(value) for key, value in where.items())
            ]
            if call["command"] == "@stop-if":
                return {"ok": True, "output": [len(left)]}
            if not left:
                return {"ok": True, "output": [], "skipped": "no input"}
        self.executed.append(call)
        if call["command"] not in self.handlers and call.get("on_error") == "continue":
            return error_result(f"{call['command']} is not recognized", "CommandNotFoundException", "ObjectNotFound")
        answer = self.handlers[call["command"]](call)
        if isinstance(answer, dict):
            return answer
        return {"ok": True, "output": answer, "seconds": 0.5}


class LinkError(Exception):
    """What a connection plugin lets out."""


@dataclasses.dataclass
class FakeShell:
    options: dict[str, t.Any] = dataclasses.field(default_factory=lambda: {"async_dir": "%USERPROFILE%/.ansible_async"})

    def get_option(self, option: str) -> t.Any:
        return self.options[option]

    def set_option(self, option: str, value: t.Any) -> None:
        self.options[option] = value


Fault = t.Literal["before", "after", "killed", "garbled", "reset"]


class FakeConnection:
    """Its faults, by the number of the command (from 1): before it runs, after it ran, or while the node loses it."""

    def __init__(self, machine: Machine, faults: t.Mapping[int, Fault] | None = None) -> None:
        self.machine = machine
        self.faults = dict(faults or {})
        self.commands = 0
        self.resets = 0
        self.closes = 0
        self.unreachable = 0
        """So many resets fail."""
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
        if fault == "before":
            raise self.error
        batch = json.loads(in_data or b"")
        if fault == "killed" and batch.get("key"):
            self.machine.lost.add(batch["key"])
            raise self.error
        observation = self.machine.handle(batch)
        if fault == "after":
            raise self.error
        if fault == "garbled":
            return 1, b'{"changed": fal', b"out of memory"
        return 0, json.dumps({"changed": False, "observation": observation}).encode(), b""

    def reset(self) -> None:
        self.resets += 1
        if self.unreachable:
            self.unreachable -= 1
            raise LinkError("connection refused")

    def close(self) -> None:
        self.closes += 1


class FakeTask:
    """A task's attributes that the engine touches."""

    def __init__(self) -> None:
        self.async_val = 0
        self.args: dict[str, t.Any] = {}

    def copy(self) -> FakeTask:
        return copy.copy(self)


class FakeAction:
    """The parts of ActionBase that the engine uses."""

    def __init__(self, machine: Machine, faults: t.Mapping[int, Fault] | None = None) -> None:
        self.machine = machine
        self._connection = FakeConnection(machine, faults)
        self._task = FakeTask()
        self._play_context = self._connection._play_context
        self._loader = self._templar = None
        self.async_dirs: list[str] = []
        self.reboot_result: dict[str, t.Any] = {"rebooted": True, "changed": True}
        self.reboot_args: list[dict[str, t.Any]] = []
        self._shared_loader_obj = types.SimpleNamespace(action_loader=types.SimpleNamespace(get=self._load))

    def _execute_module(
        self, *, module_name: str, module_args: dict[str, t.Any], task_vars: dict[str, t.Any]
    ) -> dict[str, t.Any]:
        assert module_name == "winkube.node.invoke_calls"
        assert isinstance(module_args["batch"], str)
        _, output, error = self._connection.exec_command("run", in_data=module_args["batch"].encode())
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

    def _load(self, name: str, **keywords: t.Any) -> t.Any:
        assert name == "ansible.windows.win_reboot"
        self.reboot_args.append(keywords["task"].args)

        def run(task_vars: dict[str, t.Any]) -> dict[str, t.Any]:
            self.machine.reboots += 1
            return self.reboot_result

        return types.SimpleNamespace(run=run)


class FakeTime:
    """A clock that only sleeping moves."""

    def __init__(self) -> None:
        self.now = 0.0

    def clock(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds
