# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Run tests in a copy of the checkout, and return the outcome.

A mutant counts as killed only if pytest names a test that failed or a test file that could no longer be loaded, or if
its tests do not end although they end without the mutant.
"""

from __future__ import annotations

import contextlib
import enum
import os
import signal
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import pytest

from mutation.jobs import Job, Run

TESTS = Path(__file__).resolve().parents[1]
SLOWDOWN = 5
"""The factor by which a run may take longer than the same tests without a mutant."""
START = 2.0
"""The seconds for the start of a run, and for the loading of each test file."""
STEPS = (4, 20)
"""The number of test files in the first and second step.

Most mutants are killed early, and loading a test file takes time.
"""


class Outcome(enum.Enum):
    """The result of the tests of a mutant."""

    KILLED = "killed"
    TIMEOUT = "killed by the time limit"
    SURVIVED = "survived"
    UNTESTED = "survived, no test reaches it"
    BROKEN = "pytest did not run to its end"


@dataclass(frozen=True)
class Verdict:
    """The outcome of a mutant, and the first test that failed; empty if none failed."""

    outcome: Outcome
    test: str = ""


class Server:
    """The fork server for one folder.

    Args:
        root: the copy of the checkout.
    """

    def __init__(self, root: Path) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "mutation.server"],
            cwd=root,
            env=_environment(root),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        with self._process:
            pass

    def run(self, job: Job) -> Run:
        """Run a job, and return its result.

        Args:
            job: the job.

        Raises:
            RuntimeError: the server has ended.
        """
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.write(job.line() + "\n")
            self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"the fork server ended with status {self._process.wait()}; its messages are above")
        return Run.from_line(line)


class Runner:
    """Tries mutants in a folder.

    Args:
        server: runs the tests.
        seconds: the shortest time limit of a run.
        known: the seconds that tests, or whole test files, take without a mutant.
    """

    def __init__(self, server: Server, seconds: float, known: Mapping[str, float] | None = None) -> None:
        self._server, self.seconds = server, seconds
        self._known = dict(known or {})

    def baseline(self, files: Iterable[str]) -> dict[str, float]:
        """Run test files once without a mutant. They must pass, and their times determine the time limits.

        Args:
            files: the test files.

        Returns:
            The seconds that each of them takes.

        Raises:
            RuntimeError: a test fails, or pytest could not run.
        """
        requested = sorted(set(files))
        if not requested:
            return {}
        run = self._server.run(Job(tuple(requested)))
        if not run.passed:
            names = "\n".join(run.failed) or run.output
            raise RuntimeError(f"without any mutant pytest ends with {run.status}; make these pass first:\n{names}")
        times = dict.fromkeys(requested, 0.0)
        for test, seconds in run.by_test.items():
            times[test.split("::")[0]] += seconds
        self._known.update(times)
        return times

    def limit(self, tests: Iterable[str]) -> float:
        """Return the time limit in seconds of a run of these test files or tests.

        Args:
            tests: test files or tests.
        """
        expected = list(tests)
        loading = START * (1 + len({test.split("::")[0] for test in expected}))
        return max(self.seconds, SLOWDOWN * (loading + sum(self._known.get(test, 0.0) for test in expected)))

    def red(self, tests: Sequence[str]) -> list[str]:
        """Return the tests that fail without a mutant. Their failures do not count for mutants.

        Args:
            tests: test files or tests.

        Raises:
            RuntimeError: pytest could not run, or exceeded the time limit.
        """
        if not tests:
            return []
        run = self._server.run(self._job(tests, exitfirst=False))
        if not run.passed and not run.has_failures:
            raise RuntimeError(f"without any mutant pytest ended with {run.status}:\n{run.output}")
        return list(run.failed)

    def judge(self, tests: Sequence[str], without: Sequence[str] = ()) -> Verdict:
        """Run tests until one fails, and return the verdict on the mutant that is in the folder now.

        Args:
            tests: tests or whole test files; the tests that are most likely to fail come first.
            without: test files and tests that are left out.
        """
        requested = [test for test in tests if test not in without]
        verdict = Verdict(Outcome.UNTESTED)
        for step in _steps(requested):
            run = self._server.run(self._job(step, without, exitfirst=True))
            if run.status is None:
                return Verdict(Outcome.TIMEOUT)
            if run.has_failures:
                return Verdict(Outcome.KILLED, run.failed[0])
            if not run.passed:
                return Verdict(Outcome.BROKEN)
            if run.status != pytest.ExitCode.NO_TESTS_COLLECTED:
                verdict = Verdict(Outcome.SURVIVED)
        return verdict

    def _job(self, tests: Sequence[str], without: Sequence[str] = (), *, exitfirst: bool) -> Job:
        files = tuple(dict.fromkeys(test.split("::")[0] for test in tests))
        # A whole file cannot be chosen by ids. If there is one, all tests of all the files run.
        only = tuple(tests) if all("::" in test for test in tests) else None
        return Job(files, only, tuple(without), self.limit(tests), exitfirst)


def _steps(tests: Sequence[str]) -> list[list[str]]:
    """Divide tests by the number of their files; tests of one file stay together."""
    files = list(dict.fromkeys(test.split("::")[0] for test in tests))
    first, second = STEPS
    cuts = [(0, first), (first, first + second), (first + second, None)]
    parts = [set(files[begin:end]) for begin, end in cuts]
    return [[test for test in tests if test.split("::")[0] in part] for part in parts if part]


def _environment(root: Path) -> dict[str, str]:
    """Return the environment of the tests, without the user's settings of Ansible and pytest."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("ANSIBLE_", "PYTEST_"))}
    if root.parent.parent.name == "ansible_collections":
        # Ansible reads these variables when it is imported, which happens before the tests' conftest.py is loaded.
        environment["ANSIBLE_COLLECTIONS_PATH"] = str(root.parents[2])
        environment["ANSIBLE_CONFIG"] = str(root / "tests" / "ansible.cfg")
    # With CI, hypothesis tries the same examples each time.
    return environment | {"CI": "1", "PYTHONPATH": str(_tests_of(root))}


def _tests_of(root: Path) -> Path:
    """Return the folder from which the tests and this package are imported: in the copy if it contains the package."""
    return root / "tests" if (root / "tests" / "mutation").is_dir() else TESTS
