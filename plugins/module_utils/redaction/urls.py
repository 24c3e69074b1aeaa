# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Find and remove secrets in URLs: users, passwords, queries, and tokens in paths (no I/O)."""

from __future__ import annotations

import re

from . import BLANK

_NO_PORT = r"(?!\d{1,5}(?:[/?#,\s]|\Z))"
_NO_DIGEST = r"(?!sha256:)"
"""Excludes references of container images with a digest (`pause@sha256:…`), whose @ does not follow a user."""
_BUNDLE_TOKEN = re.compile(r"~[A-Za-z0-9_-]{32,}(?=/|$)")
"""Matches a part of a path that is the token of a served bundle."""
_QUERY = re.compile(r"(?<=[\w/])\?\S+")


def _user(end: str, longest: int) -> str:
    """Return a pattern that matches the user information in a URL: `user:password@` or `token@`.

    It extends to the last @: passwords are often not percent-encoded (RFC 3986, 3.2.1), and may even contain a
    slash. After a host with a port, an @ belongs to the path.

    Args:
        end: characters that end a URL, in the syntax of a character class of a regular expression.
        longest: maximum length of the password, or of a user without a password, in characters.
    """
    with_password = rf"[^/?#:@\[{end}]{{0,256}}:{_NO_PORT}[^{end}]{{1,{longest}}}"
    # A token can be a user without a password.
    without_password = rf"[^/?#{end}]{{1,{longest}}}"
    return rf"(?<=://)(?:{with_password}|{without_password})@{_NO_DIGEST}"


# A proxy without a scheme, user:password@host:port.
_PROXY_USER = rf"(?<![^\s=\"';,(])[^\s:@/\"'=;,()]{{1,64}}:[^\s@/\"';,()]{{1,256}}@{_NO_DIGEST}(?=[\w.-]{{1,253}}:\d)"
# At the beginning of a value, such a proxy needs no port, but must not be a Windows path.
_WHOLE_PROXY_USER = rf"^(?=[^/@\s:]+:)(?![A-Za-z]:\\)[^/\s]+@{_NO_DIGEST}"
_USER_IN_VALUE = re.compile("|".join((_user(r"\s", 8192), _WHOLE_PROXY_USER, _PROXY_USER)))
USER_IN_TEXT = re.compile("|".join((_user(r"\s\"'<>", 512), _PROXY_USER)))
"""Matches users of URLs in any text. Quotes and angle brackets end a URL. Matching takes linear time."""


def has_user(value: str) -> bool:
    """Return whether a URL or a proxy address in a value names a user.

    Args:
        value: a value, such as a URL, a list of proxies or a command line.
    """
    return bool(_USER_IN_VALUE.search(value))


def redact_users(value: str, instead: str = BLANK) -> str:
    """Return a value with the users and passwords of its URLs replaced.

    >>> redact_users("http://user:p@ss/word@proxy:3128")
    'http://***@proxy:3128'

    Args:
        value: a value, such as a URL, a list of proxies or a command line.
        instead: the replacement.
    """
    return _USER_IN_VALUE.sub(lambda dummy: f"{instead}@", value)


def redact_queries(value: str) -> str:
    """Return a value with the queries of its URLs replaced.

    >>> redact_queries("https://example.org/a?sig=x")
    'https://example.org/a?***'
    """
    return _QUERY.sub(f"?{BLANK}", value)


def carries_secret(url: str) -> bool:
    """Return whether a URL contains credentials: a user, a query (which may be a signature), or a bundle token."""
    authority, dummy, rest = url.partition("://")[2].partition("/") if "://" in url else url.partition("/")
    return has_user(url) or "@" in authority or "?" in authority or "?" in rest or bool(_BUNDLE_TOKEN.match(rest))


def redact_url(url: str) -> str:
    """Return a URL for messages: without its user, query and fragment, and without the token of a served bundle.

    >>> redact_url("https://me:secret@example.org/a.zip?sig=x")
    'https://example.org/a.zip'
    """
    # Remove the user first, because a password may contain any of the characters that end a path.
    bare = redact_users(url, "").split("?", 1)[0].split("#", 1)[0]
    scheme, separator, rest = bare.partition("://") if "://" in bare else ("", "", bare)
    authority, slash, path = rest.partition("/")
    token = _BUNDLE_TOKEN.match(path)
    left = f"{scheme}{separator}{authority.rpartition('@')[2]}{slash}{'~' + path[token.end() :] if token else path}"
    # The rest of a malformed URL may look like another URL with a user.
    return left if left == url else redact_url(left)
