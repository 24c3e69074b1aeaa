# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""User and password in URLs: found, and left out of what is shown. Pure.

A log's text, where anything may stand, has patterns of its own: logs/redaction.py.
"""

from __future__ import annotations

import re
import typing as t

HIDDEN = "(hidden)"

_PORT = r"(?!\d{1,5}(?:[/?#,]|$))"
_USER = re.compile(
    # Up to the last @: people write passwords as they are, not percent-encoded (RFC 3986, 3.2.1), with a / as well.
    # Rather too much than too little; but what looks like a port is one, and the @ is in the path.
    rf"(?:(?<=://)[^/?#\s:@\[]*:{_PORT}\S+"
    # A user alone, such as a token.
    r"|(?<=://)[^/?#\s]+"
    # Such as a proxy's, written without its scheme; no path of Windows, and no container image by its digest.
    r"|^(?=[^/@\s:]+:)(?![A-Za-z]:\\)[^/\s]+)@(?!sha256:)"
)


def has_credentials(text: str) -> bool:
    """Whether there is a user in a URL."""
    return bool(_USER.search(text))


def without_credentials(text: str, instead: str = HIDDEN) -> str:
    """The same text, with something else for the user and password of a URL.

    >>> without_credentials("http://user:p@ss/word@proxy:3128")
    'http://(hidden)@proxy:3128'
    """
    return _USER.sub(lambda dummy: f"{instead}@", text)


def each_text(value: t.Any, change: t.Callable[[str], str]) -> t.Any:
    """A value of JSON with all of its texts changed, names in mappings included.

    Args:
        value: it.
        change: makes the new text of an old one.
    """
    if isinstance(value, str):
        return change(value)
    if isinstance(value, (list, tuple)):
        return [each_text(item, change) for item in value]
    if isinstance(value, t.Mapping):
        return {each_text(key, change): each_text(item, change) for key, item in value.items()}
    return value
