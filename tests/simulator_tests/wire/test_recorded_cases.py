# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Batches have the same results on a simulated server as with a real PowerShell; see tests/wire_cases/README.md."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from queue import SimpleQueue

import pytest
from wire_cases import agreement, recorded
from wire_cases.on_simulator import SimulatedNode

from simulator.machine import families
from simulator.machine.machine import Machine
from simulator.machine.settings import MachineSettings

pytestmark = pytest.mark.waits
NODES = 12
"""The number of cases that run in parallel, because they wait most of the time."""


@pytest.fixture(scope="module")
def nodes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[SimulatedNode]]:
    """Start simulated servers with PowerShell 7, with which the cases were recorded."""
    offered = families.load([*families.names(), "wire_cases.stand_ins"])
    folder = tmp_path_factory.mktemp("recorded")
    machines: list[Machine] = []
    for number in range(NODES):
        entry = {"name": f"win-{number}", "address": "127.0.0.1", "reboot_seconds": 0.05, "time_scale": 0.001}
        settings = MachineSettings.read({**entry, "powershell": recorded.POWERSHELL})
        machines.append(Machine(settings, folder / f"win-{number}", offered))
        machines[-1].power_on()
    yield [SimulatedNode(machine) for machine in machines]
    for machine in machines:
        machine.power.power_off()


@pytest.mark.parametrize("name", agreement.COUNTS)
def test_simulator_answers_as_powershell_did(
    name: str, nodes: list[SimulatedNode], record_property: Callable[[str, object], None]
) -> None:
    free: SimpleQueue[SimulatedNode] = SimpleQueue()
    for node in nodes:
        free.put(node)

    def run(case: recorded.Case) -> list[str]:
        node = free.get()
        try:
            return recorded.run(case, node, node.hold)
        finally:
            free.put(node)

    cases = list(recorded.read(name))
    with ThreadPoolExecutor(NODES) as pool:
        found = dict(zip([case.name for case in cases], pool.map(run, cases), strict=True))
    agreement.record(name, found, record_property)
    assert len(found) == agreement.COUNTS[name], "a case is missing, or two have the same id"
    agreement.check(name, found, ["simulator"])


@pytest.mark.parametrize("back_ends", [["simulator"], ["windows"], ["windows", "5.1"]])
def test_one_recorded_case_in_a_hundred_may_differ_and_each_exists(back_ends: list[str]) -> None:
    names = set(agreement.COUNTS) - agreement.BY_HAND
    listed = {name: agreement.listed(name, back_ends) for name in agreement.COUNTS}
    for name, cases in listed.items():
        assert set(cases) <= {case.name for case in recorded.read(name)}, name
    assert not any(listed[name] for name in agreement.BY_HAND), "these follow docs/wire.md: mend whichever is wrong"
    allowed = agreement.MAX_SHARE * sum(agreement.COUNTS[name] for name in names)
    assert sum(len(listed[name]) for name in names) <= allowed


def test_a_case_that_raises_differs_and_is_counted() -> None:
    class Broken:
        program = ""

        def prepare(self, before: recorded.Tree) -> None:
            raise OverflowError("too large")

    properties: list[tuple[str, object]] = []
    (case, *_others) = recorded.read("own")
    found = {"agrees": [], case.name: recorded.run(case, Broken())}  # type: ignore[arg-type]  # the rest is never called
    assert found[case.name] == ["OverflowError: too large"]
    agreement.record("cases", found, lambda *one: properties.append(one))
    agreement.record("own", found, lambda *one: properties.append(one))
    assert properties == [
        ("recorded_cases", ["recorded cases, cases", 1, 2]),
        ("cases_by_hand", ["cases written by hand, own", 1, 2]),
    ]


def test_recorded_differences_are_exactly_the_listed_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agreement, "listed", lambda *_asked: {"a": "why", "b": "why"})
    agreement.check("cases", {"a": ["differs"], "c": []}, ["simulator"])
    with pytest.raises(AssertionError, match=r"take them out of disagreements.json: \['a'\]"):
        agreement.check("cases", {"a": [], "c": []}, ["simulator"])
    with pytest.raises(AssertionError, match='"c"'):
        agreement.check("cases", {"a": ["differs"], "c": ["differs"]}, ["simulator"])
