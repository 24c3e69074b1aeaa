# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Run test files in a copy of the checkout, and say what came of it."""

from __future__ import annotations

import contextlib
import enum
import os
import re
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

NO_TESTS = 5
"""pytest's exit status when it ran no test."""
RED = re.compile(r"^(?:FAILED|ERROR) (\S+?\.py(?:::.+?)?)(?: - .*)?$", re.MULTILINE)


class Outcome(enum.Enum):
    """What the tests said of a mutant."""

    KILLED = "killed"
    TIMEOUT = "killed by the time limit"
    SURVIVED = "survived"
    UNTESTED = "survived, no test file reaches it"

    @property
    def is_killed(self) -> bool:
        """Whether the mutant was noticed."""
        return self in (Outcome.KILLED, Outcome.TIMEOUT)


@dataclass(frozen=True)
class Verdict:
    """What the tests said of a mutant, and the first test that failed, where pytest named one."""

    outcome: Outcome
    test: str = ""


class Runner:
    """Runs pytest in a folder.

    Args:
        root: the copy of the checkout.
        seconds: how long one run may take.
    """

    def __init__(self, root: Path, seconds: float) -> None:
        self.root, self.seconds = root, seconds

    def red(self, tests: Sequence[str]) -> list[str]:
        """Return those tests that fail without any change: they can say nothing of a mutant.

        Args:
            tests: test files or tests.

        Raises:
            RuntimeError: pytest could not run at all.
        """
        if not tests:
            return []
        status, output = self._pytest(["--tb=no", *tests], None)
        found = RED.findall(output)
        if status not in (0, NO_TESTS) and not found:
            raise RuntimeError(f"pytest ended with {status} without any change:\n{output[-4000:]}")
        return found

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
        try:
            status, output = self._pytest(["--exitfirst", "--tb=no", *left_out, *wanted], self.seconds)
        except subprocess.TimeoutExpired:
            return Verdict(Outcome.TIMEOUT)
        if status in (0, NO_TESTS):
            return Verdict(Outcome.SURVIVED if status == 0 else Outcome.UNTESTED)
        return Verdict(Outcome.KILLED, next(iter(RED.findall(output)), ""))

    def _pytest(self, arguments: Sequence[str], seconds: float | None) -> tuple[int, str]:
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:randomly", *arguments]
        # CI: hypothesis tries the same examples each time.
        environment = {
            name: value for name, value in os.environ.items() if not name.startswith(("ANSIBLE_", "PYTEST_"))
        }
        environment |= {"CI": "1", "NO_COLOR": "1", "COLUMNS": "1000"}
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
                output, _none = process.communicate(timeout=seconds)
            finally:
                # What the tests started goes with them.
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
        return process.returncode, output
