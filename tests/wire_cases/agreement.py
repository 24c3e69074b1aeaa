# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""How many of the recorded answers agree, and which do not for a known reason."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from wire_cases.recorded import DATA

PROPERTY = "recorded_cases"
"""The pytest property with a file's name, how many of its cases agree, and how many there are."""


def listed(name: str) -> dict[str, str]:
    """Return the cases of a file that are known to differ, each with the reason."""
    document = json.loads((DATA / "disagreements.json").read_text(encoding="utf-8"))
    found: dict[str, str] = document.get(name, {})
    return found


def summary(reports: Sequence[Any]) -> list[str]:
    """Return one line for each file of recorded cases, and one for all of them together.

    Args:
        reports: the reports of pytest, of all its workers.
    """
    counts: dict[str, tuple[int, int]] = {}
    for report in reports:
        for key, value in getattr(report, "user_properties", ()):
            if key == PROPERTY and report.when == "call":
                counts[str(value[0])] = (value[1], value[2])
    lines = [f"recorded cases, {name}: {agree} of {total} agree" for name, (agree, total) in counts.items()]
    if lines:
        agree, total = (sum(numbers) for numbers in zip(*counts.values(), strict=True))
        lines.append(f"recorded cases: {agree} of {total} agree")
    return lines
