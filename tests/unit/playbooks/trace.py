# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A run as a readable and comparable text: every call of a module, and its result."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from golden import yaml_text
from unit.playbooks.rehearsal import ROOT, Call, Rehearsal, run

WIDTH = 250
TIMES = {"started", "finished"}
"""Keys with times."""


@dataclass
class _Task:
    calls: list[Call] = field(default_factory=list)
    ended: dict[str, str] = field(default_factory=dict)


class Trace:
    """Records the events of a run."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._tasks: dict[str, _Task] = {}

    def play(self, name: str) -> None:
        self._flush()
        self._lines.append(f"# {name}")

    def called(self, call: Call) -> None:
        self._tasks.setdefault(call.uuid, _Task()).calls.append(call)

    def ended(self, call: Call, status: str, message: str) -> None:
        if message and call.uuid not in self._tasks:
            # It has failed before the call of its module.
            self.called(call)
        if call.uuid in self._tasks:
            self._tasks[call.uuid].ended[call.host] = f"{status}: {message}" if message else status

    def text(self, status: int) -> str:
        """Return all events.

        Args:
            status: the exit status of the run.
        """
        self._flush()
        text = "\n".join([*self._lines, f"# exit status {status}"]) + "\n"
        # Ansible's own message, which differs between versions.
        return text.replace("Task failed: ", "").replace("Action failed: ", "")

    def _flush(self) -> None:
        for task in self._tasks.values():
            self._lines += _of_task(task)
        self._tasks.clear()


def of(rehearsal: Rehearsal, folder: Path) -> str:
    """Run a playbook, and return its trace.

    Args:
        rehearsal: the run.
        folder: an empty folder for files of this run.
    """
    trace = Trace()
    status = run(rehearsal, trace, folder)
    return trace.text(status)


def _of_task(task: _Task) -> list[str]:
    """Return the lines of a task: its name and its calls. Hosts with the same call share the lines."""
    first = task.calls[0]
    alike: dict[str, list[str]] = {}
    for call in task.calls:
        about = f"{' in check mode' if call.checks else ''}{f' on {call.delegate}' if call.delegate else ''}"
        ended = task.ended.get(call.host, "skipped")
        text = f"{about}: {ended}\n{_data(call.arguments)}"
        alike.setdefault(text, []).append(call.host)
    lines = [f"- {first.task} [{first.module}]"]
    for text, hosts in alike.items():
        head, *rest = text.splitlines()
        lines += [f"  {' '.join(hosts)}{head}", *(f"      {line}" for line in rest)]
    return lines


def _data(arguments: dict[str, t.Any]) -> str:
    found = {name: _short(name, value) for name, value in arguments.items()}
    return yaml_text.of(found, WIDTH) if found else ""


def _short(name: str, value: t.Any) -> t.Any:
    """Return a value without the content of other golden files, times, and the path of this repository."""
    if name == "definition" and isinstance(value, list):
        # tests/golden/manifests.
        return [_object(one) for one in value if one]
    if name == "cluster":
        return "what cluster_info says" if value.get("nodes") else value
    if isinstance(value, Mapping):
        return {key: "a time" if key in TIMES else _short(key, inner) for key, inner in value.items()}
    return value.removeprefix(f"{ROOT}/") if isinstance(value, str) else value


def _object(found: Mapping[str, t.Any]) -> str:
    about = found["metadata"]
    return f"{found['kind']} {about.get('namespace', '')}/{about['name']}".replace(" /", " ")
