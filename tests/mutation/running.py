# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Run test files in a copy of the checkout, and return the outcome.

A mutant counts as killed only if pytest names a test that failed, or a test file that could no longer be loaded. All
test files run once without any mutant first, and must pass.
"""

from __future__ import annotations

import contextlib
import enum
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

PLUGIN = Path(__file__).parent / "plugin"
SLOWDOWN = 5
"""A run may take so many times as long as the same test files took without a mutant."""


class Outcome(enum.Enum):
    """What the tests said of a mutant."""

    KILLED = "killed"
    TIMEOUT = "stopped by the time limit"
    SURVIVED = "survived"
    UNTESTED = "survived, no test file reaches it"
    BROKEN = "pytest did not run to its end"


@dataclass(frozen=True)
class Verdict:
    """What the tests said of a mutant, and the first test that failed."""

    outcome: Outcome
    test: str = ""


@dataclass(frozen=True)
class Run:
    """One run of pytest.

    Attributes:
        status: its exit status; None if it was stopped by the time limit.
        output: what it printed.
        seconds: how long it took.
        failed: the ids of the tests that failed, and the test files that could not be loaded.
        by_file: how long the tests of each file took.
    """

    status: int | None
    output: str
    seconds: float
    failed: tuple[str, ...] = ()
    by_file: dict[str, float] = field(default_factory=dict)

    @property
    def passed(self) -> bool:
        """Whether all tests passed; there may be none."""
        return self.status in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED)

    @property
    def has_failures(self) -> bool:
        """Whether tests failed, or files could not be loaded; not whether pytest itself had a problem."""
        # pytest ends as interrupted where a test file cannot be loaded.
        return self.status in (pytest.ExitCode.TESTS_FAILED, pytest.ExitCode.INTERRUPTED) and bool(self.failed)


class Runner:
    """Runs pytest in a folder.

    Args:
        root: the copy of the checkout.
        seconds: the shortest time limit of a run.
    """

    def __init__(self, root: Path, seconds: float) -> None:
        self.root, self.seconds = root, seconds
        self._known: dict[str, float] = {}
        self._start = 0.0

    def baseline(self, tests: Iterable[str]) -> None:
        """Run all test files once without any mutant: they must pass, and their times make the time limits.

        Args:
            tests: the test files.

        Raises:
            RuntimeError: a test fails, or pytest could not run.
        """
        wanted = sorted(set(tests))
        if not wanted:
            return
        run = self._pytest(wanted, None)
        if not run.passed:
            names = "\n".join(run.failed) or run.output[-4000:]
            raise RuntimeError(f"without any mutant pytest ends with {run.status}; make these pass first:\n{names}")
        self._known = run.by_file
        # Starting pytest and loading the test files: for some of them at most as long as for all.
        self._start = max(0.0, run.seconds - sum(run.by_file.values()))

    def limit(self, tests: Iterable[str]) -> float:
        """Return the time limit in seconds of a run of these test files or tests.

        Args:
            tests: test files or tests.
        """
        files = {test.split("::")[0] for test in tests}
        return max(self.seconds, SLOWDOWN * (self._start + sum(self._known.get(name, 0.0) for name in files)))

    def red(self, tests: Sequence[str]) -> list[str]:
        """Return those tests that fail without any mutant: what they say of a mutant does not count.

        Args:
            tests: test files or tests.

        Raises:
            RuntimeError: pytest could not run, or exceeded the time limit.
        """
        if not tests:
            return []
        run = self._pytest(tests, self.limit(tests))
        if not run.passed and not run.has_failures:
            raise RuntimeError(f"without any mutant pytest ended with {run.status}:\n{run.output[-4000:]}")
        return list(run.failed)

    def judge(self, tests: Sequence[str], without: Sequence[str] = ()) -> Verdict:
        """Run tests until one fails, and say what this means for the mutant that is in the folder now.

        Args:
            tests: the test files, those first that are most likely to fail.
            without: test files and tests that are left out.
        """
        wanted = [test for test in tests if test not in without]
        if not wanted:
            return Verdict(Outcome.UNTESTED)
        left_out = [f"--deselect={test}" for test in without if "::" in test]
        run = self._pytest(["--exitfirst", *left_out, *wanted], self.limit(wanted))
        if run.status is None:
            return Verdict(Outcome.TIMEOUT)
        if run.status == pytest.ExitCode.NO_TESTS_COLLECTED:
            return Verdict(Outcome.UNTESTED)
        if run.has_failures:
            return Verdict(Outcome.KILLED, run.failed[0])
        return Verdict(Outcome.SURVIVED if run.passed else Outcome.BROKEN)

    def _pytest(self, arguments: Sequence[str], limit: float | None) -> Run:
        options = ["-q", "--tb=no", "--rootdir=.", "-p", "no:cacheprovider", "-p", "no:randomly"]
        command = [sys.executable, "-m", "pytest", *options, "-p", "winkube_failures", *arguments]
        started = time.monotonic()
        with tempfile.TemporaryDirectory(prefix="winkube-failures-") as folder:
            report = Path(folder, "report.json")
            status, output = self._run(command, _environment(report), limit)
            seconds = time.monotonic() - started
            if status is None or not report.exists():
                return Run(status, output, seconds)
            found = json.loads(report.read_text(encoding="utf-8"))
        return Run(status, output, seconds, tuple(found["failed"]), found["seconds"])

    def _run(self, command: Sequence[str], environment: dict[str, str], limit: float | None) -> tuple[int | None, str]:
        with subprocess.Popen(
            command,
            cwd=self.root,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        ) as process:
            try:
                output, _none = process.communicate(timeout=limit)
            except subprocess.TimeoutExpired:
                return None, ""
            finally:
                # What the tests started goes with them.
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
        return process.returncode, output


def _environment(report: Path) -> dict[str, str]:
    """Return the environment of a run that writes its failures to a file."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("ANSIBLE_", "PYTEST_"))}
    path = [str(PLUGIN), *filter(None, [environment.get("PYTHONPATH")])]
    # CI: hypothesis tries the same examples each time.
    return environment | {"CI": "1", "WINKUBE_FAILURES": str(report), "PYTHONPATH": os.pathsep.join(path)}
