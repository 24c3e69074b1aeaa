# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
from __future__ import annotations

import datetime
import typing as t

import pytest
from hypothesis import given
from hypothesis import strategies as st
from unit.fake_node import FakeTime

from ansible_collections.winkube.node.plugins.plugin_utils.remote.reboot import (
    LOGON_KEY,
    NotRebooted,
    Reboot,
    is_another_boot,
    is_ordered,
)
from ansible_collections.winkube.node.plugins.plugin_utils.wire.messages import Batch, CallResult, Observation, State

BEFORE, AFTER = "2026-11-23T03:00:00.1234567Z", "2026-11-23T04:10:00.7654321Z"


class LostError(Exception):
    """The connection broke."""


def answer(boot: str, *, state: State = "finished", **results: CallResult) -> Observation:
    return Observation(state=state, calls=results, boot=boot)


def screen(*, logon: bool, boot: str = AFTER) -> Observation:
    return answer(boot, logon=CallResult(ok=logon, output=({"key_exists": logon},)))


ORDERED = answer(
    BEFORE,
    logon=CallResult(ok=True),
    order=CallResult(ok=True, exit_code=0),
    cancel=CallResult(ok=True),
    again=CallResult(ok=True),
)
REFUSED = answer(
    BEFORE,
    logon=CallResult(ok=True),
    order=CallResult(ok=False, exit_code=5),
    cancel=CallResult(ok=False, exit_code=5),
    again=CallResult(ok=False, exit_code=5, stderr="Access is denied.(5)\r\n"),
)
KNOWN = answer(BEFORE, state="known")
RUNS = screen(logon=False, boot=BEFORE)
BACK = screen(logon=True)
Step = Observation | Exception | None


class Server:
    """Returns the responses of a test in order. The last one repeats."""

    def __init__(self, *steps: Step) -> None:
        self.steps = list(steps)
        self.batches: list[Batch] = []
        self.reconnects = 0

    def send(self, batch: Batch) -> Observation | None:
        self.batches.append(batch)
        step = self.steps.pop(0) if len(self.steps) > 1 else self.steps[0]
        if isinstance(step, Exception):
            raise step
        return step

    def reconnect(self) -> None:
        self.reconnects += 1
        if self.reconnects % 2:
            raise LostError("refused")

    def orders(self) -> list[str | None]:
        """Return the keys of the reboot orders that were sent."""
        return [batch.key for batch in self.batches if batch.mode == "run" and batch.key]


def reboot(server: Server, timeout: float = 600.0, *, ordered: bool | None = False) -> Reboot:
    time = FakeTime()
    made = Reboot(
        send=server.send,
        reconnect=server.reconnect,
        away=(LostError,),
        timeout=timeout,
        clock=time.clock,
        sleep=time.sleep,
    )
    made.run(BEFORE, "for a feature", ordered=ordered)
    return made


@pytest.mark.parametrize(
    ("steps", "keys"),
    [
        pytest.param([ORDERED, BACK], 1, id="at once"),
        pytest.param([ORDERED, LostError("gone"), BACK], 1, id="it goes down under the question"),
        pytest.param([ORDERED, RUNS, RUNS, LostError("gone"), BACK], 1, id="services hold the shutdown up"),
        pytest.param([ORDERED, None, screen(logon=False), BACK], 1, id="updates are installed before the logon screen"),
        pytest.param([LostError("gone"), BACK], 1, id="the answer to the order is lost"),
        pytest.param([LostError("gone"), RUNS, KNOWN, ORDERED, LostError("gone"), BACK], 1, id="the order had arrived"),
        pytest.param([LostError("gone"), RUNS, ORDERED, BACK], 1, id="the order had not arrived"),
        pytest.param([None, RUNS, KNOWN, ORDERED, BACK], 1, id="the answer was garbled"),
        pytest.param([LostError("gone"), RUNS, KNOWN, answer(BEFORE, state="lost"), RUNS, ORDERED, BACK], 2,
                     id="the session ended in the middle of the order"),
    ],
)  # fmt: skip
def test_a_new_boot_time_proves_a_reboot(steps: list[Step], keys: int) -> None:
    server = Server(*steps)
    made = reboot(server)
    assert len(set(server.orders())) == len(made.keys) == keys
    assert server.steps == [BACK]


@pytest.mark.parametrize(("ordered", "first", "delay"), [(False, ORDERED, 2), (True, BACK, 5), (None, BACK, 5)])
def test_no_poll_is_sent_before_the_shutdown(ordered: bool | None, first: Step, delay: float) -> None:
    """It would be lost, and cost a remote command."""
    time, sent = FakeTime(), []
    server = Server(first, BACK)

    def send(batch: Batch) -> Observation | None:
        sent.append(time.clock() if batch.key is None else None)
        return server.send(batch)

    Reboot(
        send=send, reconnect=server.reconnect, away=(LostError,), timeout=600, clock=time.clock, sleep=time.sleep
    ).run(BEFORE, "for a feature", ordered=ordered)
    (polled,) = [moment for moment in sent if moment is not None]
    assert delay < polled <= delay + 3


def test_an_order_that_was_answered_is_never_repeated() -> None:
    server = Server(ORDERED, *[RUNS] * 20, LostError("gone"), BACK)
    reboot(server)
    assert len(server.orders()) == 1


@pytest.mark.parametrize(
    ("ordered", "steps", "orders"),
    [
        pytest.param(True, [BACK], 0, id="it is back already"),
        pytest.param(True, [RUNS, LostError("gone"), BACK], 0, id="it goes down"),
        pytest.param(None, [BACK], 0, id="it was ordered, and is back"),
        pytest.param(None, [LostError("gone"), BACK], 0, id="it was ordered, and goes down"),
        pytest.param(None, [RUNS, ORDERED, BACK], 1, id="it may not have been ordered"),
    ],
)
def test_a_reboot_that_a_batch_ordered_is_not_ordered_again(
    ordered: bool | None, steps: list[Step], orders: int
) -> None:
    server = Server(*steps)
    reboot(server, ordered=ordered)
    assert len(server.orders()) == orders
    assert server.steps == [BACK]


@pytest.mark.parametrize(
    ("results", "expected"),
    [
        ({"order": CallResult(ok=True)}, True),
        ({"order": CallResult(ok=False), "again": CallResult(ok=True)}, True),
        ({"order": CallResult(ok=True), "again": CallResult(ok=True, skipped="unless order")}, True),
        ({"order": CallResult(ok=True, skipped="unless unneeded")}, False),
        ({"order": CallResult(ok=False), "again": CallResult(ok=False)}, False),
        ({}, False),
    ],
)
def test_an_order_counts_if_it_ran(results: dict[str, CallResult], expected: bool) -> None:
    assert is_ordered(results) is expected


def test_the_question_waits_on_the_node() -> None:
    server = Server(ORDERED, BACK)
    reboot(server)
    (call,) = server.batches[-1].calls
    assert call.parameters == {"values": [{"path": LOGON_KEY}]}
    assert (call.until, call.retries, call.on_error) == ({"key_exists": True}, 240, "continue")


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        ([REFUSED], r"shutdown.exe ended with exit code 5: Access is denied.\(5\)$"),
        ([ORDERED, RUNS], "back within 600 seconds; last status: a reboot was requested, but it has not shut down yet"),
        ([ORDERED, LostError("refused")], "back within 600 seconds; last status: refused"),
        ([ORDERED, screen(logon=False)], "it has booted, but its logon screen is not up yet"),
        ([None], "it did not respond to the request to reboot"),
    ],
)
def test_a_node_that_is_not_back_in_time(steps: list[Step], expected: str) -> None:
    with pytest.raises(NotRebooted, match=expected):
        reboot(Server(*steps))


@given(
    st.datetimes(datetime.datetime(2020, 1, 1), datetime.datetime(2040, 1, 1)),
    st.timedeltas(datetime.timedelta(days=-300), datetime.timedelta(days=300)),
)
def test_boot_times_of_one_boot_differ_by_milliseconds_at_most(
    moment: datetime.datetime, later: datetime.timedelta
) -> None:
    first, second = (f"{one.isoformat(timespec='microseconds')}0Z" for one in (moment, moment + later))
    assert is_another_boot(first, second) == (abs(later) > datetime.timedelta(milliseconds=100))


@pytest.mark.parametrize(("before", "now", "expected"), [("?", "?", False), ("?", AFTER, True), ("", "?", True)])
def test_boot_times_that_cannot_be_read(before: str, now: str, expected: bool) -> None:
    assert is_another_boot(before, now) is expected


def test_an_error_other_than_a_broken_link_ends_the_wait() -> None:
    with pytest.raises(ValueError, match="a bug"):
        reboot(Server(t.cast("Step", ValueError("a bug"))))
