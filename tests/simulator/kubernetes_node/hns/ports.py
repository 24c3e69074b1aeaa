# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""HNS's port pools: ranges of 64 ephemeral ports that networks and load balancers without DSR reserve.

A pool is released with a delay after its owner is removed. AgentBaker (cleanupnetwork.ps1) waits 10 to 60 seconds
before it creates a network again. `netsh interface ipv4 show excludedportrange` lists the pools. collectlogs.ps1 of
microsoft/SDN counts how many further ranges of 64 ports fit between these pools.
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
SECONDS = 10.0  # seconds of Windows' time until a pool is released


@dataclass
class Pools:
    """Bookkeeping for HNS's port pools. The ranges themselves are in PortRanges.

    Args:
        networks: the ids of removed networks whose pools might still be reserved.
        too_early: the number of external networks created while the pool of a removed network was still reserved.
    """

    networks: set[str] = field(default_factory=set)
    too_early: int = 0


def reserve(machine: Machine, owner: str) -> None:
    """Reserve a port pool for a network or load balancer, unless it already has one.

    Raises:
        HnsError: no ephemeral ports are left.
    """
    reservations = machine.part(PortRanges).current()
    if owner in reservations:
        reservations[owner].until = None
        return
    taken = {pool.first for pool in reservations.values()}
    start = next((first for first in range(FIRST, LAST - SIZE + 2, SIZE) if first not in taken), 0)
    if not start:
        # The error in kube-proxy's log when no ephemeral ports are left.
        raise HnsError("CreateLoadBalancer", PORT_EXISTS)
    reservations[owner] = Reservation(start, start + SIZE - 1)


def release(machine: Machine, owner: str, *, network: bool = False) -> None:
    """Release the port pool of a removed network or load balancer after a delay."""
    seconds = machine.settings.option("port_pool_seconds", SECONDS)
    wait = float(seconds) if isinstance(seconds, (int, float)) else SECONDS
    pool = machine.part(PortRanges).current().get(owner)
    if pool:
        pool.until = time.monotonic() + wait * machine.settings.time_scale
        if network:
            machine.part(Pools).networks.add(owner)


def note_creation(machine: Machine, network: Network) -> None:
    """Increase `Pools.too_early` if an external network is created before a removed network's pools are released."""
    pools = machine.part(Pools)
    pools.networks &= machine.part(PortRanges).current().keys()
    if network.external and pools.networks:
        pools.too_early += 1


def restarted(machine: Machine, owners: set[str]) -> None:
    """After a restart of the hns service or the machine, release the port pools whose owners no longer exist."""
    ranges = machine.part(PortRanges)
    ranges.reserved = {owner: pool for owner, pool in ranges.reserved.items() if owner in owners}


def status(machine: Machine) -> dict[str, object]:
    """Return the state of HNS's port pools for the simulator's status page."""
    reservations = machine.part(PortRanges).current()
    return {
        "reserved": {owner: [pool.first, pool.last] for owner, pool in reservations.items()},
        "releasing": sorted(owner for owner, pool in reservations.items() if pool.until is not None),
        "networks_made_too_early": machine.part(Pools).too_early,
    }
