# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A plugin for pytest that writes the ids of failed tests, and the seconds of each test file, to a file.

The summary that pytest prints cannot be read back: an id may hold any text, also that which separates it from the
message. This folder holds nothing else, because it goes onto the path of the Python that runs the tests.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

FILE = "WINKUBE_FAILURES"
"""The environment variable with the path of the file."""


class Failures:
    """Collects what pytest reports.

    Args:
        path: the file that is written at the end.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._failed: dict[str, None] = {}
        self._seconds: dict[str, float] = {}

    def pytest_collectreport(self, report: Any) -> None:
        """Note a test file that cannot be loaded."""
        if report.failed:
            self._failed[report.nodeid] = None

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Note a failed test, and the time of each."""
        name = report.nodeid.split("::")[0]
        self._seconds[name] = self._seconds.get(name, 0.0) + report.duration
        if report.failed:
            self._failed[report.nodeid] = None

    def pytest_sessionfinish(self) -> None:
        """Write the file."""
        document = {"failed": list(self._failed), "seconds": self._seconds}
        self._path.write_text(json.dumps(document), encoding="utf-8")


def pytest_configure(config: Any) -> None:
    """Register the plugin where somebody asks for the file."""
    if FILE in os.environ:
        config.pluginmanager.register(Failures(Path(os.environ.pop(FILE))), "winkube-failures")
