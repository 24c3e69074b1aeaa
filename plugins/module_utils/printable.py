# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Make text safe to print on a terminal (no I/O).

Text from a node may contain escape sequences that set the window's title, fill the clipboard (OSC 52) or repaint the
screen. A terminal interprets C0 and C1 control characters (ECMA-48). Characters that change the writing direction
(Unicode Standard Annex #9) can make one text look like another.
"""

from __future__ import annotations

import re
import unicodedata

# A carriage return is safe only before a line feed.
_SUSPECT = re.compile(r"\r(?!\n)|[^\n\r\t -~]")
_REPLACEMENT = "\ufffd"


def printable(text: str) -> str:
    r"""Return a string in which all characters are printable, except for line endings and tabs.

    >>> printable("boom \x1b[2J")
    'boom \\x1b[2J'

    Args:
        text: any string. A safe string is returned unchanged, so a second call changes nothing.

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
