# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Format tables as plain text for the terminal."""

from __future__ import annotations

import typing as t

ELLIPSIS = "…"
_LEAST = 60
"""Minimum width of a shortened last column in characters, so that its text stays readable."""


def shorten(text: str, width: int) -> str:
    """Shorten a line by cutting out its middle.

    Paths and errors differ most at their ends, where the file or the cause is. Two thirds of the kept text therefore
    come from the end.

    Args:
        text: a line.
        width: maximum number of characters of the result, at least 2.
    """
    if len(text) <= width:
        return text
    head = (width - 1) // 3
    return f"{text[:head]}{ELLIPSIS}{text[len(text) - (width - 1 - head) :]}"


def text_table(
    rows: t.Sequence[t.Sequence[str]],
    *,
    width: int | None = None,
    widest: t.Sequence[int] = (),
    right: t.Container[int] = (),
    overflow: bool = False,
) -> list[str]:
    """Return the lines of a table, with two spaces between columns.

    Args:
        rows: the cells of each row, the same number in every row. A header is the first row.
        width: maximum length of a line in characters, or None for no limit. The last column is shortened to fit, but
            not to fewer than 60 characters.
        widest: maximum width of each column except the last, in characters. If empty, there are no limits. Longer
            cells are shortened.
        right: indexes of the columns that are aligned to the right.
        overflow: whether to show a cell in full even if it exceeds `widest`. The rest of the row then moves to the
            right.
    """
    if widest and not overflow:
        rows = [(*map(shorten, row, widest), row[-1]) for row in rows]
    sizes = [max(map(len, column)) for column in zip(*rows, strict=True)]
    sizes = [*(min(pair) for pair in zip(sizes, widest, strict=False)), *sizes[len(widest) :]]
    lines = []
    for row in rows:
        cells = [
            cell.rjust(size) if index in right else cell.ljust(size)
            for index, (cell, size) in enumerate(zip(row, sizes, strict=True))
        ]
        first = "  ".join([*cells[:-1], ""])
        last = cells[-1] if width is None else shorten(row[-1], max(width - len(first), _LEAST))
        lines.append((first + last).rstrip())
    return lines
