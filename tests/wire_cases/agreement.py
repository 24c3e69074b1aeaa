# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The number of recorded answers that agree, and the answers that differ for a known reason."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence

from tallies import Tally

from wire_cases.recorded import DATA

COUNTS = {"cases": 1195, "registry": 500, "file-cmdlets": 400, "open-files": 99, "names": 29, "own": 35}
"""The number of cases in each file."""
BY_HAND = frozenset({"own"})
"""Files whose answers were not recorded, but written by hand from docs/wire.md."""
MAX_SHARE = 0.01
"""The maximum share of the recorded cases that may differ for a known reason."""


def listed(name: str, back_ends: Sequence[str]) -> dict[str, str]:
    """Return the cases of a file that are known to differ, each with the reason.

    Args:
        name: the file.
        back_ends: all keys in disagreements.json that apply to the back end: `simulator`, or `windows` for PowerShell
            on Windows, and in addition `5.1` for Windows PowerShell.
    """
    document = json.loads((DATA / "disagreements.json").read_text(encoding="utf-8"))
    return {case: reason for back_end in back_ends for case, reason in document[back_end].get(name, {}).items()}


def check(name: str, found: Mapping[str, Sequence[str]], back_ends: Sequence[str]) -> None:
    """Compare the differences of cases with the listed differences.

    Args:
        name: the file.
        found: the differences of each case that ran; empty if the case agrees.
        back_ends: as for `listed`.

    Raises:
        AssertionError: a case differs and is not listed, or is listed and agrees.
    """
    known = listed(name, back_ends)
    news = {case: differences for case, differences in found.items() if differences and case not in known}
    assert not news, json.dumps(news, indent=2, ensure_ascii=False)
    agreeing = sorted(case for case in known if case in found and not found[case])
    assert not agreeing, f"these agree, take them out of disagreements.json: {agreeing}"


def record(name: str, found: Mapping[str, Sequence[str]], record_property: Callable[[str, object], None]) -> None:
    """Record how many cases of a file agree, which pytest prints at its end.

    Args:
        name: the file, or the file, a space and the name of the back end.
        found: the differences of each case that ran.
        record_property: pytest's fixture.
    """
    tally = BY_HAND_TALLY if name.split()[0] in BY_HAND else TALLY
    agreeing = sum(not differences for differences in found.values())
    record_property(tally.property, [f"{tally.total}, {name}", agreeing, len(found)])


def describe(name: str, agreeing: int, total: int) -> str:
    """Return how many of the cases agree, in one line."""
    return f"{name}: {agreeing} of {total} agree"


TALLY = Tally("recorded_cases", describe, "recorded cases")
"""Prints at the end of a run how many recorded cases agree, by file."""
BY_HAND_TALLY = Tally("cases_by_hand", describe, "cases written by hand")
"""The same for cases that were not recorded."""
