# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""HNS's port pools: ranges of 64 ephemeral ports that networks and load balancers without DSR reserve.

They are released some time after their owner is gone; AgentBaker (cleanupnetwork.ps1) waits 10 to 60 seconds for it
before a network is made anew. `netsh interface ipv4 show excludedportrange` shows them (microsoft/SDN collectlogs.ps1
counts the room for ranges of 64 ports left between them).
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from simulator.kubernetes_node.hns.objects import PORT_EXISTS, HnsError, Network
from simulator.windows.networking.port_ranges import FIRST, LAST, PortRanges, Reservation

if TYPE_CHECKING:
    from simulator.machine.machine import Machine

SIZE = 64
SECONDS = 10.0  # of Windows' time, until a pool is released


@dataclass
class Pools:
    """What is known of the pools beside their ranges.

    Args:
        networks: owners that are networks.
        too_early: how many external networks were made while pools of a removed network were still held.
    """

    networks: set[str] = field(default_factory=set)
    too_early: int = 0


def reserve(machine: Machine, owner: str) -> None:
    """Reserve a pool for a network or load balancer; one that has a pool keeps it. Raises HnsError."""
    held = machine.part(PortRanges).held()
    if owner in held:
        held[owner].until = None
        return
    taken = {pool.first for pool in held.values()}
    start = next((first for first in range(FIRST, LAST - SIZE + 2, SIZE) if first not in taken), 0)
    if not start:
        # What kube-proxy's log says when the ephemeral ports are used up.
        raise HnsError("CreateLoadBalancer", PORT_EXISTS)
    held[owner] = Reservation(start, start + SIZE - 1)


def release(machine: Machine, owner: str, *, network: bool = False) -> None:
    """Give a pool back: it is held for a while yet."""
    seconds = machine.settings.option("port_pool_seconds", SECONDS)
    wait = float(seconds) if isinstance(seconds, (int, float)) else SECONDS
    pool = machine.part(PortRanges).held().get(owner)
    if pool:
        pool.until = time.monotonic() + wait * machine.settings.time_scale
        if network:
            machine.part(Pools).networks.add(owner)


def note_creation(machine: Machine, network: Network) -> None:
    """Count a network that is made while the pools of a removed one are still held."""
    pools = machine.part(Pools)
    pools.networks &= machine.part(PortRanges).held().keys()
    if network.external and pools.networks:
        pools.too_early += 1


def restarted(machine: Machine, owners: set[str]) -> None:
    """A restart of the service or the machine releases what nobody owns any more."""
    ranges = machine.part(PortRanges)
    ranges.reserved = {owner: pool for owner, pool in ranges.reserved.items() if owner in owners}


def status(machine: Machine) -> dict[str, object]:
    """Return what the status page says."""
    held = machine.part(PortRanges).held()
    return {
        "reserved": {owner: [pool.first, pool.last] for owner, pool in held.items()},
        "releasing": sorted(owner for owner, pool in held.items() if pool.until is not None),
        "networks_made_too_early": machine.part(Pools).too_early,
    }
