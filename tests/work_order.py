# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The order of the tests of a parallel run: tests that wait and tests that compute are mixed, by their folders.

Tests with simulated servers wait more than a third of their time, and unit tests compute all of it. If all workers run
the same sort, the processors first idle and later are too few. So `mixed` puts both in one list, and `next_scope` takes
from it what fits to the tests that the other workers run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeVar

Test = TypeVar("Test")

END = {"tests/integration": 0.85, "tests/lint": 0.3, "tests/simulator_tests": 0.95, "tests/unit": 1.0}
"""When the last tests of a folder start, as a part of the run. Short tests at the end keep all workers busy."""
COMPUTING = ("tests/lint/", "tests/unit/")
"""The folders of the tests that compute all of their time."""
LONG = {
    f"tests/unit/{file}.py"
    for file in ("playbooks/test_runs", "playbooks/test_site_runs", "mutation/test_mutation_run")
}
"""Files whose tests several workers share, because together they need more than half a minute."""


def folder_of(name: str) -> str:
    """Return the folder of END that contains a test, by its node ID; empty for other folders."""
    return next((folder for folder in END if name.startswith(f"{folder}/")), "")


def unit_of(name: str) -> str:
    """Return the group of a test, or its file if it has no group, by its node ID."""
    # The same rule as in pytest-xdist: a value of a parameter may contain an @.
    if name.rfind("@") > name.rfind("]"):
        return name.rpartition("@")[2]
    return name.partition("::")[0]


def scope_of(name: str) -> str:
    """Return what pytest-xdist gives to one worker at once: a group, a file, or a single test of a long file.

    Many small scopes cost time: a worker waits after each until it gets the next one. Tests of a file also share
    fixtures, which each worker would set up.
    """
    unit = unit_of(name)
    return name if unit in LONG else unit


def mixed(tests: Sequence[Test], name: Callable[[Test], str]) -> list[Test]:
    """Return tests in an order in which those of all folders progress at the same rate.

    The tests of a group or file stay together, because they share fixtures. The groups and files of a folder keep their
    order.

    Args:
        tests: the collected tests.
        name: returns the node ID of a test, such as `tests/unit/test_names.py::test_docstrings`, or with its group:
            `tests/integration/test_plan.py::test_summary@plan`.
    """
    units: dict[str, list[Test]] = {}
    for test in tests:
        units.setdefault(unit_of(name(test)), []).append(test)
    starts: list[tuple[float, list[Test]]] = []
    for folder in (*END, ""):
        chosen = [unit for unit in units.values() if folder_of(name(unit[0])) == folder]
        total = sum(map(len, chosen)) / END.get(folder, 1.0)
        begun = 0
        for unit in chosen:
            starts.append((begun / total, unit))
            begun += len(unit)
    return [test for _, unit in sorted(starts, key=lambda start: start[0]) for test in unit]


def next_scope(queue: Mapping[str, Iterable[str]], others: Iterable[str]) -> str:
    """Return the scope that a free worker gets: one that computes only if no other worker computes, where possible.

    Args:
        queue: the scopes that no worker has yet, in order. Each has its tests' node IDs.
        others: node IDs of tests that the other workers run.
    """
    if any(test.startswith(COMPUTING) for test in others):
        for scope, tests in queue.items():
            if not next(iter(tests)).startswith(COMPUTING):
                return scope
    return next(iter(queue))


def collection_order(files: Sequence[Test], worker: int, workers: int) -> list[Test]:
    """Return files in the order in which a worker collects them: each worker starts at a different one.

    In a new checkout, pytest first compiles each file with its own assertions and keeps the result. If all workers
    collected in the same order, they would compile the same file at the same time: 22 CPU seconds instead of 7 in each.

    Args:
        files: the files in the order in which they would be collected without pytest-xdist.
        worker: the number of the worker, from 0.
        workers: the number of workers.
    """
    start = len(files) * worker // workers
    return [*files[start:], *files[:start]]
