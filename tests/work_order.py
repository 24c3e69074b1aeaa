# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The order of the tests of a parallel run: tests that wait and tests that compute are mixed.

pytest-xdist gives each free worker the next tests of the list. Tests with simulated servers wait more than half of
their time, and unit tests compute all of it. If all workers run the same sort, the processors first idle and later are
too few.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

Test = TypeVar("Test")

SECONDS = {"tests/integration": 2.6, "tests/lint": 25.0, "tests/simulator_tests": 0.25, "tests/unit": 0.05}
"""Mean duration of a test by folder, measured with three workers on two processors."""
WAITING = ("tests/integration", "tests/simulator_tests")
WAITING_ENDS = 0.9
"""When the last tests that wait start, as a part of the run. Short tests at the end keep all workers busy."""


def folder_of(name: str) -> str:
    """Return the folder of SECONDS that contains a test, by its node ID; empty for other folders."""
    return next((folder for folder in SECONDS if name.startswith(f"{folder}/")), "")


def unit_of(name: str) -> str:
    """Return the group of a test, or its file if it has no group, by its node ID."""
    # The same rule as in pytest-xdist: a value of a parameter may contain an @.
    if name.rfind("@") > name.rfind("]"):
        return name.rpartition("@")[2]
    return name.partition("::")[0]


def mixed(tests: Sequence[Test], name: Callable[[Test], str]) -> list[Test]:
    """Return tests in an order in which those that wait and those that compute progress at the same rate.

    The tests of a group or file stay together, because they share fixtures. The groups and files of the tests that
    wait keep their order, and so do the others.

    Args:
        tests: the collected tests.
        name: returns the node ID of a test, such as `tests/unit/test_names.py::test_docstrings`, or with its group:
            `tests/integration/test_plan.py::test_summary@plan`.
    """
    units: dict[str, list[Test]] = {}
    for test in tests:
        units.setdefault(unit_of(name(test)), []).append(test)
    starts: list[tuple[float, list[Test]]] = []
    for waiting in (True, False):
        chosen = [unit for unit in units.values() if (folder_of(name(unit[0])) in WAITING) is waiting]
        lengths = [sum(SECONDS.get(folder_of(name(test)), 0.05) for test in unit) for unit in chosen]
        total = sum(lengths) / (WAITING_ENDS if waiting else 1.0)
        begun = 0.0
        for unit, length in zip(chosen, lengths, strict=True):
            starts.append((begun / total, unit))
            begun += length
    return [test for _, unit in sorted(starts, key=lambda start: start[0]) for test in unit]
