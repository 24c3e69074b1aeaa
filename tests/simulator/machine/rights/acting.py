# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Store the access token with which each thread acts: that of its process or of an impersonated user.

What Windows itself does is simulated without a token, and has full access.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import ParamSpec, TypeVar

from simulator.machine.rights.tokens import Token

Given = ParamSpec("Given")
Result = TypeVar("Result")


class Acting:
    """The access tokens of a machine's threads. They determine the user that each thread acts as.

    Args:
        token_of: a function that returns the token of an account.
    """

    def __init__(self, token_of: Callable[[str], Token]) -> None:
        self.token_of = token_of
        self._thread = threading.local()

    @property
    def token(self) -> Token | None:
        """The token of the current thread. None means Windows itself or a test; both have full access."""
        found: Token | None = getattr(self._thread, "token", None)
        return found

    def as_account(self, account: str) -> AbstractContextManager[None]:
        """Act as an account within a block such as `with acting.as_account("SYSTEM"):`."""
        return self._switch(self.token_of(account))

    def as_windows(self) -> AbstractContextManager[None]:
        """Act as Windows itself, for an operation that Windows does on behalf of a user."""
        return self._switch(None)

    @contextmanager
    def _switch(self, token: Token | None) -> Iterator[None]:
        before = self.token
        self._thread.token = token
        try:
            yield
        finally:
            self._thread.token = before

    def carried(self, work: Callable[Given, Result]) -> Callable[Given, Result]:
        """Return a function that runs `work` as the current user, even in another thread."""
        token = self.token

        def run(*given: Given.args, **named: Given.kwargs) -> Result:
            with self._switch(token):
                return work(*given, **named)

        return run
