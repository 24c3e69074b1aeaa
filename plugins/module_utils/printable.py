# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Texts that are safe to send to a terminal. Pure.

A node's texts may hold escape sequences that set the window's title, fill the clipboard (OSC 52) or repaint the screen.
A terminal acts on C0 and C1 control characters (ECMA-48), and on characters that reverse the direction of writing
(Unicode Standard Annex #9), which make a text look like another one.
"""

from __future__ import annotations

import re
import unicodedata

# A carriage return is safe only where the line ends anyway.
_SUSPECT = re.compile(r"\r(?!\n)|[^\n\r\t -~]")
_REPLACEMENT = "\ufffd"


def printable(text: str) -> str:
    r"""The text with everything but line ends, tabs and printable characters made visible.

    >>> printable("boom \x1b[2J")
    'boom \\x1b[2J'

    Args:
        text: any text; a safe one comes back unchanged, so calling this twice does no harm.

    Returns:
        The text with control characters as ``\xNN`` and other characters that cannot be shown as U+FFFD.
    """
    return _SUSPECT.sub(_visible, text)


def _visible(found: re.Match[str]) -> str:
    character = found[0]
    if character.isprintable():
        return character
    category = unicodedata.category(character)
    if category == "Cc":
        return f"\\x{ord(character):02x}"
    # No-break spaces, which French texts are full of.
    return " " if category == "Zs" else _REPLACEMENT
