# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Jobs for the fork server and their results. Both are transferred as one line of JSON."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass, field
from typing import Any

import pytest

Reached = dict[str, dict[str, list[int]]]
"""By path of a file: the lines that each test ran, by the id of the test; `""` is what ran while tests were loaded."""


@dataclass(frozen=True)
class Job:
    """One run of pytest.

    Attributes:
        files: the test files, in the order in which they run.
        only: the ids of the tests that run, in their order; None: all tests of the files.
        without: the ids of tests that are left out, and test files.
        limit: the time limit in seconds; None: no limit.
        exitfirst: whether the run ends with the first failure.
        record: patterns of the Python files whose lines are recorded; if empty, nothing is recorded.
    """

    files: tuple[str, ...]
    only: tuple[str, ...] | None = None
    without: tuple[str, ...] = ()
    limit: float | None = None
    exitfirst: bool = False
    record: tuple[str, ...] = ()

    def line(self) -> str:
        """Return the job as one line of JSON."""
        return json.dumps(dataclasses.asdict(self))

    @classmethod
    def read(cls, line: str) -> Job:
        """Return the job in a line from `line`."""
        values: dict[str, Any] = json.loads(line)
        for name in ("files", "only", "without", "record"):
            if values[name] is not None:
                values[name] = tuple(values[name])
        return cls(**values)


@dataclass(frozen=True)
class Run:
    """The result of a job.

    Attributes:
        status: the exit status of pytest; None if it was stopped by the time limit.
        output: the end of its output; empty if all tests passed.
        seconds: the duration.
        failed: the ids of the tests that failed, and the test files that could not be loaded.
        by_test: the duration of each test in seconds.
        reached: the lines that were run, if the job asked for them.
        read: the files of the checkout that were opened, by the id of the test, if the job asked for them.
    """

    status: int | None
    output: str = ""
    seconds: float = 0.0
    failed: tuple[str, ...] = ()
    by_test: dict[str, float] = field(default_factory=dict)
    reached: Reached = field(default_factory=dict)
    read: dict[str, list[str]] = field(default_factory=dict)

    def line(self) -> str:
        """Return the run as one line of JSON."""
        return json.dumps(dataclasses.asdict(self))

    @classmethod
    def from_line(cls, line: str) -> Run:
        """Return the run in a line from `line`."""
        found = json.loads(line)
        return cls(**(found | {"failed": tuple(found["failed"])}))

    @property
    def passed(self) -> bool:
        """Whether all tests passed, which is also the case without any test."""
        return self.status in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED)

    @property
    def has_failures(self) -> bool:
        """Whether tests failed, or files could not be loaded; not whether pytest itself had a problem."""
        # If a test file cannot be loaded, pytest ends with the status INTERRUPTED.
        return self.status in (pytest.ExitCode.TESTS_FAILED, pytest.ExitCode.INTERRUPTED) and bool(self.failed)
