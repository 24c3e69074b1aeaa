# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Rebooting a node over our own protocol: order it, wait until the boot time has changed and the logon screen is up.

Why not ansible.windows.win_reboot: where the answer to its order is lost it does not know whether the node goes down,
it asks again and again while services hold the shutdown up, and it needs two questions when the node is back.
"""

from __future__ import annotations

import dataclasses
import datetime
import re
import time
import typing as t
import uuid

from ..wire.messages import Batch, Call, Observation

LOGON_KEY = "HKLM:\\SOFTWARE\\Microsoft\\Windows NT\\CurrentVersion\\Winlogon\\AutoLogonChecked"
"""LogonUI makes this volatile key when it is about to show the logon screen: what Windows configures while it starts
is over then. ansible.windows.win_reboot waits for it, too (its documentation, `test_command`)."""
_IN_PROGRESS = 1115
"""ERROR_SHUTDOWN_IN_PROGRESS: learn.microsoft.com/windows/win32/debug/system-error-codes--1000-1299-"""
_GOING_DOWN = 4.0
"""Seconds between the order and the first question: `shutdown.exe /t 2` lets the answer to the order out first."""
_LONGEST_QUESTION = 240
"""Seconds that one question waits on the node. Services that are told of a shutdown before it begins hold it up while
WinRM goes on answering (learn.microsoft.com: SERVICE_PRESHUTDOWN_INFO); updates are configured before the logon screen
is shown. Both take minutes: one question waits on the node, instead of many that only ask."""
_PAUSE = 5.0
_LONGEST_PAUSE = 15.0
_DRIFT = datetime.timedelta(milliseconds=100)
"""Windows computes its boot time from the clock: where the network sets the clock, it moves by milliseconds without a
boot (prometheus-community/windows_exporter#74)."""


class NotRebooted(Exception):
    """The node did not reboot, or did not come back; the text says why."""


def order(message: str) -> tuple[Call, ...]:
    """Return the calls that order a reboot.

    A shutdown that somebody else has scheduled (1190) is cancelled first: it may be for tomorrow, or no reboot.

    Args:
        message: shown to users who are logged on.
    """
    arguments = ("/r", "/t", "2", "/c", message)
    return (
        Call(
            id="logon",
            command="Remove-Item",
            parameters={"LiteralPath": LOGON_KEY, "Force": True},
            select=(),
            on_error="continue",
        ),
        Call(
            id="order",
            command="shutdown.exe",
            arguments=arguments,
            success_codes=(0, _IN_PROGRESS),
            on_error="continue",
        ),
        Call(id="cancel", command="shutdown.exe", arguments=("/a",), unless=("order",), on_error="continue"),
        Call(id="again", command="shutdown.exe", arguments=arguments, unless=("order",), on_error="continue"),
    )


def question() -> tuple[Call, ...]:
    """Return the calls that wait on the node until its logon screen is up; every observation has the boot time."""
    return (
        Call(
            id="logon",
            command="@read-registry",
            parameters={"values": [{"path": LOGON_KEY}]},
            select=("key_exists",),
            until={"key_exists": True},
            retries=_LONGEST_QUESTION,
            on_error="continue",
        ),
    )


def is_another_boot(before: str, now: str) -> bool:
    """Return whether two boot times (ISO 8601 in UTC, as observations have them) are of two boots."""
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
    """One reboot of one node.

    Args:
        send: sends a batch once; None where the answer was garbled.
        reconnect: connects once.
        away: the exceptions of both that mean that the node may be away.
        timeout: seconds within which the node has to be back.
    """

    send: t.Callable[[Batch], Observation | None]
    reconnect: t.Callable[[], None]
    away: tuple[type[Exception], ...]
    timeout: float
    clock: t.Callable[[], float] = time.monotonic
    sleep: t.Callable[[float], None] = time.sleep
    keys: list[str] = dataclasses.field(default_factory=list, init=False)
    """Of the orders that were sent; the node keeps their results until it is told to forget them."""

    def run(self, boot: str, message: str) -> None:
        """Order the reboot and wait for it: exactly one, even where the answer to the order is lost.

        Args:
            boot: the boot time before, as the node's last observation had it.
            message: shown to users who are logged on.

        Raises:
            NotRebooted: the node refuses, or is not back in time.
        """
        deadline = self.clock() + self.timeout
        self.keys.append(str(uuid.uuid4()))
        ordered, error = self._order(message, deadline)
        self.sleep(_GOING_DOWN)
        while self.clock() < deadline:
            try:
                seen = self.send(Batch(calls=question()))
            except self.away as lost:
                error = str(lost) or type(lost).__name__
                self._reconnect(deadline)
                continue
            if seen is not None and is_another_boot(boot, seen.boot):
                if seen["logon"].ok:
                    return
                error = "it has booted, and its logon screen is not up yet"
            elif seen is not None and not ordered:
                ordered, error = self._order(message, deadline)
            elif seen is not None:
                error = "it has been told to reboot, and still runs"
            self.sleep(_PAUSE)
        raise NotRebooted(f"expected the node to be back within {self.timeout:.0f} seconds; last seen: {error}")

    def _order(self, message: str, deadline: float) -> tuple[bool, str]:
        """Give the order; returns whether the node surely has it, and what to say if it never goes down."""
        try:
            seen = self.send(Batch(calls=order(message), key=self.keys[-1]))
            if seen is not None and seen.state == "known":
                # An earlier attempt arrived, and its answer did not.
                seen = self.send(Batch(mode="collect", key=self.keys[-1], wait=5))
        except self.away as lost:
            self._reconnect(deadline)
            return False, str(lost) or type(lost).__name__
        if seen is None or seen.state in ("unknown", "running"):
            return False, "the order was not answered"
        if seen.state == "lost":
            # The session that gave the order was ended in the middle. A second order is harmless: it ends as 1115.
            self.keys.append(str(uuid.uuid4()))
            return False, "the order was interrupted"
        refused = [seen[name] for name in ("order", "again")]
        if not any(result.ok for result in refused):
            said = " ".join(f"{refused[-1].stderr} {refused[-1].stdout}".split())
            raise NotRebooted(f"shutdown.exe ended with {refused[-1].exit_code}: {said}")
        return True, ""

    def _reconnect(self, deadline: float) -> None:
        """Connect again, with growing pauses, until there is a connection or the time is over."""
        pause = 0.5
        while self.clock() < deadline:
            self.sleep(pause)
            pause = min(pause * 2, _LONGEST_PAUSE)
            try:
                self.reconnect()
            except Exception:  # noqa: S112 - the plugins raise many types while a node is away
                continue
            return
