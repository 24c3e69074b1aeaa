# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Programs of a group that run in parallel, and the files that they write, as docs/wire.md describes."""

from __future__ import annotations

import http.server
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
from simulator_tests.batches import answer, observe

from simulator.machine.session import Session
from wire_provider import groups
from wire_provider.batch import Call

pytestmark = pytest.mark.waits

HALF = 65_536
"""A number of bytes that is larger than curl's buffer, so that curl writes them to the file."""


class Meeting(http.server.ThreadingHTTPServer):
    """A server that answers requests to `/meet` when `together` of them wait; it counts simultaneous requests."""

    def __init__(self, together: int) -> None:
        super().__init__(("127.0.0.1", 0), Guest)
        self.barrier = threading.Barrier(together, timeout=60)
        self.lock = threading.Lock()
        self.now = self.most = self.seen = self.flaky = 0
        self.hold = threading.Event()
        self.hold.set()

    def url(self, path: str) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/{path}"


class Guest(http.server.BaseHTTPRequestHandler):
    """One request: `/meet` waits for others, and `/flaky` fails once. The second half is sent when `hold` is set."""

    server: Meeting

    def do_GET(self) -> None:
        house = self.server
        with house.lock:
            house.now, house.seen = house.now + 1, house.seen + 1
            house.most = max(house.most, house.now)
        code = 200
        try:
            if self.path.startswith("/meet"):
                house.barrier.wait()
            if self.path == "/flaky":
                # This has its own counter, because a request of a parallel program may arrive first.
                house.flaky += 1
                code = 404 if house.flaky == 1 else 200
        except threading.BrokenBarrierError:
            code = 404
        with house.lock:
            house.now -= 1
        self.send_response(code)
        self.send_header("Content-Length", str(2 * HALF))
        self.end_headers()
        self.wfile.write(bytes(HALF))
        house.hold.wait(60)
        self.wfile.write(bytes(HALF))

    def log_message(self, *_arguments: object) -> None:
        pass


@pytest.fixture
def house() -> Iterator[Meeting]:
    server = Meeting(3)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield server
    server.hold.set()
    server.shutdown()
    server.server_close()


def fetch(house: Meeting, name: str, path: str = "meet", **keys: Any) -> dict[str, Any]:
    options = {"arguments": ["--fail", "--silent", "-o", f"C:\\{name}", house.url(path)], "parallel": 3}
    return {"id": name, "command": "curl.exe", "watch": f"C:\\{name}", **options, **keys}


def test_neighbours_run_at_once_and_never_more_than_allowed(session: Session, house: Meeting) -> None:
    after = {"id": "after", "command": "@read-file", "parameters": {"paths": [f"C:\\f{n}" for n in range(6)]}}
    calls = [fetch(house, f"f{n}", parallel=3 + n) for n in range(6)]
    observation = observe(session, *calls, after)
    assert list(observation["calls"]) == [*(f"f{n}" for n in range(6)), "after"], "in the batch's order"
    assert all(result["ok"] for result in observation["calls"].values()), "six one after another never meet"
    assert (house.most, house.seen) == (3, 6)
    assert all(file["size"] == 2 * HALF for file in observation["calls"]["after"]["output"]), "the rest waits for all"


def test_each_download_has_its_own_attempts_and_all_end_before_the_batch(session: Session, house: Meeting) -> None:
    observation = observe(
        session,
        fetch(house, "flaky", "flaky", retries=1, delay=0.01),
        fetch(house, "gone", "x", command="nope.exe", on_error="continue"),
        fetch(house, "late", "x", arguments=["--fail", "file:///C:/none"], retries=2, delay=0.01),
        fetch(house, "fine", "x"),
        {"id": "never", "command": "Get-Date"},
        fetch(house, "never-either", "x"),
        fetch(house, "cleaning", "x", always=True),
    )
    calls = observation["calls"]
    assert list(calls) == ["flaky", "gone", "late", "fine", "cleaning"]
    assert [calls[name]["ok"] for name in calls] == [True, False, False, True, True]
    assert (calls["flaky"]["attempts"], calls["late"]["attempts"]) == (2, 3)
    assert observation["stopped"] == {"id": "late", "reason": "error"}, "gone may fail"


def test_a_call_that_refers_to_another_one_waits_for_it(session: Session, house: Meeting) -> None:
    observation = observe(
        session,
        fetch(house, "bad", "x", command="nope.exe", on_error="continue"),
        fetch(house, "good", "x"),
        fetch(house, "needs-bad", "x", needs=["bad"]),
        fetch(house, "unless-good", "x", unless=["good"]),
        fetch(house, "needs-good", "x", needs=["good"]),
    )
    calls = observation["calls"]
    assert calls["needs-bad"]["skipped"] == "needs bad"
    assert calls["unless-good"]["skipped"] == "unless good"
    assert calls["needs-good"]["ok"]
    assert house.seen == 2


def test_a_group_ends_at_a_reference_to_its_member_or_at_another_kind_of_call() -> None:
    def call(name: str, **keys: Any) -> Call:
        return Call(name, "x.exe", **keys)

    calls = [
        call("a", parallel=2),
        call("b", parallel=2),
        call("c", parallel=2, needs=["a"]),
        call("d", parallel=2, unless=["c"]),
        call("e", parallel=2, needs=["a"]),
        call("f"),
        call("g", parallel=2),
        call("h"),
    ]
    assert [[member.id for member in group] for group in groups.split(calls)] == [
        ["a", "b"],
        ["c"],
        ["d", "e"],
        ["f"],
        ["g"],
        ["h"],
    ]


def test_progress_lists_all_running_programs_with_their_bytes(session: Session, house: Meeting) -> None:
    house.hold.clear()
    calls = [
        {"id": "first", "command": "Get-Date"},
        fetch(house, "one", "x"),
        fetch(house, "two", "x", watch=None),
        {"id": "last", "command": "Get-Date"},
    ]
    machine = session.machine
    work = machine.processes.detach(
        "powershell.exe",
        "Administrator",
        lambda process: answer(Session(machine, process, "Administrator"), {"key": "grow-0001", "calls": calls}),
    )
    end = time.monotonic() + 60
    progress: dict[str, Any] = {}
    running: dict[str, int | None] = {}
    while time.monotonic() < end and not (running.get("one") and "two" in running):
        progress = observe(session, mode="collect", key="grow-0001").get("progress") or {}
        running = {item["id"]: item["size"] for item in progress.get("running", [])}
        time.sleep(0.02)
    assert (progress["done"], progress["total"]) == (1, 4)
    assert 0 < (running.pop("one") or 0) <= HALF
    assert running == {"two": None}
    house.hold.set()
    assert observe(session, mode="collect", key="grow-0001", wait=10)["state"] == "finished"
    assert work.ended.wait(60)
