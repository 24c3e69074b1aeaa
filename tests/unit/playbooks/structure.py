# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The plays of a playbook as Ansible parses them: every task of the imported roles, with its keywords.

Rehearsals (trace.py) cover the arguments of modules, and the conditions of tasks.
"""

from __future__ import annotations

import typing as t
from collections.abc import Iterator
from pathlib import Path

from ansible.inventory.manager import InventoryManager
from ansible.parsing.dataloader import DataLoader
from ansible.playbook import Playbook
from ansible.vars.manager import VariableManager

PLAY = ("hosts", "connection", "serial", "max_fail_percentage", "any_errors_fatal", "order", "strategy")
FLAGS = (
    "any_errors_fatal",
    "async_val",
    "check_mode",
    "delay",
    "delegate_to",
    "ignore_errors",
    "ignore_unreachable",
    "no_log",
    "poll",
    "retries",
    "run_once",
    "throttle",
)
# Ansible's defaults for the keywords of tasks.
USUAL: dict[str, object] = {
    "async_val": 0,
    "delay": 5,
    "poll": 15,
    "retries": 3,
    "throttle": 0,
    "connection": "ssh",
    "strategy": "linear",
}


CONSTANT = ("changed_when", "failed_when")
"""Keywords that are included if they are constant."""


def of(playbook: Path) -> str:
    """Return the plays of a playbook, with a line for each task, and one for the tags of the following tasks."""
    loader = DataLoader()
    inventory = InventoryManager(loader, ["localhost,"])
    found = Playbook.load(str(playbook), VariableManager(loader=loader, inventory=inventory), loader)
    lines: list[str] = []
    for play in found.get_plays():
        lines += ["", f"# {play.get_name()}", *_keywords(play, PLAY), f"gather_facts: {play.gather_facts}"]
        tags = ""
        # The first and the last blocks only run handlers.
        for line, of_task in (found for block in play.compile() for found in _of_block(block, "")):
            if of_task is not None and of_task != tags:
                tags = of_task
                lines.append(f"tags: {tags}")
            lines.append(line)
    return "\n".join(lines[1:]) + "\n"


def _keywords(found: t.Any, names: tuple[str, ...]) -> Iterator[str]:
    for name in names:
        value = getattr(found, name)
        if value not in (None, False, [], "", USUAL.get(name)):
            yield f"{name.removesuffix('_val')}: {' '.join(str(value).split())}"


def _of_block(block: t.Any, indent: str) -> Iterator[tuple[str, str | None]]:
    """Yield the lines of a block, with the tags for tasks."""
    for part in ("block", "rescue", "always"):
        tasks = getattr(block, part)
        if not tasks:
            continue
        deeper = indent
        if block.rescue or block.always:
            yield f"{indent}{part}:", None
            deeper += "  "
        for task in tasks:
            if hasattr(task, "block"):
                yield from _of_block(task, deeper)
            elif not task.implicit:
                yield deeper + _of_task(task), ", ".join(sorted(set(map(str, task.tags)))) or "none"


def _of_task(task: t.Any) -> str:
    about = [*_keywords(task, FLAGS)]
    for name in CONSTANT:
        about += [f"{name}: {value}" for value in getattr(task, name) if isinstance(value, bool)]
    if task.register:
        about.append(f"register: {task.register}")
    module = task.action.removeprefix("ansible.builtin.").removeprefix("winkube.node.")
    return f"- {task.get_name().removeprefix('winkube.node.')} [{module}]" + (f" {'; '.join(about)}" if about else "")
