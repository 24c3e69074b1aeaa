# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Create the HNS network of flanneld: an L2Bridge for host-gw, or an Overlay for vxlan.

A network with the same name but different settings is deleted, no matter which program created it. The overlay is not
persistent, so flanneld creates it again after a reboot.

Sources: flannel-io/flannel pkg/backend/hostgw/hostgw_windows.go, pkg/backend/vxlan/vxlan_windows.go and
device_windows.go, pkg/backend/manager.go.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from simulator.kubernetes_node import hns
from simulator.kubernetes_node.hns.adapters import management_ip
from simulator.kubernetes_node.hns.objects import NON_PERSISTENT
from simulator.windows.networking.network_state import state_of

if TYPE_CHECKING:
    from simulator.machine.machine import Machine

VNI, PORT, MAC_PREFIX = 4096, 4789, "0E-2A"
NAT = (
    "your PublicIP differs from interface IP, meaning that probably you're on a NAT, which is not supported by host-gw "
    "backend"
)
_INVALID = "Error registering network: invalid VXLAN backend config"


class FlannelError(Exception):
    """Raised if flanneld has to end because of an error. The exception's message is the one that flanneld logs."""


@dataclass
class Log:
    """flanneld's log."""

    lines: list[str] = field(default_factory=list)

    def write(self, level: str, text: str) -> None:
        """Add a line to the log, in the format of klog."""
        self.lines.append(f"{level}1121 00:00:00.000000    1000 {text}")

    def text(self) -> str:
        """Return the log as one string."""
        return "".join(f"{line}\n" for line in self.lines)


@dataclass(frozen=True)
class Backend:
    """A flannel backend (host-gw or vxlan), with the settings of the HNS network that flanneld creates for it."""

    name: str
    kind: str
    vni: int = 0


def backend_of(settings: Mapping[str, Any]) -> Backend:
    """Return the backend that net-conf.json configures.

    Raises:
        FlannelError: the configuration is invalid, or flannel does not support it on Windows.
    """
    about = {key.casefold(): value for key, value in (settings.get("Backend") or {}).items()}
    kind = str(about.get("type") or "udp").lower()
    if kind == "host-gw":
        return Backend(str(about.get("name") or "cbr0"), "L2Bridge")
    if kind == "vxlan":
        return _vxlan(about)
    raise FlannelError(f"Error fetching backend: unknown backend type: {kind}")


def _vxlan(about: Mapping[str, Any]) -> Backend:
    for name in ("vni", "port"):
        if not isinstance(about.get(name, 0), int):
            message = f"json: cannot unmarshal string into Go struct field .{name.upper()} of type int"
            raise FlannelError(f"Error registering network: error decoding VXLAN backend config: {message}")
    vni, port = int(about.get("vni", VNI)), int(about.get("port", PORT))
    if vni < VNI:
        raise FlannelError(f"{_INVALID}. VNI [{vni}] must be greater than or equal to {VNI} on Windows")
    if port != PORT:
        raise FlannelError(
            f"{_INVALID}. Port [{port}] is not supported on Windows. Omit the setting to default to port {PORT}"
        )
    for option in ("DirectRouting", "GBP"):
        if about.get(option.casefold()):
            raise FlannelError(f"{_INVALID}. {option} is not supported on Windows")
    prefix = str(about.get("macprefix", MAC_PREFIX))
    if len(prefix) != 5 or prefix[2] != "-":
        message = f"MacPrefix [{prefix}] is invalid, prefix must be of the format xx-xx e.g. {MAC_PREFIX}"
        raise FlannelError(f"{_INVALID}.{message}")
    return Backend(str(about.get("name") or f"flannel.{vni}"), "Overlay", vni)


def ensure(machine: Machine, backend: Backend, subnet: ipaddress.IPv4Network, log: Log) -> None:
    """Create the HNS network of a flannel backend, or replace one with the same name but different settings.

    Raises:
        FlannelError: HNS refuses the network, or the network has no management IP.
    """
    store = hns.store(machine)
    known, gateway, kind = store.network_named(backend.name), str(subnet[1]), _kind(backend)
    if known and _fits(known, backend, str(subnet), gateway):
        log.write("I", f"Found existing {kind} {backend.name}")
        return
    if known:
        _delete(store, known, kind, log)
    log.write("I", f"Attempting to create {kind} {backend.name}")
    api, flags = (2, NON_PERSISTENT) if backend.vni else (1, 0)
    try:
        store.create_network(backend.name, backend.kind, str(subnet), gateway, backend.vni, flags=flags, api=api)
    except hns.HnsError as error:
        message = f"failed to create {kind} {backend.name}: {error}"
        raise FlannelError(f"Error registering network: {_outer(backend)}{message}") from error
    log.write("I", f"Waiting to get ManagementIP from {kind} {backend.name}")
    if not management_ip(machine):
        raise FlannelError(f"Error registering network: {_no_management_ip(backend)}")
    log.write("I", f"Created {kind} {backend.name}")


def _kind(backend: Backend) -> str:
    return "HostComputeNetwork" if backend.vni else "HNSNetwork"


def _outer(backend: Backend) -> str:
    return "failed to create VXLAN network: " if backend.vni else ""


def _no_management_ip(backend: Backend) -> str:
    """Return the error message for an HNS network that still has no management IP address after the timeout.

    A bug in flannel's vxlan backend hides the timeout error: the code wraps a different error variable, which is nil.
    The backend therefore fails only later, when it uses the network.
    """
    if backend.vni:
        message = f"interface bound to {backend.name} took too long to get ready."
        return f"{message} Please check your network host configuration"
    return f"timeout, failed to get management IP from HNSNetwork {backend.name}: context deadline exceeded"


def _fits(network: hns.Network, backend: Backend, subnet: str, gateway: str) -> bool:
    """Return whether flanneld keeps an existing HNS network.

    host-gw compares the subnet and the gateway, and vxlan compares the subnet and the type.
    """
    if backend.vni:
        return (network.kind, network.subnet) == (backend.kind, subnet)
    return (network.subnet, network.gateway) == (subnet, gateway)


def _delete(store: hns.HnsStore, network: hns.Network, kind: str, log: Log) -> None:
    for endpoint in store.endpoints():
        if endpoint.network == network.id:
            store.remove_endpoint(endpoint.id)
    try:
        store.remove_network(network.id)
    except hns.HnsError as error:
        message = f"failed to delete existing {kind} {network.name}: {error}"
        raise FlannelError(f"Error registering network: {message}") from error
    log.write("I", f"Deleted stale {kind} {network.name}")


def attach_host(machine: Machine, backend: Backend, subnet: ipaddress.IPv4Network, log: Log) -> None:
    """Create the host's endpoint in an L2Bridge network, and enable IP forwarding.

    Forwarding is enabled on the endpoint and on the node's interface. An overlay network (vxlan) does not need such an
    endpoint.

    Raises:
        FlannelError: the network does not exist, or HNS refuses the endpoint.
    """
    if backend.vni:
        return
    store, name, address = hns.store(machine), f"{backend.name}_ep", str(subnet[2])
    network = store.network_named(backend.name)
    known = next((item for item in store.endpoints() if item.name == name), None)
    if network is None:
        raise FlannelError(f"Error registering network: failed to create bridge HNSEndpoint {name}: Element not found.")
    if known and known.address != address:
        store.remove_endpoint(known.id)
        log.write("I", f"Deleted stale bridge HNSEndpoint {name}")
    if known is None or known.address != address:
        try:
            store.add_endpoint(name, network.id, address, wiring=hns.Wiring(api=1))
        except hns.HnsError as error:
            message = f"failed to create bridge HNSEndpoint {name}: {error}"
            raise FlannelError(f"Error registering network: {message}") from error
    log.write("I", f"Attached bridge endpoint {name} to host successfully")
    for interface in state_of(machine).interfaces.values():
        if interface.address in (management_ip(machine), address):
            interface.forwarding = True
