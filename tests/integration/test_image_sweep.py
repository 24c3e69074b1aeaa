# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The connection or the power is cut at every request of the end of a build.

The build never succeeds with a broken image: if the task succeeds, or the machine is off, the machine is generalized,
prepared for its first boot, and closed. A build that failed is repeated, and then ends like one without a fault.
"""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import pytest
from integration.actions import connect, run_action
from integration.networks import free_network
from integration.patching import no_pauses
from integration.sweeps import Sweeps

from ansible_collections.winkube.node.plugins.plugin_utils.lifecycle import sealing
from simulator.fleet import Fleet
from simulator.machine import certificate_store
from simulator.machine.machine import GENERALIZED, SETUP_STATE, Machine
from simulator.machine.settings import MachineSettings
from simulator.transport.faults import TransportFault
from simulator.windows.system.task_parts import Tasks

__all__ = ["no_pauses"]

KINDS = ("before", "during", "after", "power")
SAMPLE, WORKERS = 4, 4
OPTIONS = {"timeout": 60, "reconnect_timeout": 20}

pytestmark = [
    pytest.mark.integration,
    pytest.mark.slow,
    pytest.mark.sweep,
    pytest.mark.xdist_group("image_sweep"),
    pytest.mark.usefixtures("no_pauses"),
]


@dataclass(frozen=True)
class ImagePoint:
    """One fault at one request."""

    kind: str
    request: int


class Builds:
    """Machines whose builds end, each with its own fault."""

    def __init__(self) -> None:
        self._network, self._used = free_network(), 10

    def start(self, count: int) -> Fleet:
        """Return a fleet with this number of new machines."""
        first, self._used = self._used + 1, self._used + count
        return Fleet(
            [
                MachineSettings.read({"name": f"BUILD-{number}", "address": f"{self._network}.{number}",
                               "time_scale": 0.01, "reboot_seconds": 0.1, "sysprep_seconds": 0.3})
                for number in range(first, first + count)
            ]
        )  # fmt: skip


def build(machine: Machine) -> dict[str, Any]:
    """Run the end of a build once. As in a worker of Ansible, any exception is a failed task."""
    with connect(machine, "psrp") as connection:
        try:
            return run_action(connection, "sysprep", OPTIONS)
        except Exception as error:
            return {"failed": True, "msg": str(error)}


def ended(result: dict[str, Any]) -> bool:
    return not (result.get("failed") or result.get("unreachable"))


def broken(machine: Machine) -> str:
    """Return what is wrong with the image of a machine that is off; empty if nothing is."""
    if machine.registry.data(SETUP_STATE, "ImageState") != GENERALIZED:
        return "not generalized"
    if "\\winkube-first-boot" not in machine.part(Tasks).tasks:
        return "not prepared for its first boot"
    return "has a certificate" if certificate_store.certificates(machine, "My") else ""


def wait_until_off(machine: Machine, seconds: float = 30) -> bool:
    end = time.monotonic() + seconds
    while machine.power.state != "off" and time.monotonic() < end:
        time.sleep(0.05)
    return machine.power.state == "off"


def survive(fleet: Fleet, name: str, point: ImagePoint) -> str:
    """Inject one fault, repeat the build if it failed, and return what is wrong in the end."""
    machine, server = fleet.machine(name), fleet.nodes[name].server
    kind = "call" if point.kind == "power" else point.kind
    callback = machine.power.reset if point.kind == "power" else None
    server.set_fault(TransportFault(kind, point.request, callback=callback))
    for dummy in range(3):
        result = build(machine)
        if ended(result) or machine.power.state == "off":
            break
    else:
        return f"{point}: {result.get('msg')}"
    if not wait_until_off(machine):
        return f"{point}: the machine is not off"
    wrong = broken(machine)
    return f"{point}: {wrong}" if wrong else ""


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shorten the pauses of the batch on the node."""
    monkeypatch.setattr(sealing, "_BETWEEN", 0.2)
    monkeypatch.setattr(sealing, "_PAUSE", 0.3)


def test_no_fault_at_the_end_of_a_build_makes_a_broken_image(sweep: Sweeps) -> None:
    builds = Builds()
    with builds.start(1) as fleet:
        (name,) = fleet.nodes
        assert ended(build(fleet.machine(name)))
        assert wait_until_off(fleet.machine(name))
        assert broken(fleet.machine(name)) == ""
        requests = int(fleet.nodes[name].server.counters.snapshot()["wsman_requests"])
    points = [ImagePoint(kind, request) for kind in KINDS for request in range(1, requests + 1)]
    chosen = sweep.choose("image", points, SAMPLE, by=lambda point: point.kind)
    wrong: list[str] = []
    for begin in range(0, len(chosen), 20):
        group = chosen[begin : begin + 20]
        with builds.start(len(group)) as fleet, ThreadPoolExecutor(WORKERS) as pool:
            wrong += filter(None, pool.map(survive, [fleet] * len(group), fleet.nodes, group))
    sweep.report("image", injected=len(chosen), converged=len(chosen) - len(wrong))
    assert wrong == []
