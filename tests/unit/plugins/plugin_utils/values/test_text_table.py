# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Tables of plain text: alignment, shortened cells, the width of a line."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.winkube.node.plugins.plugin_utils.values.text_table import shorten, text_table

ROWS = [("NODE", "SIZE", "WHY"), ("win-1", "7", "it is gone"), ("w", "1024", "")]


@pytest.mark.parametrize(
    ("width", "text"), [(2, "…j"), (3, "…ij"), (5, "a…hij"), (9, "ab…efghij"), (10, "abcdefghij"), (11, "abcdefghij")]
)
def test_a_text_is_shortened_in_its_middle(width: int, text: str) -> None:
    assert shorten("abcdefghij", width) == text


def test_columns_are_aligned() -> None:
    assert text_table(ROWS) == ["NODE   SIZE  WHY", "win-1  7     it is gone", "w      1024"]
    assert text_table(ROWS, right={1}) == ["NODE   SIZE  WHY", "win-1     7  it is gone", "w      1024"]
    assert text_table([]) == []


def test_the_last_column_takes_what_is_left_but_at_least_sixty_characters() -> None:
    rows = [("node", "x" * 200)]
    assert [len(line) for line in text_table(rows, width=100)] == [100]
    assert [len(line) for line in text_table(rows, width=20)] == [len("node  ") + 60]
    assert [len(line) for line in text_table(rows)] == [len("node  ") + 200]


def test_long_cells_are_shortened_to_their_column() -> None:
    assert text_table([("abcdefghij", "last"), ("b", "row")], widest=[5]) == ["a…hij  last", "b      row"]


def test_long_cells_may_overflow_their_column() -> None:
    found = text_table([("abcdefghij", "last"), ("b", "row")], widest=[5], overflow=True)
    assert found == ["abcdefghij  last", "b      row"]


@given(st.lists(st.tuples(st.text("ab", max_size=9), st.text("ab", max_size=9), st.text("ab", min_size=1)), min_size=1))
def test_every_column_starts_at_the_same_place(rows: list[tuple[str, str, str]]) -> None:
    lines = text_table(rows, widest=[4, 6])
    starts = {len(line) - len(row[-1]) for line, row in zip(lines, rows, strict=True)}
    assert len(starts) == 1
