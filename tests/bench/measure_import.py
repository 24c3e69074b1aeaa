# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The time and memory that each Ansible worker needs to import the engine."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ANSIBLE = "from ansible.plugins.loader import init_plugin_loader, action_loader; init_plugin_loader([])"
ENGINE = "assert action_loader.get('winkube.node.node_state', class_only=True)"


def _run(code: str) -> tuple[float, float]:
    """Return the seconds and the megabytes (peak resident set) that a Python process needs to run a piece of code."""
    report = "import resource; print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
    begin = time.perf_counter()
    answer = subprocess.run(
        [sys.executable, "-c", f"{code}\n{report}"],
        cwd=ROOT,
        env=os.environ.copy(),
        capture_output=True,
        text=True,
        check=True,
    )
    return time.perf_counter() - begin, int(answer.stdout) / 1024


def measure() -> Mapping[str, float]:
    """Return the cost of importing the engine: the best of three runs with it, minus the best of three without it."""
    without = [_run(ANSIBLE) for _run_number in range(3)]
    with_engine = [_run(f"{ANSIBLE}\n{ENGINE}") for _run_number in range(3)]
    return {
        "seconds": min(run[0] for run in with_engine) - min(run[0] for run in without),
        "megabytes": min(run[1] for run in with_engine) - min(run[1] for run in without),
    }
