# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The network adapter behind external HNS networks, with two faults that POST /simulator/faults sets.

{"kind": "adapter_taken", "by": "LAN switch"}    a Hyper-V switch or another product uses the adapter, so HNS finds no
                                                 adapter for an external network (microsoft/SDN#194, #269)
{"kind": "no_management_ip"}                     HNS does not learn the adapter's address, so external networks have
                                                 no management IP (flannel-io/flannel#1066)

`"value": false` ends a fault. Several external networks can share an adapter, because HNS puts them on one switch.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from simulator.kubernetes_node.hns.objects import ADAPTER_NOT_FOUND, HnsError, Network
from simulator.windows.networking.network_state import uplink

if TYPE_CHECKING:
    from simulator.machine.machine import Machine


@dataclass
class Adapter:
    """The state of the adapter's faults.

    Args:
        owner: the product that uses the adapter; empty if HNS can use the adapter.
        unaddressed: whether the fault `no_management_ip` is active, in which HNS does not learn the adapter's address.
    """

    owner: str = ""
    unaddressed: bool = False


def require(machine: Machine, network: Network, api: int) -> None:
    """Raise HnsError if a network is external and another product uses the adapter."""
    if network.external and machine.part(Adapter).owner:
        raise HnsError("CreateNetwork", ADAPTER_NOT_FOUND, api)


def management_ip(machine: Machine) -> str:
    """Return the management IP of the external networks, or an empty string if HNS does not know the address."""
    return "" if machine.part(Adapter).unaddressed else uplink(machine).address


def _take(machine: Machine, fault: Mapping[str, object]) -> None:
    ends = fault.get("value", True) is False
    machine.part(Adapter).owner = "" if ends else str(fault.get("by") or "another virtual switch")


def _forget(machine: Machine, fault: Mapping[str, object]) -> None:
    machine.part(Adapter).unaddressed = fault.get("value", True) is not False


FAULTS = {"adapter_taken": _take, "no_management_ip": _forget}
