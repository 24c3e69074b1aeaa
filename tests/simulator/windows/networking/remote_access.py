# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The RemoteAccess module of PowerShell: routing and the BGP router. VPN and DirectAccess are not modelled.

Install-RemoteAccess works only after the required features were installed and the server was restarted
(docs.rke2.io/networking/windows_bgp). On a new server, the RemoteAccess service is disabled (see "Security
guidelines for system services" on learn.microsoft.com). Microsoft documents neither the start type of the service after
Install-RemoteAccess nor the error messages. Users report the start type `Manual`, and projectcalico/calico#11714 quotes
`BGP is not configured`. A router stays configured when the service restarts.

Sources: https://learn.microsoft.com/powershell/module/remoteaccess and, for the properties of Get-RemoteAccess,
https://learn.microsoft.com/previous-versions/windows/desktop/ramgmtpsprov/remoteaccesscommon
"""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from simulator.machine.commands import not_found
from simulator.machine.objects import Bound, Cmdlet, CmdletError, NotModelled
from simulator.machine.service_errors import ServiceError
from simulator.windows.common import cim
from simulator.windows.software.features import is_installed

if TYPE_CHECKING:
    from simulator.machine.machine import Machine

SERVICE = "RemoteAccess"
_NAMESPACE = "root/Microsoft/Windows/RemoteAccess"
_IMAGE = r"%systemroot%\system32\svchost.exe -k netsvcs"
_DISABLED, _MANUAL = 4, 3
_NO_ROUTER = "BGP is not configured."
_NO_ROUTING = "LAN Routing not configured."


@dataclass(frozen=True)
class BgpPeer:
    """A peer of the BGP router."""

    name: str
    local: str
    address: str
    asn: int


@dataclass
class RemoteAccessState:
    """The installed and configured parts of Remote Access.

    Args:
        restarted: whether the server has restarted since the features were installed.
        routing: whether Install-RemoteAccess has installed routing.
        router: the BGP identifier and the AS number of the router; None if no router is configured.
        peers: maps the lower-case name of each peer of the router to the peer.
        routes: the networks that the router announces.
    """

    restarted: bool = False
    routing: bool = False
    router: tuple[str, int] | None = None
    peers: dict[str, BgpPeer] = field(default_factory=dict)
    routes: list[str] = field(default_factory=list)

    def remove_router(self) -> None:
        """Remove the router with its peers and routes."""
        self.router = None
        self.peers.clear()
        self.routes.clear()


def _has_features(machine: Machine) -> bool:
    return is_installed(machine, "RemoteAccess") and is_installed(machine, "Routing")


def _state(machine: Machine, bound: Bound) -> RemoteAccessState:
    """Return the state of Remote Access for a cmdlet.

    Raises:
        CmdletError: the RemoteAccess module of PowerShell is not installed.
    """
    if not is_installed(machine, "RSAT-RemoteAccess-PowerShell"):
        raise not_found(bound.command)
    return machine.part(RemoteAccessState)


def _error(bound: Bound, message: str, category: str = "NotSpecified") -> CmdletError:
    error = CmdletError(category, "REMOTEACCESSERROR", message, "Microsoft.Management.Infrastructure.CimException")
    error.activity = bound.command
    error.approximate = True
    return error


def _bgp(machine: Machine, bound: Bound, *, router: bool = True) -> RemoteAccessState:
    """Return the state of Remote Access for a cmdlet of the BGP router.

    Raises:
        CmdletError: routing is not installed or not running, or the cmdlet needs a router but none is configured.
    """
    state = _state(machine, bound)
    if bound.text("RoutingDomain") or bound.flag("AllRoutingDomains"):
        raise NotModelled("routing domains of several tenants")
    service = machine.services.get(SERVICE)
    if not state.routing or service is None or service.state != "Running":
        raise _error(bound, _NO_ROUTING)
    if router and state.router is None:
        raise _error(bound, _NO_ROUTER)
    return state


def get_remote_access(machine: Machine, bound: Bound) -> Iterable[object]:
    """Simulate Get-RemoteAccess: report which technologies of Remote Access are installed."""
    state = _state(machine, bound)
    if not is_installed(machine, "RemoteAccess"):
        raise _error(bound, "Remote Access is not installed on this computer.", "ObjectNotFound")
    unused = dict.fromkeys(("DAStatus", "VpnStatus", "VpnS2SStatus", "SstpProxyStatus"), "Uninstalled")
    # A test may install another technology, which the simulator does not model otherwise.
    others = machine.settings.option("remote_access", {})
    status = {**unused, **(others if isinstance(others, dict) else {})}
    routing = {"RoutingStatus": "Installed" if state.routing else "Uninstalled", "LoadBalancing": "NotConfigured"}
    return [cim("RemoteAccess", {**status, **routing}, _NAMESPACE)]


def install_remote_access(machine: Machine, bound: Bound) -> Iterable[object]:
    """Simulate Install-RemoteAccess: install routing, and start the RemoteAccess service."""
    state = _state(machine, bound)
    if bound.text("VpnType").casefold() != "routingonly":
        raise NotModelled("Install-RemoteAccess without -VpnType RoutingOnly")
    if not _has_features(machine) or not state.restarted:
        raise _error(bound, "The Remote Access role is not ready. Install its features, and then restart the server.")
    if bound.flag("WhatIf"):
        return []
    state.routing = True
    machine.services.configure(SERVICE, Start=_MANUAL)
    # Users report that the service sometimes does not start (docs.tigera.io, Install Calico for Windows).
    if machine.settings.option("remote_access_starts", True):
        _start(machine, bound)
    return list(get_remote_access(machine, bound)) if bound.flag("PassThru") else []


def _start(machine: Machine, bound: Bound) -> None:
    service = machine.services.get(SERVICE)
    if service is None or service.state == "Running":
        return
    try:
        machine.services.start(SERVICE)
    except ServiceError as error:
        raise _error(bound, str(error)) from error


def uninstall_remote_access(machine: Machine, bound: Bound) -> Iterable[object]:
    """Remove everything that Install-RemoteAccess installed, and disable the RemoteAccess service."""
    state = _state(machine, bound)
    if bound.text("VpnType"):
        raise NotModelled("Uninstall-RemoteAccess with -VpnType")
    if not bound.flag("Force"):
        raise _error(bound, "The cmdlet asks for confirmation, which needs an interactive session (use -Force).")
    _forget(machine, state)
    return []


def _forget(machine: Machine, state: RemoteAccessState) -> None:
    state.routing = False
    state.remove_router()
    service = machine.services.get(SERVICE)
    if service is None:
        return
    if service.state == "Running":
        machine.services.stop(SERVICE)
    machine.services.configure(SERVICE, Start=_DISABLED)


def _get_router(machine: Machine, bound: Bound) -> Iterable[object]:
    state = _bgp(machine, bound)
    identifier, asn = state.router or ("", 0)
    about = {"RoutingDomain": "", "BgpIdentifier": identifier, "LocalASN": asn, "IPv6Routing": "Disabled"}
    return [cim("BgpRouterConfig", {**about, "PeerName": [peer.name for peer in state.peers.values()]}, _NAMESPACE)]


def _add_router(machine: Machine, bound: Bound) -> Iterable[object]:
    state = _bgp(machine, bound, router=False)
    if state.router is not None:
        raise _error(bound, "A BGP router is already configured.", "ResourceExists")
    state.router = (str(bound.get("BgpIdentifier")), int(str(bound.get("LocalASN"))))
    return []


def _remove_router(machine: Machine, bound: Bound) -> Iterable[object]:
    _forced(bound)
    _bgp(machine, bound).remove_router()
    return []


def _forced(bound: Bound) -> None:
    """Refuse a removal that would ask for confirmation.

    Raises:
        CmdletError: the parameter Force is missing.
    """
    if not bound.flag("Force"):
        raise _error(bound, "The cmdlet asks for confirmation, which needs an interactive session (use -Force).")


def _get_peers(machine: Machine, bound: Bound) -> Iterable[object]:
    for peer in _bgp(machine, bound).peers.values():
        about: dict[str, object] = {"PeerName": peer.name, "LocalIPAddress": peer.local, "PeerIPAddress": peer.address}
        yield cim("BgpPeer", {**about, "PeerASN": peer.asn, "OperationMode": "Mixed"}, _NAMESPACE)


def _add_peer(machine: Machine, bound: Bound) -> Iterable[object]:
    state = _bgp(machine, bound)
    addresses = (str(bound.get("LocalIPAddress")), str(bound.get("PeerIPAddress")))
    peer = BgpPeer(bound.text("Name"), *addresses, int(str(bound.get("PeerASN"))))
    if peer.name.casefold() in state.peers or any(one.address == peer.address for one in state.peers.values()):
        raise _error(bound, f"A BGP peer {peer.name} with the address {peer.address} already exists.", "ResourceExists")
    state.peers[peer.name.casefold()] = peer
    return []


def _remove_peers(machine: Machine, bound: Bound) -> Iterable[object]:
    _forced(bound)
    state = _bgp(machine, bound)
    for name in bound.texts("Name"):
        if state.peers.pop(name.casefold(), None) is None:
            raise _error(bound, f"There is no BGP peer {name}.", "ObjectNotFound")
    return []


def _get_routes(machine: Machine, bound: Bound) -> Iterable[object]:
    routes = list(_bgp(machine, bound).routes)
    return [cim("BgpCustomRoute", {"RoutingDomain": "", "Interface": [], "Network": routes}, _NAMESPACE)]


def _add_routes(machine: Machine, bound: Bound) -> Iterable[object]:
    state = _bgp(machine, bound)
    for text in bound.texts("Network"):
        try:
            network = str(ipaddress.IPv4Network(text))
        except ValueError as error:
            raise _error(bound, str(error), "InvalidArgument") from error
        if network not in state.routes:
            state.routes.append(network)
    return []


def _remove_routes(machine: Machine, bound: Bound) -> Iterable[object]:
    _forced(bound)
    state = _bgp(machine, bound)
    state.routes[:] = [one for one in state.routes if one not in bound.texts("Network")]
    return []


def _on_boot(machine: Machine) -> None:
    """Record at boot whether the features of Remote Access are installed. If not, reset the state of Remote Access."""
    state = machine.part(RemoteAccessState)
    state.restarted = _has_features(machine)
    if not state.restarted:
        _forget(machine, state)


def _create_baseline(machine: Machine) -> None:
    """Create the RemoteAccess service, disabled. Record whether the features of Remote Access are already installed."""
    machine.services.create(
        SERVICE, _IMAGE, DisplayName="Routing and Remote Access", Start=_DISABLED, Type=0x20, DependOnService=["RpcSs"]
    )
    machine.part(RemoteAccessState).restarted = _has_features(machine)


def _status(machine: Machine) -> object:
    state = machine.part(RemoteAccessState)
    peers = {peer.name: f"{peer.address} {peer.asn}" for peer in state.peers.values()}
    return {"routing": state.routing, "router": state.router, "peers": peers, "routes": list(state.routes)}


CMDLETS: Mapping[str, Cmdlet] = {
    "Get-RemoteAccess": get_remote_access,
    "Install-RemoteAccess": install_remote_access,
    "Uninstall-RemoteAccess": uninstall_remote_access,
    "Get-BgpRouter": _get_router,
    "Add-BgpRouter": _add_router,
    "Remove-BgpRouter": _remove_router,
    "Get-BgpPeer": _get_peers,
    "Add-BgpPeer": _add_peer,
    "Remove-BgpPeer": _remove_peers,
    "Get-BgpCustomRoute": _get_routes,
    "Add-BgpCustomRoute": _add_routes,
    "Remove-BgpCustomRoute": _remove_routes,
}
STATUS: Mapping[str, Callable[[Machine], object]] = {"remote_access": _status}
BASELINE = _create_baseline
ON_BOOT = _on_boot
