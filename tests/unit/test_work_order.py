# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""work_order.py: tests that wait and tests that compute are mixed, and groups and files stay together."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest
from work_order import END, LONG, collection_order, folder_of, mixed, next_scope, scope_of, unit_of

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


def test_no_test_is_lost_or_repeated() -> None:
    assert sorted(order()) == sorted(NAMES)


def test_groups_and_files_stay_together() -> None:
    units = [unit for unit, _ in itertools.groupby(order(), key=unit_of)]
    assert len(units) == len(set(units))


@pytest.mark.parametrize("folder", END)
def test_a_folder_keeps_its_order(folder: str) -> None:
    before, after = (
        list(dict.fromkeys(unit_of(name) for name in names if folder_of(name) == folder)) for names in (NAMES, order())
    )
    assert before == after


@pytest.mark.parametrize("part", [0.25, 0.5, 0.75])
def test_all_folders_progress_at_the_same_rate(part: float) -> None:
    names = order()
    folders = ("tests/integration", "tests/simulator_tests", "tests/unit")
    of_folder = {folder: [name for name in names if folder_of(name) == folder] for folder in folders}
    first = set(names[: names.index(of_folder["tests/unit"][int(part * len(of_folder["tests/unit"]))])])
    for folder in folders:
        done = len(first & set(of_folder[folder])) / len(of_folder[folder])
        assert abs(done * END[folder] - part) < 0.06, folder


def test_workers_get_groups_and_files_but_single_tests_of_long_files() -> None:
    assert scope_of("tests/integration/test_plan.py::test_summary@plan") == "plan"
    assert scope_of("tests/unit/test_names.py::test_names[a@b]") == "tests/unit/test_names.py"
    runs = "tests/unit/playbooks/test_runs.py::test_a_run[site]"
    assert scope_of(runs) == runs


UNIT, LINT, PLAN = (
    "tests/unit/test_a.py::test_a",
    "tests/lint/test_lint.py::test_b",
    "tests/integration/c.py::test@plan",
)


@pytest.mark.parametrize(
    ("queue", "others", "expected"),
    [
        ([UNIT, PLAN], [PLAN, PLAN], UNIT),
        ([PLAN, UNIT], [PLAN, PLAN], PLAN),
        ([UNIT, LINT, PLAN], [PLAN, LINT], PLAN),
        ([UNIT, LINT, PLAN], [UNIT], PLAN),
        ([UNIT, LINT], [UNIT, LINT], UNIT),
        ([UNIT, PLAN], [], UNIT),
    ],
)
def test_one_worker_computes_as_long_as_others_can_wait(queue: list[str], others: list[str], expected: str) -> None:
    assert next_scope({scope_of(test): {test: False} for test in queue}, others) == scope_of(expected)


def test_long_files_exist(repository: Path) -> None:
    assert [file for file in LONG if not (repository / file).is_file()] == []


def test_the_last_tests_are_short() -> None:
    assert {folder_of(name) for name in order()[-100:]} == {"tests/unit"}


@pytest.mark.parametrize("workers", [1, 2, 3, 7])
def test_each_worker_collects_all_files_and_starts_at_another_one(workers: int) -> None:
    files = [f"test_{number}.py" for number in range(20)]
    orders = [collection_order(files, worker, workers) for worker in range(workers)]
    assert [sorted(order) for order in orders] == [sorted(files)] * workers
    assert len({order[0] for order in orders}) == workers
    assert orders[0] == files
