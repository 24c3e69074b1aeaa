# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Texts that have to fit into a table. Pure."""

from __future__ import annotations

ELLIPSIS = "…"


def shorten(text: str, width: int) -> str:
    """Shorten a text in its middle.

    Paths and errors differ most at their ends: the last part is the file, or the cause. So two thirds of what is left
    are the end.

    Args:
        text: A line.
        width: How many characters the result may have, at least 2.
    """
    if len(text) <= width:
        return text
    head = (width - 1) // 3
    return f"{text[:head]}{ELLIPSIS}{text[len(text) - (width - 1 - head) :]}"
