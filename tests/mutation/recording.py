# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Record which test runs which lines, and which test opens which files of the checkout."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

import coverage

from mutation.jobs import Reached

READ = (".yml", ".j2", ".ps1", ".psm1")
"""The suffixes of files that tests read: roles, playbooks, and scripts for nodes."""


class Recorder:
    """Records from `start` to `stop`. A process can have only one recorder.

    Args:
        root: the checkout.
        patterns: patterns of the Python files whose lines are recorded, relative to the checkout.
    """

    def __init__(self, root: Path, patterns: Sequence[str]) -> None:
        self._root = f"{root}{os.sep}"
        # A star in `patterns` also stands for slashes.
        include = [f"{self._root}{pattern.replace('*', '**/*')}" for pattern in patterns]
        self._coverage = coverage.Coverage(data_file=None, config_file=False, include=include)
        # The only core that supports contexts with every version of Python.
        self._coverage.set_option("run:core", "ctrace")
        self._test = ""
        self._read: dict[str, set[str]] = {}

    def start(self) -> None:
        """Begin the recording."""
        self._coverage.start()
        sys.addaudithook(self._heard)

    def test(self, name: str) -> None:
        """Set the test that runs from now on; `""` for no test."""
        self._test = name
        self._coverage.switch_context(name)

    def stop(self) -> None:
        """End the recording."""
        self._coverage.stop()

    def reached(self) -> Reached:
        """Return the lines that were run, by file and test."""
        data = self._coverage.get_data()
        found: Reached = {}
        for file in data.measured_files():
            by_test = found[file.removeprefix(self._root)] = {}
            for line, tests in sorted(data.contexts_by_lineno(file).items()):
                for test in tests:
                    by_test.setdefault(test, []).append(line)
        return found

    def read(self) -> dict[str, list[str]]:
        """Return the files that were opened, by test."""
        return {test: sorted(paths) for test, paths in self._read.items()}

    def _heard(self, event: str, arguments: tuple[object, ...]) -> None:
        if event != "open":
            return
        path = os.fsdecode(arguments[0]) if isinstance(arguments[0], str | bytes) else ""
        if path.endswith(READ):
            absolute = os.path.realpath(path)
            if absolute.startswith(self._root):
                self._read.setdefault(self._test, set()).add(absolute.removeprefix(self._root))
