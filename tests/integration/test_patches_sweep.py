# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The connection or the power is cut at every request of a patch run: the next run ends in the state without faults.

The patches are a public update by Windows Update and a file that needs a reboot; a disabled service has to be disabled
again at the end. The runs use psrp and winrm in this process. Every machine gets one fault.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from integration.networks import free_network
from integration.patching import WUAUSERV, Files, fleet_of, install, no_pauses, settings, state, statuses
from integration.sweeps import Sweeps

from simulator.fleet import Fleet
from simulator.machine.machine import Machine
from simulator.transport.faults import TransportFault
from simulator.windows.updates.update_catalogue import Update

pytestmark = [
    pytest.mark.integration,
    pytest.mark.slow,
    pytest.mark.sweep,
    pytest.mark.xdist_group("patches_sweep"),
    pytest.mark.usefixtures("no_pauses"),
]
__all__ = ["no_pauses"]

PUBLIC = "KB5048654"
FILE = Update("KB5999002", builds=(20348,), reboots=1)
BATCHES = r"C:\ProgramData\winkube\batches"
AT_ONCE, WORKERS, SAMPLE = 24, 8, 10


@dataclass(frozen=True)
class Cut:
    """One fault at one request of a run. With `gone` the connection stays down until the run has given up."""

    connection: str
    kind: str
    request: int

    def fault(self, machine: Machine) -> TransportFault:
        if self.kind == "power":
            reset = threading.Thread(target=machine.power.reset, daemon=True)
            return TransportFault("call", self.request, callback=reset.start)
        if self.kind == "gone":
            return TransportFault("link_down", self.request, seconds=4.0)
        return TransportFault(self.kind, self.request)

    @property
    def reconnect_timeout(self) -> int:
        return 1 if self.kind == "gone" else 60


KINDS = ("before", "after", "during", "power", "gone")


def cuts(requests: dict[str, int]) -> list[Cut]:
    """Return every kind of cut for every request over every connection."""
    return [
        Cut(connection, kind, number)
        for connection, count in requests.items()
        for number in range(1, count + 1)
        for kind in KINDS
    ]


def make(fleet: Fleet, name: str) -> Machine:
    machine = fleet.machine(name)
    machine.registry.write(WUAUSERV, {"Start": 4})
    return machine


@pytest.fixture
def start() -> Iterator[Callable[[int], Fleet]]:
    """Yield a function that starts a number of servers in a separate network."""
    started: list[Fleet] = []

    def start(count: int) -> Fleet:
        network = free_network()
        offers = {"offers": [PUBLIC]}
        entries = [settings(f"N{n}", f"{network}.{n}", windows_update=offers) for n in range(1, count + 1)]
        started.append(fleet_of(*entries))
        started[-1].start()
        return started[-1]

    yield start
    for fleet in started:
        fleet.stop()


def test_every_cut_is_survived(start: Callable[[int], Fleet], tmp_path: Path, sweep: Sweeps) -> None:
    files = Files(f"{free_network()}.250", tmp_path)
    requested: list[Any] = [PUBLIC, files.add(FILE)]
    unhurt = start(2)
    requests: dict[str, int] = {}
    for name, connection in (("N1", "psrp"), ("N2", "winrm")):
        result = install(make(unhurt, name), requested, connection=connection)
        assert set(statuses(result).values()) == {"installed"}, result
        requests[connection] = unhurt.nodes[name].server.counters.snapshot()["wsman_requests"]
    aim = state(unhurt.machine("N1"))
    assert aim == state(unhurt.machine("N2"))
    assert (aim["wuauserv"], aim["marker"], aim["files"]) == (4, [], [])

    possible = cuts(requests)
    assert len(possible) >= 2 * max(requests.values())
    planned = sweep.choose("patch_install", possible, SAMPLE, by=lambda cut: (cut.connection, cut.kind))

    def hurt(cut: Cut, place: tuple[Fleet, str]) -> str:
        """Run with a fault and then again, and return the problems."""
        fleet, name = place
        machine, server = make(fleet, name), fleet.nodes[name].server
        server.set_fault(cut.fault(machine))
        first = install(machine, requested, connection=cut.connection, reconnect_timeout=cut.reconnect_timeout)
        hit = not server.faults.pending()
        server.faults.clear()
        second = install(machine, requested, connection=cut.connection)
        # If the run with the fault completed its work, the second run is already the additional one.
        rested = second["remote_commands"] == 1
        third = second if rested else install(machine, requested, connection=cut.connection)
        left = [entry.path for entry in machine.files.listing(BATCHES)]
        problems = {
            "the cut missed": not hit,
            "not installed": set(statuses(second).values()) != {"installed"},
            "another state": state(machine) != aim,
            "not at rest": third["changed"] or third.get("failed") or third["remote_commands"] != 1,
            f"left behind {left}": bool(left),
        }
        wrong = [text for text, bad in problems.items() if bad]
        return f"{cut}: {wrong}; first {first.get('msg')}; second {second.get('msg')}" if wrong else ""

    with ThreadPoolExecutor(WORKERS) as pool:
        tasks = []
        for begin in range(0, len(planned), AT_ONCE):
            chosen = planned[begin : begin + AT_ONCE]
            # They boot while faults are injected into the machines before them.
            fleet = start(len(chosen))
            tasks += [pool.submit(hurt, cut, (fleet, name)) for cut, name in zip(chosen, fleet.nodes, strict=True)]
        found = [task.result() for task in tasks]
    files.stop()
    wrong = [text for text in found if text]
    sweep.report("patch_install", injected=len(planned), converged=len(planned) - len(wrong))
    assert wrong == []
