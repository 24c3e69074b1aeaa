# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Garbage collection in forked workers, in processes of their own: a fork hook cannot be removed again."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import gc, json, os, runpy, sys

runpy.run_path(sys.argv[1])["exempt_inherited_objects"]()
gc.collect()
inherited = [[] for _ in range(500)]
reading, writing = os.pipe()
if os.fork() == 0:
    own = []
    own.append(own)
    del own
    counts = {"frozen": gc.get_freeze_count(), "collected": gc.collect()}
    os.write(writing, json.dumps(counts).encode())
    os._exit(0)
os.wait()
young = any(one is inherited for one in gc.get_objects(generation=0))
parent = {"frozen": gc.get_freeze_count(), "young": young}
print(json.dumps({"worker": json.loads(os.read(reading, 1000)), "parent": parent}))
"""
MODULE = "plugins/plugin_utils/actions/forked_workers.py"
Counts = dict[str, dict[str, int]]


@pytest.fixture(scope="module")
def counts(repository: Path) -> Counts:
    """Return what a main process and its worker report."""
    command = [sys.executable, "-c", PROGRAM, str(repository / MODULE)]
    ended = subprocess.run(command, capture_output=True, text=True, check=True)
    found: Counts = json.loads(ended.stdout)
    return found


def test_a_worker_collects_its_own_garbage_and_leaves_inherited_objects_alone(counts: Counts) -> None:
    assert counts["worker"]["frozen"] > 500
    assert counts["worker"]["collected"] >= 1


def test_the_main_process_collects_garbage_as_before(counts: Counts) -> None:
    assert counts["parent"] == {"frozen": 0, "young": True}


@pytest.mark.parametrize("module", ["node_action", "controller_action"])
def test_actions_register_it_when_ansible_imports_them(module: str) -> None:
    program = (
        "import gc, os; hooks = []; os.register_at_fork = lambda **given: hooks.append(given);"
        f"import conftest, ansible_collections.winkube.node.plugins.plugin_utils.actions.{module};"
        "print({'after_in_child': gc.freeze} in hooks)"
    )
    tests = Path(__file__).parents[4]
    ended = subprocess.run([sys.executable, "-c", program], cwd=tests, capture_output=True, text=True, check=True)
    assert ended.stdout.strip() == "True"
