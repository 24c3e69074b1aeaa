# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Reboot a node: request the reboot, then wait for a new boot time and the logon screen.

There are three reasons not to use ansible.windows.win_reboot. If the response to the reboot request is lost, win_reboot
does not know whether the node will shut down. While services delay the shutdown, win_reboot sends a remote command for
each poll. Once the node is back, win_reboot needs two more remote commands.
"""

from __future__ import annotations

import dataclasses
import datetime
import re
import time
import typing as t
import uuid

from ..wire.calls import action, query
from ..wire.messages import Batch, Call, CallResult, Observation

LOGON_KEY = "HKLM:\\SOFTWARE\\Microsoft\\Windows NT\\CurrentVersion\\Winlogon\\AutoLogonChecked"
"""Volatile registry key that LogonUI creates just before it shows the logon screen, when Windows has finished its
configuration. ansible.windows.win_reboot also waits for this key (see `test_command` in its documentation)."""
_IN_PROGRESS = 1115
"""The system error code ERROR_SHUTDOWN_IN_PROGRESS.

Source: learn.microsoft.com/windows/win32/debug/system-error-codes--1000-1299-
"""
_GOING_DOWN = 2.0
"""Seconds between the shutdown and the first poll. An earlier poll would be interrupted by the shutdown."""
_DELAY = 2
"""Seconds between the request and the shutdown, during which the node responds to the request."""
BATCH_DELAY = 5
"""Seconds between the request and the shutdown if the request is the last call of a batch that also does other work.
During this time, the node writes the batch's result and returns it to the controller."""
_LONGEST_QUESTION = 240
"""Maximum number of seconds that the node waits in a poll. A long wait saves polls while the reboot takes minutes:
services with a preshutdown notification delay the shutdown while WinRM still responds, and Windows configures updates
before it shows the logon screen. Source: learn.microsoft.com, SERVICE_PRESHUTDOWN_INFO."""
_PAUSE = 5.0
_FIRST_PAUSE, _LONGEST_PAUSE = 0.5, 15.0
_DRIFT = datetime.timedelta(milliseconds=100)
"""Maximum difference between two boot times of the same boot. Windows computes the boot time from the clock, so a clock
correction changes the boot time by milliseconds. Source: prometheus-community/windows_exporter#74."""


class NotRebooted(Exception):
    """The node did not reboot or did not come back; the message says why."""


def reboot_message(step: str) -> str:
    """Return the message that users who are logged on see before the reboot.

    Args:
        step: name of the step that needs the reboot.
    """
    return f"winkube.node: {step}"


def order(message: str, *, delay: int = _DELAY) -> tuple[Call, ...]:
    """Return the calls that request a reboot. `is_ordered` tells whether these calls succeeded.

    If the first request fails, another program may have scheduled a shutdown (exit code 1190) that happens later or is
    not a reboot. The calls then cancel this shutdown and repeat the request.

    Args:
        message: message to users who are logged on.
        delay: seconds until the shutdown.
    """
    arguments = ("/r", "/t", str(delay), "/c", message)
    return (
        action("logon", "Remove-Item", {"LiteralPath": LOGON_KEY, "Force": True}, on_error="continue"),
        action("order", "shutdown.exe", arguments=arguments, success_codes=(0, _IN_PROGRESS), on_error="continue"),
        action("cancel", "shutdown.exe", arguments=("/a",), unless=("order",), on_error="continue"),
        action("again", "shutdown.exe", arguments=arguments, unless=("order",), on_error="continue"),
    )


def is_ordered(results: t.Mapping[str, CallResult]) -> bool:
    """Return whether one of the calls of `order` requested the reboot.

    Args:
        results: the results of the calls of `order`, by their IDs.
    """
    orders = (results[name] for name in ("order", "again") if name in results)
    return any(result.ok and not result.skipped for result in orders)


def wait_calls() -> tuple[Call, ...]:
    """Return the calls that make the node wait until its logon screen is up.

    No call reads the boot time, because every observation contains it.
    """
    return (
        query(
            "logon",
            "@read-registry",
            {"values": [{"path": LOGON_KEY}]},
            select=("key_exists",),
            until={"key_exists": True},
            retries=_LONGEST_QUESTION,
        ),
    )


def is_another_boot(before: str, now: str) -> bool:
    """Return whether the boot times of two observations (ISO 8601 in UTC) belong to different boots."""
    first, second = _moment(before), _moment(now)
    if first is None or second is None:
        return before != now
    return abs(first - second) > _DRIFT


def _moment(text: str) -> datetime.datetime | None:
    try:
        # .NET writes seven decimals.
        return datetime.datetime.fromisoformat(re.sub(r"(\.\d{6})\d+", r"\1", text))
    except ValueError:
        return None


@dataclasses.dataclass(kw_only=True)
class Reboot:
    """A single reboot of a node, including the wait until the node is back.

    Args:
        send: function that sends a batch once. It returns None if the result is not JSON.
        reconnect: function that tries once to reconnect.
        away: exceptions of `send` that indicate that the node may be away.
        timeout: time limit for the node to be back, in seconds.
        clock: function that returns a time in seconds.
        sleep: function that waits for a number of seconds.
    """

    send: t.Callable[[Batch], Observation | None]
    reconnect: t.Callable[[], None]
    away: tuple[type[Exception], ...]
    timeout: float
    clock: t.Callable[[], float] = time.monotonic
    sleep: t.Callable[[float], None] = time.sleep
    keys: list[str] = dataclasses.field(default_factory=list, init=False)
    """Keys of the batches that may have requested the reboot. The node keeps the results of these batches until another
    batch deletes them."""

    def run(self, boot: str, message: str, *, ordered: bool | None = False) -> None:
        """Request the reboot if necessary, and wait until the node is back.

        Even if a response is lost, the node reboots only once.

        Args:
            boot: the boot time in the node's last observation before the request.
            message: message to users who are logged on.
            ordered: whether an earlier batch requested the reboot. If this is unknown (None), the reboot is requested
                only if the node is still up.

        Raises:
            NotRebooted: the node rejects the request, or is not back in time.
        """
        deadline = self.clock() + self.timeout
        self.keys.append(str(uuid.uuid4()))
        by_batch = ordered is not False
        error = "no response since the reboot was requested"
        if ordered is False:
            ordered, error = self._order(message, deadline)
        self.sleep(_GOING_DOWN + (BATCH_DELAY if by_batch else _DELAY))
        while self.clock() < deadline:
            try:
                seen = self.send(Batch(calls=wait_calls()))
            except self.away as lost:
                error = str(lost) or type(lost).__name__
                self._reconnect(deadline)
                continue
            if seen is not None and is_another_boot(boot, seen.boot):
                if seen["logon"].ok:
                    return
                error = "it has booted, but its logon screen is not up yet"
            elif seen is not None and not ordered:
                ordered, error = self._order(message, deadline)
            elif seen is not None:
                error = "a reboot was requested, but it has not shut down yet"
            self.sleep(_PAUSE)
        raise NotRebooted(f"expected the node to be back within {self.timeout:.0f} seconds; last status: {error}")

    def _order(self, message: str, deadline: float) -> tuple[bool, str]:
        """Send the request to reboot.

        Returns:
            Whether the node has certainly received the request, and the status to report if the node does not reboot.

        Raises:
            NotRebooted: the node rejected the request.
        """
        try:
            seen = self.send(Batch(calls=order(message), key=self.keys[-1]))
            if seen is not None and seen.state == "known":
                # The node received an earlier attempt, but its response was lost.
                seen = self.send(Batch(mode="collect", key=self.keys[-1], wait=5))
        except self.away as lost:
            self._reconnect(deadline)
            return False, str(lost) or type(lost).__name__
        if seen is None or seen.state in ("unknown", "running"):
            return False, "it did not respond to the request to reboot"
        if seen.state == "lost":
            # The session ended while the request was sent. A second request is harmless: it fails with 1115.
            self.keys.append(str(uuid.uuid4()))
            return False, "the request to reboot was interrupted"
        refused = [seen[name] for name in ("order", "again")]
        if not any(result.ok for result in refused):
            output = " ".join(f"{refused[-1].stderr} {refused[-1].stdout}".split())
            raise NotRebooted(f"shutdown.exe ended with exit code {refused[-1].exit_code}: {output}")
        return True, ""

    def _reconnect(self, deadline: float) -> None:
        """Try to reconnect, with ever longer pauses, until an attempt succeeds or the deadline has passed."""
        pause = _FIRST_PAUSE
        while self.clock() < deadline:
            self.sleep(pause)
            pause = min(pause * 2, _LONGEST_PAUSE)
            try:
                self.reconnect()
            except Exception:  # noqa: S112 - the plugins raise many types while a node is away
                continue
            return
