# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The memory that a run of ansible-playbook and its workers need on the controller."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from integration.playbooks import PlayRun, Site

AVAILABLE = Path("/proc/self/smaps_rollup").exists()
"""Whether this machine reports the proportional set size of processes (Linux)."""


def measure(
    site: Site,
    command: list[str],
    probe: Callable[[], None] = lambda: None,
    seconds: float = 0.5,
    environment: Mapping[str, str] | None = None,
) -> tuple[PlayRun, list[tuple[float, int]]]:
    """Run a command line of the site, like `Site.run`.

    Args:
        command: the result of `Site.command`.
        probe: called between two samples.
        seconds: between two samples. A sample takes several milliseconds of CPU time for each process.
        environment: variables that replace those of the site's environment.

    Returns:
        The run, and its samples: the proportional set size of all its processes together (MB), and their number.
    """
    output = site.folder / "output"
    samples: list[tuple[float, int]] = []
    for node in site.world.fleet.nodes.values():
        node.server.counters.reset()
    with output.open("w") as file:
        run = subprocess.Popen(
            command,
            cwd=site.folder,
            env={**site.environment(), **(environment or {})},
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=subprocess.STDOUT,
        )
        while run.poll() is None:
            sizes = [proportional_mb(pid) for pid in children(run.pid)]
            samples.append((sum(sizes), sum(1 for size in sizes if size > 0)))
            probe()
            time.sleep(seconds)
    return site.result(run.returncode, output.read_text()), samples


def children(root: int) -> list[int]:
    """Return a process and all its descendants that are still running."""
    parents: dict[int, int] = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                # After the name, which is in parentheses and may contain anything, follow the state and the parent.
                parents[int(folder.name)] = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:
                continue
    found = [root]
    for pid in found:
        found += [child for child, parent in parents.items() if parent == pid]
    return found


def proportional_mb(pid: int) -> float:
    """Return a process's proportional set size, which counts shared pages in part (proc(5), smaps_rollup)."""
    try:
        lines = Path("/proc", str(pid), "smaps_rollup").read_text().splitlines()
    except OSError:
        return 0.0
    return sum(int(line.split()[1]) for line in lines if line.startswith("Pss:")) / 1024
