# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Make text safe to print on a terminal (no I/O).

Text from a node may contain control characters (C0 and C1 in ECMA-48) with which it sets the window's title, fills the
clipboard (OSC 52) or repaints the screen. Characters that change the writing direction (Unicode Standard Annex #9) can
make one text look like another.
"""

from __future__ import annotations

import re
import unicodedata

# A carriage return is safe only before a line feed.
_SUSPECT = re.compile(r"\r(?!\n)|[^\n\r\t -~]")
_REPLACEMENT = "\ufffd"


def printable(text: str) -> str:
    r"""Return a string with all unprintable characters replaced. Line endings and tabs stay.

    >>> printable("boom \x1b[2J")
    'boom \\x1b[2J'

    Args:
        text: any string. It is returned unchanged if it contains no unprintable characters.

    Returns:
        The text, in which ``\xNN`` replaces control characters, a space replaces special spaces, and U+FFFD replaces
        other unprintable characters.
    """
    return _SUSPECT.sub(_visible, text)


def _visible(match: re.Match[str]) -> str:
    character = match[0]
    if character.isprintable():
        return character
    category = unicodedata.category(character)
    if category == "Cc":
        return f"\\x{ord(character):02x}"
    # Category Zs contains no-break spaces, which are common in French text.
    return " " if category == "Zs" else _REPLACEMENT
