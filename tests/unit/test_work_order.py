# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""work_order.py: tests that wait and tests that compute are mixed, and groups and files stay together."""

from __future__ import annotations

import itertools

from work_order import SECONDS, WAITING, folder_of, mixed, unit_of

NAMES = [
    *(f"tests/integration/test_{file}.py::test_{test}@{file}" for file in range(30) for test in range(8)),
    *(f"tests/integration/test_{file}.py::test_last@{file}" for file in (3, 0)),
    *(f"tests/lint/test_lint.py::test_linter[{linter}]" for linter in ("ruff", "mypy", "a@b")),
    *(f"tests/simulator_tests/test_{file}.py::test_{test}" for file in range(40) for test in range(20)),
    *(f"tests/unit/test_{file}.py::test_{test}" for file in range(100) for test in range(40)),
]
"""Node IDs in the order of collection. The files 3 and 0 have a test that was collected later."""


def order() -> list[str]:
    return mixed(NAMES, str)


def seconds(names: list[str]) -> float:
    return sum(SECONDS[folder_of(name)] for name in names)


def test_no_test_is_lost_or_repeated() -> None:
    assert sorted(order()) == sorted(NAMES)


def test_groups_and_files_stay_together() -> None:
    units = [unit for unit, _ in itertools.groupby(order(), key=unit_of)]
    assert len(units) == len(set(units))


def test_tests_of_the_same_sort_keep_their_order() -> None:
    for waiting in (True, False):
        before, after = (
            list(dict.fromkeys(unit_of(name) for name in names if (folder_of(name) in WAITING) is waiting))
            for names in (NAMES, order())
        )
        assert before == after


def test_both_sorts_progress_at_the_same_rate() -> None:
    names = order()
    waiting = [name for name in names if folder_of(name) in WAITING]
    computing = [name for name in names if folder_of(name) not in WAITING]
    half = names[: names.index(waiting[len(waiting) // 8])]
    done = [seconds([name for name in half if name in chosen]) for chosen in (set(waiting), set(computing))]
    rates = done[0] / seconds(waiting), done[1] / seconds(computing)
    assert 0.2 < rates[0] < 0.6
    assert abs(rates[0] * 0.9 - rates[1]) < 0.1
    assert {folder_of(name) for name in names[-300:]} == {"tests/unit"}
