# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Fault sweeps over actions: one fault per server, at a request or inside the work of a program.

For sweeps over whole playbooks, see fault_lives.py.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from integration import joined_nodes
from integration.actions import connect, run_action
from integration.fault_lives import CUTS
from integration.networks import free_network
from integration.playbooks import Site, describe

from simulator.machine.machine import Machine
from simulator.transport.faults import TransportFault
from simulator.world import World

AT_ONCE, WORKERS = 20, 6
"""The number of servers at a time, and of threads that run actions on them."""
Result = TypeVar("Result")
Watch = Callable[[Machine, Callable[[int], None]], None]
"""Makes a machine call back with 1, 2, … after each step at which a fault can occur inside the work of a program."""


@dataclass(frozen=True)
class Point:
    """One fault: `before`, `during`, `after` or `power` at a request, or power cut `inside` the work of a program."""

    connection: str
    kind: str
    number: int


def all_points(requests: Mapping[str, int], inside: int) -> list[Point]:
    """Return all points of a sweep.

    Args:
        requests: the number of requests by connection.
        inside: the number of steps inside the work of a program.
    """
    return [
        Point(connection, kind, number)
        for connection, count in requests.items()
        for kind, last in (*((cut, count) for cut in CUTS), ("power", count), ("inside", inside))
        for number in range(1, last + 1)
    ]


def set_fault(site: Site, host: str, point: Point, watch: Watch) -> threading.Event:
    """Set the fault for a server, and return an event that is set when the fault has occurred."""
    machine, hit = site.machine(host), threading.Event()

    def press() -> None:
        hit.set()
        threading.Thread(target=machine.power.reset, daemon=True).start()

    if point.kind == "inside":
        watch(machine, lambda number: press() if number == point.number else None)
        return hit
    fault = TransportFault("call", point.number, callback=press)
    site.node(host).server.set_fault(
        fault if point.kind == "power" else TransportFault(point.kind, point.number, callback=hit.set)
    )
    return hit


def attempt(site: Site, host: str, connection: str, name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Run an action like a task, and return its result. As in a worker of Ansible, any exception is a failed task."""
    with connect(site.machine(host), connection) as link:
        try:
            return run_action(link, name, arguments, host=host)
        except Exception as error:
            return {"failed": True, "msg": str(error)}


def failures(result: Mapping[str, Any]) -> list[str]:
    """Return the message of a task that failed or did not reach its host."""
    return [str(result.get("msg"))] if result.get("failed") or result.get("unreachable") else []


@contextlib.contextmanager
def fleet(folder: Path, count: int, kind: str = "memory") -> Iterator[tuple[Site, list[str]]]:
    """Yield a site with a cluster of a kind and servers hurt-0, hurt-1, …, and their names."""
    # The dash prevents replacements in base64 data when the names are replaced to compare servers.
    hosts = [f"hurt-{number}" for number in range(count)]
    servers = [joined_nodes.server(host, reboot_seconds=0.1) for host in hosts]
    with World(describe(servers, free_network(), {"kind": kind}), folder / "fleet") as world:
        yield Site(world, folder / "controller"), hosts


def in_groups(
    folder: Path, points: Sequence[Point], sweep: Callable[[Path, Sequence[Point]], list[Result]]
) -> list[Result]:
    """Inject faults at a few points at a time, and return the results in the order of the points."""
    found: list[Result] = []
    for begin in range(0, len(points), AT_ONCE):
        found += sweep(folder / str(begin), points[begin : begin + AT_ONCE])
    return found
