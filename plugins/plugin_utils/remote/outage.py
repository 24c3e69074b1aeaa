# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Restore a failed connection by reconnecting, with ever longer pauses, and decide when to give up."""

from __future__ import annotations

import re
import typing as t

from .timeouts import Timeouts

_REFUSED = re.compile(
    r"credentials were rejected|failed to authenticate|\b401\b|access is denied|unauthorized", re.IGNORECASE
)
"""Matches messages about a failed logon from the Python packages pywinrm, pypsrp and requests."""
_FIRST_PAUSE, _LONGEST_PAUSE = 0.5, 15.0


class ReconnectFailed(Exception):
    """The connection could not be restored; the message contains the last error."""


class Outage:
    """A period without a connection to a node.

    Args:
        reset: function that closes the connection, and tries once to reconnect.
        clock: function that returns a time in seconds.
        sleep: function that waits for a number of seconds.
    """

    def __init__(
        self,
        reset: t.Callable[[], None],
        clock: t.Callable[[], float],
        sleep: t.Callable[[float], None],
    ) -> None:
        self._reset, self._clock, self._sleep = reset, clock, sleep
        self._reached = False
        self._began: float | None = None
        self._pause = _FIRST_PAUSE
        self._refusals = 0

    def end(self) -> None:
        """Record that the node has responded."""
        self._reached = True
        self._began = None
        self._pause = _FIRST_PAUSE
        self._refusals = 0

    def reconnect(self, lost: Exception, timeouts: Timeouts, *, may_reboot: bool = False) -> None:
        """Try to reconnect until an attempt succeeds, the time limit is reached, or the logon was rejected too often.

        Args:
            lost: the error with which the connection failed.
            timeouts: time limits.
            may_reboot: whether the node may be rebooting, which takes longer than other outages.

        Raises:
            ReconnectFailed: the time limit was reached, or the node rejected the logon too often.
        """
        if self._began is None:
            self._began = self._clock()
        error = lost
        while True:
            self._refusals += _REFUSED.search(str(error)) is not None
            limit = timeouts.reconnect if self._reached else timeouts.first_contact
            limit = max(limit, timeouts.reboot) if may_reboot and self._reached else limit
            if self._clock() - self._began + self._pause > limit or self._refusals >= self._allowed_refusals():
                raise ReconnectFailed(str(error)) from error
            self._sleep(self._pause)
            self._pause = min(self._pause * 2, _LONGEST_PAUSE)
            try:
                self._reset()
            except Exception as again:
                error = again
            else:
                return

    def _allowed_refusals(self) -> int:
        """Return the number of failed logons after which to give up.

        Each failed logon counts toward the account lockout. A password that was never accepted is tried once. A
        password that was accepted may be rejected for a short time while the node starts, because the Netlogon service
        must find a domain controller first.
        """
        return 3 if self._reached else 1
