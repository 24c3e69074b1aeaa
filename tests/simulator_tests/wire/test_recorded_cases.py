# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A simulated server answers batches as a real PowerShell did; see tests/wire_cases/README.md."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from queue import SimpleQueue

import pytest
from wire_cases import agreement, recorded
from wire_cases.on_simulator import SimulatedNode

from simulator.machine import families
from simulator.machine.machine import Machine
from simulator.machine.settings import Settings

pytestmark = pytest.mark.waits
NODES = 6
"""How many cases run side by side: most of their time they wait."""


@pytest.fixture(scope="module")
def nodes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[SimulatedNode]]:
    """Simulated servers with PowerShell 7, which the cases were recorded with."""
    offered = families.load([*families.NAMES, "wire_cases.stand_ins"])
    folder = tmp_path_factory.mktemp("recorded")
    machines: list[Machine] = []
    for number in range(NODES):
        entry = {"name": f"win-{number}", "address": "127.0.0.1", "reboot_seconds": 0.05, "time_scale": 0.001}
        settings = Settings.read({**entry, "powershell": recorded.POWERSHELL})
        machines.append(Machine(settings, folder / f"win-{number}", offered))
        machines[-1].power_on()
    yield [SimulatedNode(machine) for machine in machines]
    for machine in machines:
        machine.power.power_off()


@pytest.mark.parametrize("name", ["own", "cases", "registry", "file-cmdlets", "names", "open-files"])
def test_simulator_answers_as_powershell_did(
    name: str, nodes: list[SimulatedNode], record_property: Callable[[str, object], None]
) -> None:
    free: SimpleQueue[SimulatedNode] = SimpleQueue()
    for node in nodes:
        free.put(node)

    def run(case: recorded.Case) -> list[str]:
        node = free.get()
        try:
            return recorded.differences(case, node, node.hold)
        finally:
            free.put(node)

    cases = list(recorded.read(name))
    with ThreadPoolExecutor(NODES) as pool:
        found = dict(zip([case.name for case in cases], pool.map(run, cases), strict=True))
    differing = {case: differences for case, differences in found.items() if differences}
    record_property(agreement.TALLY.property, [f"recorded cases, {name}", len(cases) - len(differing), len(cases)])
    listed = agreement.listed(name)
    news = {case: differences for case, differences in differing.items() if case not in listed}
    assert not news, json.dumps(news, indent=2, ensure_ascii=False)
    assert sorted(set(listed) - set(differing)) == [], "these agree: take them out of disagreements.json"
