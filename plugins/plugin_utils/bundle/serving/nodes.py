# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Who may fetch from a bundle's server, and how often anybody may ask."""

from __future__ import annotations

import hashlib
import typing as t
import urllib.parse

_BURST = 5.0
"""Seconds' worth of requests that may come at once."""
_CLIENTS = 10_000
"""Clients whose requests are counted."""


class Nodes:
    """Who may fetch, and how often anybody may ask.

    Args:
        tokens: by node.
    """

    def __init__(self, tokens: t.Mapping[str, str]) -> None:
        # By hash: how long a look-up takes tells nothing of a token.
        self._nodes = {fingerprint(token): node for node, token in tokens.items()}
        self._spent: dict[str, tuple[float, float]] = {}

    def of(self, target: str) -> str | None:
        """The node whose token a request's target has; None where nobody has it."""
        return self._nodes.get(fingerprint(token_of(target)))

    def revoke(self, fingerprints: t.Iterable[str]) -> None:
        """Lets nobody fetch by these tokens any more."""
        for one in fingerprints:
            self._nodes.pop(one, None)

    def may_ask(self, client: str, rate: float, now: float) -> bool:
        """Whether a client may ask once more: `rate` times a second, and five seconds' worth at once."""
        left, then = self._spent.get(client, (rate * _BURST, now))
        left = min(rate * _BURST, left + (now - then) * rate)
        if len(self._spent) > _CLIENTS:
            self._spent.clear()
        self._spent[client] = (max(left - 1, 0), now)
        return left >= 1


def fingerprint(token: str) -> str:
    """What is kept and compared of a token."""
    return hashlib.sha256(token.encode("utf-8", "replace")).hexdigest()


def token_of(target: str) -> str:
    """The token in a request's target: the first part of its path."""
    try:
        return urllib.parse.urlsplit(target).path.removeprefix("/").partition("/")[0]
    except ValueError:
        return ""
