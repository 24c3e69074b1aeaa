# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Peak memory and CPU seconds of the controller for plan.yml with 10 and 100 simulated servers and as many forks.

The playbook runs without the measures of plugin_utils/remote/memory.py, with each of them alone, with all of them,
and with all but one. The servers connect over psrp. BENCH_NODES sets other numbers of servers, such as
`BENCH_NODES=2,6`.
"""

from __future__ import annotations

import os
import resource
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from integration import memory as memory_of_runs
from integration.networks import free_network
from integration.playbooks import Site, describe

from ansible_collections.winkube.node.plugins.plugin_utils.remote import memory
from simulator.world import World

NODES = (10, 100)
CALLBACKS = Path(__file__).resolve().parent / "controller_callbacks"


def measure() -> Mapping[str, float]:
    """Run the play with each number of servers and each choice of measures."""
    numbers = [int(number) for number in os.environ.get("BENCH_NODES", "").split(",") if number] or list(NODES)
    return dict(_figures(sorted(numbers)))


def choices() -> dict[str, list[str]]:
    """Return the choices of measures, by name."""
    names = [step.__name__ for step in memory.MEASURES]
    alone = {name: [name] for name in names}
    without = {f"without_{name}": [other for other in names if other != name] for name in names}
    return {"none": [], **alone, "all": names, **without}


def _figures(numbers: list[int]) -> Iterator[tuple[str, float]]:
    with tempfile.TemporaryDirectory() as folder:
        nodes = [{"name": f"n{number}"} for number in range(numbers[-1])]
        with World(describe(nodes, free_network(), {"kind": "memory"}), Path(folder) / "fleet") as world:
            site = Site(world, Path(folder) / "controller")
            # The first run also writes caches, such as compiled files.
            _run(site, 1, choices()["all"])
            for number in numbers:
                for name, chosen in choices().items():
                    megabytes, seconds = _run(site, number, chosen)
                    yield f"{number}_{name}_megabytes_pss", megabytes
                    yield f"{number}_{name}_cpu_s", seconds


def _run(site: Site, number: int, chosen: list[str]) -> tuple[float, float]:
    """Return the peak of the proportional set size of all processes in MB, and their CPU seconds."""
    command = site.command("plan.yml", "--forks", str(number), "--limit", ",".join(site.hosts()[:number]))
    environment = {
        "MEMORY_MEASURES": ",".join(chosen),
        "ANSIBLE_CALLBACK_PLUGINS": str(CALLBACKS),
        "ANSIBLE_CALLBACKS_ENABLED": "winkube.node.report,memory_measures",
    }
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    run, samples = memory_of_runs.measure(site, command, environment=environment)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    # plan.yml exits with 2, because plain servers differ from the state that the roles define.
    if run.exit_code not in (0, 2) or not samples:
        sys.exit(run.output[-5000:])
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return max(size for size, dummy in samples), seconds
