# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Counts that pytest prints at the end of a run; tests/unit/test_sweeps.py has those of several tests."""

from __future__ import annotations

from types import SimpleNamespace

from tallies import Tally

TALLY = Tally("scripts", "{0}: {1} of {2}".format, "all scripts")


def report(name: str, *counts: int, of: str = "scripts") -> SimpleNamespace:
    return SimpleNamespace(when="call", user_properties=[(of, [name, *counts])])


def test_one_name_needs_no_total() -> None:
    assert TALLY.lines([report("scripts", 2, 3), report("others", 4, of="others")]) == ["scripts: 2 of 3"]


def test_several_names_are_summed_up() -> None:
    expected = ["a: 1 of 1", "b: 2 of 3", "all scripts: 3 of 4"]
    assert TALLY.lines([report("b", 2, 3), SimpleNamespace(when="call"), report("a", 1, 1)]) == expected


def test_some_names_have_a_sum_of_their_own() -> None:
    tally = Tally("scripts", "{0}: {1} of {2}".format, "all scripts", {"a and c": ("a", "c"), "b and d": ("b", "d")})
    reports = [report("a", 1, 1), report("b", 2, 3), report("c", 4, 5)]
    assert tally.lines(reports)[3:] == ["a and c: 5 of 6", "all scripts: 7 of 9"]
