# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What pytest says at the end of a run of the simulator's tests."""

from __future__ import annotations

from typing import Any

from wire_cases import agreement


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Say how many recorded answers agree, also where another process compared them."""
    # Some entries are not reports: warnings, tests that were deselected.
    reports = [report for found in terminalreporter.stats.values() for report in found if hasattr(report, "when")]
    for line in agreement.summary(reports):
        terminalreporter.write_line(line)
