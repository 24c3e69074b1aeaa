# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Shorten texts to fit into a table (no I/O)."""

from __future__ import annotations

ELLIPSIS = "…"


def shorten(text: str, width: int) -> str:
    """Shorten a text in its middle.

    Paths and errors differ most at their ends, where the file or the cause is. So two thirds of the remaining text are
    taken from the end.

    Args:
        text: a line.
        width: maximum number of characters of the result, at least 2.
    """
    if len(text) <= width:
        return text
    head = (width - 1) // 3
    return f"{text[:head]}{ELLIPSIS}{text[len(text) - (width - 1 - head) :]}"
