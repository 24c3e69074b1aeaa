# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Create Calico's HNS network, and the node's endpoint in it.

calico-node and the CNI plugin run the same code. Both create the `Calico` network, or replace an existing network that
does not match.

Source: cni-plugin/pkg/dataplane/windows/dataplane_windows.go.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from simulator.kubernetes_node import hns
from simulator.kubernetes_node.cni.calico.environment import CalicoError
from simulator.kubernetes_node.hns.adapters import management_ip
from simulator.kubernetes_node.hns.policies import normalize
from simulator.windows.networking.network_state import state_of

if TYPE_CHECKING:
    from simulator.machine.machine import Machine

NAME = "Calico"
EXTERNAL = "External"
DEFAULT_VNI = 4096
ROUTER_MAC = "00-15-5D-00-00-01"
Log = Callable[[str, str], object]


def ensure(machine: Machine, mode: str, block: ipaddress.IPv4Network, vni: int, log: Log) -> hns.Network:
    """Create Calico's HNS network and the node's endpoint in it. Existing objects that do not match are replaced.

    Args:
        machine: the node's machine.
        mode: `vxlan` for an overlay network, or any other value for an L2Bridge network.
        block: the node's block of pod addresses.
        vni: the VXLAN network identifier in the configuration, or 0 for the default.
        log: a function that writes a message of a given level to the caller's log.

    Returns:
        The HNS network.

    Raises:
        CalicoError: HNS refuses the network or the endpoint, the VNI is too small, or the node has no management IP
            address.
    """
    try:
        if mode == "vxlan":
            return _vxlan(machine, block, vni, log)
        return _l2bridge(machine, block, log)
    except hns.HnsError as error:
        log("ERROR", f"Unable to create hns network {NAME}")
        raise CalicoError(str(error)) from error


def _vxlan(machine: Machine, block: ipaddress.IPv4Network, vni: int, log: Log) -> hns.Network:
    if vni and vni < DEFAULT_VNI:
        log("ERROR", f"Unable to create hns network {NAME}")
        raise CalicoError("Windows does not support VXLANVNI < 4096")
    network = _network(machine, "Overlay", block, vni or DEFAULT_VNI, log)
    if not management_ip(machine):
        log("ERROR", f"Unable to create hns network {NAME}")
        raise CalicoError(f"timeout, failed to get management IP from HNSNetwork {NAME}")
    if not any(item.get("Type") == "HostRoute" for item in network.policies):
        network.policies.append({"Type": "HostRoute", "Settings": {}})
    _remote_endpoint(machine, network, str(block[2]), log)
    return network


def _network(machine: Machine, kind: str, block: ipaddress.IPv4Network, vni: int, log: Log) -> hns.Network:
    """Return the HNS network, and create it if it does not exist.

    A network with a different subnet or gateway is replaced. With VXLAN, a network of a different type is also
    replaced.
    """
    store = hns.store(machine)
    known = store.network_named(NAME)
    if known and (known.subnet, known.gateway) == (str(block), str(block[1])) and (known.kind == kind or not vni):
        log("INFO", f"Found existing HNS network [{NAME}]")
        return known
    if known:
        delete(machine, known)
        log("INFO", f"Deleted stale HNS network [{NAME}]")
    log("INFO", f"Attempting to create HNS network {NAME}")
    created = store.create_network(NAME, kind, str(block), str(block[1]), vni, api=1)
    log("INFO", f"Created HNS network {NAME}")
    return created


def delete(machine: Machine, network: hns.Network) -> None:
    """Delete a network and its endpoints, as HNS's first API does.

    Raises:
        hns.HnsError: HNS refuses to delete one of these objects.
    """
    store = hns.store(machine)
    for endpoint in store.endpoints():
        if endpoint.network == network.id:
            store.remove_endpoint(endpoint.id)
    store.remove_network(network.id)


def _remote_endpoint(machine: Machine, network: hns.Network, address: str, log: Log) -> None:
    """Create `Calico_ep`, the remote endpoint whose address kube-proxy uses as its source address."""
    store, name, provider = hns.store(machine), f"{NAME}_ep", management_ip(machine)
    policy: dict[str, Any] = {"Type": "PA", "PA": provider}
    for known in [item for item in store.endpoints() if item.name == name]:
        if known.network == network.id and policy in known.policies:
            log("INFO", f"Found existing remote HNSEndpoint {name}")
            return
        store.remove_endpoint(known.id)
        log("INFO", f"Deleted stale HNSEndpoint {name}")
    wiring = hns.Wiring(normalize([policy], 1), api=1)
    store.add_endpoint(name, network.id, address, remote=True, wiring=wiring)
    log("INFO", f"Created HNSEndpoint {name}")


def _l2bridge(machine: Machine, block: ipaddress.IPv4Network, log: Log) -> hns.Network:
    network = _network(machine, "L2Bridge", block, 0, log)
    store, name = hns.store(machine), f"{NAME}_ep"
    known = next((item for item in store.endpoints() if item.name == name), None)
    if known and known.address != str(block[2]):
        store.remove_endpoint(known.id)
        log("INFO", f"Deleted stale bridge endpoint [{name}]")
        known = None
    if known is None:
        store.add_endpoint(name, network.id, str(block[2]), wiring=hns.Wiring(api=1))
        log("INFO", f"Created bridge endpoint [{name}], and attached it to the host")
    if not management_ip(machine):
        raise CalicoError(f"timed out waiting for interface matching the management IP () of network {NAME}")
    for interface in state_of(machine).interfaces.values():
        if interface.address in (management_ip(machine), str(block[2])):
            interface.forwarding = True
    return network
