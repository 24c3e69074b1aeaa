# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""How many of the recorded answers agree, and which do not for a known reason."""

from __future__ import annotations

import json

from tallies import Tally

from wire_cases.recorded import DATA


def listed(name: str) -> dict[str, str]:
    """Return the cases of a file that are known to differ, each with the reason."""
    document = json.loads((DATA / "disagreements.json").read_text(encoding="utf-8"))
    found: dict[str, str] = document.get(name, {})
    return found


def describe(name: str, agreeing: int, total: int) -> str:
    """Return how many of the recorded cases agree, in one line."""
    return f"{name}: {agreeing} of {total} agree"


TALLY = Tally("recorded_cases", describe, "recorded cases")
"""Says at the end of a run how many recorded cases agree, by file."""
