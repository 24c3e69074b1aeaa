# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Fault sweeps over whole playbooks: many servers per run, several faults per server.

A run of a playbook is expensive, so each server gets a `Life`: several faults spread over the requests of one run. A
round runs the playbook at most three times: with the faults, again, and in a full sweep once more for the servers that
the first run gave up.
"""

from __future__ import annotations

import contextlib
import functools
import math
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
from integration.playbooks import PlayRun, Site
from integration.sweeps import Sweeps, is_full, seed

from simulator.machine.machine import Machine
from simulator.transport.faults import TransportFault

CUTS = ("before", "during", "after")
CONNECTIONS = ("psrp", "winrm")
UNHURT = "unhurt"
AT_ONCE = 16
"""The number of servers in one run."""
POWER_EVERY = 5
KILLS, KILLED = 2, 6
"""How often a controller is killed in a full sweep, and the number of servers that it is working on at that time."""
RUN_SECONDS = 1200
"""The time limit for one run, on a busy machine."""


@dataclass(frozen=True)
class Hit:
    """One fault: the connection is cut `before`, `during` or `after` a request, or the `power` is cut at it."""

    kind: str
    request: int

    def __str__(self) -> str:
        return f"{self.kind} {self.request}"

    def fault(self, machine: Machine) -> TransportFault:
        """Return the fault for the simulated server."""
        if self.kind == "power":
            reset = machine.power.reset
            return TransportFault(
                "call", self.request, callback=lambda: threading.Thread(target=reset, daemon=True).start()
            )
        return TransportFault(self.kind, self.request)


Life = tuple[Hit, ...]
"""The faults of one server during one run."""


def all_hits(requests: int, power_every: int) -> list[Hit]:
    """Return cuts of the connection before, during and after every request, and power cuts at some requests.

    Args:
        requests: the number of requests in a run.
        power_every: the power is cut at every request whose number is a multiple of this.
    """
    return [
        Hit(kind, number)
        for number in range(1, requests + 1)
        for kind in (*CUTS, *(("power",) if number % power_every == 0 else ()))
    ]


def pack(hits: Sequence[Hit], per_life: int) -> list[Life]:
    """Spread faults over as few lives as possible, with a distance between the faults of a life."""
    lives: list[list[Hit]] = [[] for dummy in range(math.ceil(len(hits) / per_life))]
    for hit in sorted(hits, key=lambda hit: hit.request):
        # Each request gets at most one fault.
        free = [life for life in lives if not life or life[-1].request < hit.request]
        if free:
            min(free, key=len).append(hit)
        else:
            lives.append([hit])
    return [tuple(life) for life in lives]


@dataclass
class Outcome:
    """The result of a sweep.

    Args:
        injected: the number of faults that occurred.
        converged: the number of them on servers that converged.
        problems: the problems by server.
        missed: faults that did not occur, because an earlier one had ended the run.
    """

    injected: int = 0
    converged: int = 0
    problems: list[str] = field(default_factory=list)
    missed: list[Hit] = field(default_factory=list)

    def add(self, other: Outcome) -> None:
        """Add the results of another round."""
        self.injected += other.injected
        self.converged += other.converged
        self.problems += other.problems
        self.missed += other.missed


@dataclass(frozen=True)
class Subject:
    """A playbook under test.

    Args:
        playbook: the name of the playbook.
        state: returns the state of a server and its node, to compare it with that of the unharmed server.
        gave_up: returns the hosts for which a run did not finish its work.
        changed: returns what a run changed on a host.
        left: returns the problems that the runs left in the cluster, given whether a controller was killed.
    """

    playbook: str
    state: Callable[[Site, str], Mapping[str, Any]]
    gave_up: Callable[[Site, PlayRun], set[str]]
    changed: Callable[[Site, PlayRun, str], list[str]]
    left: Callable[[Site, bool], list[str]] = lambda _site, _killed: []


def run_playbook(site: Site, playbook: str, *options: str, kill: threading.Event | None = None) -> PlayRun:
    """Run a playbook. If `kill` is set during the run, its processes are killed."""
    if kill is None:
        return site.run(playbook, "--forks", "8", *options, timeout=RUN_SECONDS)
    command = site.command(playbook, "--forks", "8", *options)
    for node in site.world.fleet.nodes.values():
        node.server.counters.reset()
    with (site.folder / "output").open("w+", encoding="utf-8") as output:
        run = subprocess.Popen(
            command, cwd=site.folder, env=site.environment(), stdin=subprocess.DEVNULL, stdout=output,
            stderr=subprocess.STDOUT, start_new_session=True,
        )  # fmt: skip
        with _killer(run, kill):
            run.wait(RUN_SECONDS)
        output.seek(0)
        return site.result(run.returncode, output.read())


@contextlib.contextmanager
def _killer(run: subprocess.Popen[bytes], kill: threading.Event) -> Iterator[None]:
    def wait() -> None:
        kill.wait(RUN_SECONDS)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(run.pid, signal.SIGKILL)

    killer = threading.Thread(target=wait)
    killer.start()
    yield
    kill.set()
    killer.join()


def host_failed(run: PlayRun, host: str) -> bool:
    """Return whether a run failed on a host, could not reach it, or ended without a result for it."""
    counters = run.recap.get(host)
    return counters is None or bool(counters["failed"] or counters["unreachable"])


class Round:
    """One life for each of several servers, and an unharmed server.

    Args:
        site: the site with fresh servers `hurt-0`, `hurt-1`, … and `UNHURT`.
        lives: the lives of `hurt-0`, `hurt-1`, …
        subject: the playbook under test.
    """

    def __init__(self, site: Site, lives: Sequence[Life], subject: Subject) -> None:
        self._site, self._subject = site, subject
        # The dash prevents replacements in base64 data when the names are replaced to compare servers.
        self._lives = {f"hurt-{number}": life for number, life in enumerate(lives)}
        self._hosts = [*self._lives, UNHURT]
        self.requests = 0
        """The number of requests to the unharmed server in the first run."""

    def run(self) -> Outcome:
        """Inject the faults, and check whether the servers converge."""
        for host, life in self._lives.items():
            for hit in life:
                self._site.node(host).server.set_fault(hit.fault(self._site.machine(host)))
        first = run_playbook(self._site, self._subject.playbook)
        self.requests = self._site.counters(UNHURT)["wsman_requests"]
        outcome = Outcome()
        counts = {}
        for host, life in self._lives.items():
            server = self._site.node(host).server
            left = len(server.faults.pending())
            server.faults.clear()
            counts[host] = len(life) - left
            outcome.missed += life[counts[host] :]
        problems = self._finish(first, self._subject.gave_up(self._site, first))
        problems[UNHURT] += self._subject.left(self._site, False)
        self._count(outcome, counts, problems)
        return outcome

    def run_killed(self, request: int) -> Outcome:
        """Kill the controller at a request of the first server, which is a fault for each server."""
        kill = threading.Event()
        self._site.node("hurt-0").server.set_fault(TransportFault("call", request, callback=kill.set))
        first = run_playbook(self._site, self._subject.playbook, kill=kill)
        problems = self._finish(first, set(self._hosts))
        problems[UNHURT] += self._subject.left(self._site, True)
        outcome = Outcome()
        self._count(outcome, dict.fromkeys(self._lives, 1), problems)
        if first.exit_code != -signal.SIGKILL:
            outcome.problems.append(f"the controller ended by itself, with {first.exit_code}")
        return outcome

    def _finish(self, first: PlayRun, unfinished: set[str]) -> dict[str, list[str]]:
        """Run again, twice in a full sweep, and return the problems by host."""
        problems: dict[str, list[str]] = {host: [] for host in self._hosts}
        second = run_playbook(self._site, self._subject.playbook)
        for host in sorted(self._subject.gave_up(self._site, second)):
            problems[host].append(f"the second run failed: {second.messages(host) or second.output[-3000:]}")
        # Read the changes before the next run overwrites the reports.
        self._see_changes(second, [host for host in self._hosts if host not in unfinished], problems)
        # A sample only compares their state with that of the unharmed server, which the second run must not change.
        if unfinished and is_full():
            last = run_playbook(self._site, self._subject.playbook, "--limit", ",".join(sorted(unfinished)))
            self._see_changes(last, sorted(unfinished), problems)
        read_state = functools.partial(self._subject.state, self._site)
        # If a run has failed, its message is more useful than a state that is never reached.
        for host in self._lives if not problems[UNHURT] else ():
            if problems[host]:
                continue
            if different := lasting_differences(
                functools.partial(read_state, host), functools.partial(read_state, UNHURT)
            ):
                problems[host].append(f"another state: {different}")
        return problems

    def _see_changes(self, run: PlayRun, hosts: Sequence[str], problems: dict[str, list[str]]) -> None:
        for host in hosts:
            if changed := self._subject.changed(self._site, run, host):
                problems[host].append(f"a further run changed {changed}")

    def _count(self, outcome: Outcome, counts: Mapping[str, int], problems: Mapping[str, Sequence[str]]) -> None:
        outcome.injected = sum(counts.values())
        outcome.converged = sum(count for host, count in counts.items() if not problems[host])
        for host, found in problems.items():
            life = ", ".join(map(str, self._lives.get(host, (UNHURT,))))
            outcome.problems += [f"{host} ({life}): {text}" for text in found]


def differences(found: Any, expected: Any, path: str = "") -> list[str]:
    """Return the differences of two values, each as `PATH: FOUND != EXPECTED`."""
    if isinstance(found, Mapping) and isinstance(expected, Mapping):
        keys = sorted({*found, *expected}, key=str)
        return [text for key in keys for text in differences(found.get(key), expected.get(key), f"{path}/{key}")]
    if found == expected:
        return []
    texts = [str(found), str(expected)]
    apart = next((place for place, pair in enumerate(zip(*texts, strict=False)) if pair[0] != pair[1]), 0)
    begin = max(0, apart - 40)
    return [f"{path}: {texts[0][begin : begin + 300]} != {texts[1][begin : begin + 300]}"]


def lasting_differences(
    found: Callable[[], Mapping[str, Any]], requested: Callable[[], Mapping[str, Any]], seconds: float = 60
) -> list[str]:
    """Return the lasting differences of two states: kubelets and pods do some of their work after a run."""
    end = time.monotonic() + seconds
    while (different := differences(found(), requested())) and time.monotonic() < end:
        time.sleep(1)
    return different


Start = Callable[[Sequence[str]], contextlib.AbstractContextManager[Site]]
"""Starts a site with servers of these names."""


def chosen_connections(turn: int) -> list[str]:
    """Return both connections for a full sweep, one for a sample.

    Args:
        turn: sweeps with different values use different connections for their samples.
    """
    return [*CONNECTIONS] if is_full() else [CONNECTIONS[(seed() + turn) % len(CONNECTIONS)]]


def connections(turn: int) -> list[Any]:
    """Return the connections of a sweep as parameters of a test; see `chosen_connections`."""
    chosen = chosen_connections(turn)
    # Separate groups, so that two workers share a full sweep.
    return [pytest.param(name, marks=pytest.mark.xdist_group(f"sweep-{turn}-{name}")) for name in chosen]


@dataclass(frozen=True)
class PlaybookSweep:
    """A sweep over the runs of a playbook.

    Args:
        sweep: the fixture.
        start: see `Start`.
        subject: the playbook under test.
        about: the approximate number of requests to a server in a run, for a sample; a full sweep counts them.
        connection: the connection to the servers.
        per_life: the number of faults per server.
    """

    sweep: Sweeps
    start: Start
    subject: Subject
    about: int
    connection: str
    per_life: int = 8

    def run(self, sample: int) -> None:
        """Inject faults at all points, or at a sample of this size, and report.

        Raises:
            AssertionError: there are problems.
        """
        name = f"{self.subject.playbook}:{self.connection}"
        requests = self._count() if is_full() else self.about
        points = all_hits(requests, POWER_EVERY)
        hits = self.sweep.choose(name, points, sample, by=lambda hit: hit.kind)
        found = self._hit(pack(hits, self.per_life))
        if is_full():
            # Missed faults came after one that ended the run. Now each gets its own server.
            found.add(self._hit([(hit,) for hit in found.missed]))
            for number in range(1, KILLS + 1):
                with self._site(KILLED) as site:
                    lives: list[Life] = [()] * KILLED
                    found.add(Round(site, lives, self.subject).run_killed(requests * number // (KILLS + 1)))
        self.sweep.report(name, injected=found.injected, converged=found.converged)
        assert not found.problems, "\n".join(found.problems)
        assert found.injected == found.converged > 0, "some faults did not hit, or some servers did not converge"

    def _count(self) -> int:
        with self._site(0) as site:
            run_playbook(site, self.subject.playbook).expect()
            return site.counters(UNHURT)["wsman_requests"]

    def _hit(self, lives: Sequence[Life]) -> Outcome:
        found = Outcome()
        for begin in range(0, len(lives), AT_ONCE):
            chosen = lives[begin : begin + AT_ONCE]
            with self._site(len(chosen)) as site:
                found.add(Round(site, chosen, self.subject).run())
        return found

    def _site(self, hurt: int) -> contextlib.AbstractContextManager[Site]:
        return self.start([*(f"hurt-{number}" for number in range(hurt)), UNHURT])
