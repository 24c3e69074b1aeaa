# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Find and remove user and password in URLs (no I/O).

Logs, which may contain anything, have their own patterns: redaction.py.
"""

from __future__ import annotations

import re
import typing as t

HIDDEN = "(hidden)"

_PORT = r"(?!\d{1,5}(?:[/?#,]|$))"
_USER = re.compile(
    # Up to the last @: users often do not percent-encode passwords (RFC 3986, 3.2.1), which may even contain a slash.
    # In doubt the text is removed; but if a port follows the host, the @ belongs to the path.
    rf"(?:(?<=://)[^/?#\s:@\[]*:{_PORT}\S+"
    # A user without a password, such as a token.
    r"|(?<=://)[^/?#\s]+"
    # A proxy without a scheme; not a Windows path, and not a container image with a digest.
    r"|^(?=[^/@\s:]+:)(?![A-Za-z]:\\)[^/\s]+)@(?!sha256:)"
)


def has_credentials(text: str) -> bool:
    """Return whether a URL contains a user."""
    return bool(_USER.search(text))


def without_credentials(text: str, instead: str = HIDDEN) -> str:
    """Return the text with user and password of URLs replaced.

    >>> without_credentials("http://user:p@ss/word@proxy:3128")
    'http://(hidden)@proxy:3128'
    """
    return _USER.sub(lambda dummy: f"{instead}@", text)


def each_text(value: t.Any, change: t.Callable[[str], str]) -> t.Any:
    """Return a JSON value with all of its texts changed, including keys.

    Args:
        value: a JSON value.
        change: returns the new text for an old one.
    """
    if isinstance(value, str):
        return change(value)
    if isinstance(value, (list, tuple)):
        return [each_text(item, change) for item in value]
    if isinstance(value, t.Mapping):
        return {each_text(key, change): each_text(item, change) for key, item in value.items()}
    return value
