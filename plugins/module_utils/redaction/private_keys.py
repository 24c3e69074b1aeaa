# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Redact PEM-encoded private keys (RFC 7468) in a text."""

from __future__ import annotations

import re

from . import BLANK

LONGEST_KEY = 20_000
"""Maximum length of a PEM-encoded private key, in characters."""
_BEGIN = re.compile(r"-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----")
_END = re.compile(r"-----END [A-Z ]{0,30}PRIVATE KEY-----")
_LIKE_A_KEY = re.compile(r"[\sA-Za-z0-9+/=\\:,.|>-]*")


def redact_private_keys(text: str) -> str:
    """Return the text without PEM-encoded private keys. The keys may be incomplete, or on one line as in JSON."""
    parts: list[str] = []
    last = 0
    while begin := _BEGIN.search(text, last):
        # If the next key begins before the end of this key, this key is incomplete.
        following = _BEGIN.search(text, begin.end(), begin.end() + LONGEST_KEY)
        limit = following.start() if following else begin.end() + LONGEST_KEY
        end = _END.search(text, begin.end(), limit) or _LIKE_A_KEY.match(text, begin.end(), limit)
        parts += [text[last : begin.start()], BLANK]
        last = end.end() if end else begin.end()
    return "".join([*parts, text[last:]])


def open_key(text: str) -> int:
    """Return the position of a private key that may continue after the end of the text, or -1 if there is none."""
    start = max((match.start() for match in _BEGIN.finditer(text)), default=-1)
    return start if start >= 0 and len(text) - start <= LONGEST_KEY and not _END.search(text, start) else -1
