# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Check which node a request to a bundle server comes from, and limit the rate of requests."""

from __future__ import annotations

import hashlib
import typing as t
import urllib.parse

_BURST = 5.0
"""A burst is limited to as many requests as the normal rate allows in this many seconds."""
_CLIENTS = 10_000
"""Maximum number of clients whose requests are counted."""


class Nodes:
    """The nodes that may download, and the rate limits of all clients.

    Args:
        tokens: maps the name of each node to its secret token.
    """

    def __init__(self, tokens: t.Mapping[str, str]) -> None:
        # Tokens are stored by their hash, so that the duration of a lookup reveals nothing about a token.
        self._nodes = {fingerprint(token): node for node, token in tokens.items()}
        self._spent: dict[str, tuple[float, float]] = {}

    def of(self, target: str) -> str | None:
        """Return the node whose token a request's target contains, or None if the token is unknown or revoked."""
        return self._nodes.get(fingerprint(token_of(target)))

    def revoke(self, fingerprints: t.Iterable[str]) -> None:
        """Revoke tokens, given by their fingerprints."""
        for one in fingerprints:
            self._nodes.pop(one, None)

    def may_ask(self, client: str, rate: float, now: float) -> bool:
        """Return whether a client may send a request now.

        A client may send `rate` requests per second, or a burst of 5 times as many.
        """
        left, then = self._spent.get(client, (rate * _BURST, now))
        left = min(rate * _BURST, left + (now - then) * rate)
        if len(self._spent) > _CLIENTS:
            self._spent.clear()
        self._spent[client] = (max(left - 1, 0), now)
        return left >= 1


def fingerprint(token: str) -> str:
    """Return the fingerprint of a token: its SHA-256."""
    return hashlib.sha256(token.encode("utf-8", "replace")).hexdigest()


def token_of(target: str) -> str:
    """Return the token, which is the first part of the path in a request's target."""
    try:
        return urllib.parse.urlsplit(target).path.removeprefix("/").partition("/")[0]
    except ValueError:
        return ""
