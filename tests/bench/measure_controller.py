# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""CPU seconds of the controller for plan.yml with 10, 50 and 150 simulated servers, and for win_ping in the same run.

"Per further node" excludes the cost of a run with one server, such as Ansible's start. Set BENCH_NODES to measure other
numbers of servers, such as `BENCH_NODES=2,6`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from integration.networks import free_network
from integration.playbooks import Site, describe

from simulator.world import World

NODES = (10, 50, 150)
FORKS = 25
CALLBACKS = Path(__file__).resolve().parent / "controller_callbacks"
PHASES = {"Check all variables": "preflight", "Compare": "compare"}
"""Prefixes of task names that are reported separately, with the names of their figures. All other tasks are `other`."""
PING = [
    {
        "hosts": "node_windows",
        "gather_facts": False,
        "tasks": [{"name": "Ping", "ansible.windows.win_ping": {}}],
    }
]


def measure() -> Mapping[str, float]:
    """Run both plays with each number of servers, and with one server."""
    numbers = [int(number) for number in os.environ.get("BENCH_NODES", "").split(",") if number] or list(NODES)
    return dict(_figures(sorted(numbers)))


def _figures(numbers: Sequence[int]) -> Iterator[tuple[str, float]]:
    with tempfile.TemporaryDirectory() as folder:
        nodes = [{"name": f"n{number}"} for number in range(numbers[-1])]
        with World(describe(nodes, free_network(), {"kind": "memory"}), Path(folder) / "fleet") as world:
            site = Site(world, Path(folder) / "controller")
            plays: dict[str, Any] = {"plan": "plan.yml", "win_ping": PING}
            # The first run also writes caches, such as compiled files.
            _run(site, "plan.yml", 1)
            single = {name: _run(site, playbook, 1) for name, playbook in plays.items()}
            for number in numbers:
                for name, playbook in plays.items():
                    used = _run(site, playbook, number)
                    for phase, seconds in used.items():
                        further = (seconds - single[name][phase]) / (number - 1)
                        yield f"{name}_{number}_{phase}_cpu_s", further


def _run(site: Site, playbook: Any, number: int) -> dict[str, float]:
    """Return the CPU seconds of a run with a number of servers, by phase."""
    record = site.folder / "cpu.json"
    record.unlink(missing_ok=True)
    hosts = ",".join(site.hosts()[:number])
    command = site.command(playbook, "--forks", str(FORKS), "--limit", hosts)
    environment = site.environment() | {
        "CPU_BY_TASK_FILE": str(record),
        "ANSIBLE_CALLBACK_PLUGINS": str(CALLBACKS),
        "ANSIBLE_CALLBACKS_ENABLED": "winkube.node.report,cpu_by_task",
    }
    with (site.folder / "output").open("w") as output:
        process = subprocess.Popen(
            command, cwd=site.folder, env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=output
        )
        dummy, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    # plan.yml exits with 2, because plain servers differ from the state that the roles define.
    if process.returncode not in (0, 2) or not record.exists():
        sys.exit((site.folder / "output").read_text(encoding="utf-8")[-5000:])
    figures = {"all": used.ru_utime + used.ru_stime}
    if isinstance(playbook, str):
        figures |= dict.fromkeys([*PHASES.values(), "other"], 0.0)
        for task, seconds in json.loads(record.read_text(encoding="utf-8")):
            figures[_phase(task)] += seconds
    return figures


def _phase(task: str) -> str:
    name = task.rpartition(" : ")[2]
    return next((phase for beginning, phase in PHASES.items() if name.startswith(beginning)), "other")
