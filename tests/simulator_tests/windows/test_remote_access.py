# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Routing of Remote Access and its BGP router: requirements, and the state after restarts."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from simulator.machine import commands
from simulator.machine.machine import Machine
from simulator.machine.objects import CmdletError, PSObject

MakeMachine = Callable[..., Machine]
FEATURES = ("RemoteAccess", "RSAT-RemoteAccess-PowerShell", "Routing")
READY = {"features": ["RemoteAccess", "DirectAccess-VPN", "RSAT-RemoteAccess-PowerShell", "Routing"]}


def run(machine: Machine, command: str, **parameters: object) -> list[PSObject]:
    found = commands.run(machine, command, parameters).objects
    return [item for item in found if isinstance(item, PSObject)]


def refused(machine: Machine, command: str, **parameters: object) -> str:
    with pytest.raises(CmdletError) as caught:
        run(machine, command, **parameters)
    return f"{caught.value.error_id}: {caught.value.message}"


def service(machine: Machine) -> tuple[str, str]:
    found = machine.services.get("RemoteAccess")
    assert found is not None
    return found.state, found.start_mode


def routing(machine: Machine) -> object:
    (found,) = run(machine, "Get-RemoteAccess")
    return found["RoutingStatus"]


@pytest.mark.parametrize("windows", ["2019", "2022", "2025"])
def test_routing_needs_the_features_and_a_restart(make_machine: MakeMachine, windows: str) -> None:
    machine = make_machine(windows)
    assert service(machine) == ("Stopped", "Disabled")
    assert refused(machine, "Get-RemoteAccess").startswith("CommandNotFoundException")
    for name in FEATURES:
        run(machine, "Install-WindowsFeature", Name=name)
    assert routing(machine) == "Uninstalled"
    assert "restart the server" in refused(machine, "Install-RemoteAccess", VpnType="RoutingOnly")
    machine.power.reset()
    run(machine, "Install-RemoteAccess", VpnType="RoutingOnly")
    assert (routing(machine), service(machine)) == ("Installed", ("Running", "Manual"))


def test_parameters_are_those_of_the_reference(make_machine: MakeMachine) -> None:
    machine = make_machine(**READY)
    assert "ParameterArgumentValidationError" in refused(machine, "Install-RemoteAccess", VpnType="Bgp")
    assert "NamedParameterNotFound" in refused(machine, "Install-RemoteAccess", RoutingOnly=True)
    assert "ParameterArgumentValidationError" in refused(machine, "Uninstall-RemoteAccess", VpnType="RoutingOnly")
    assert "SimulatorDoesNotModel" in refused(machine, "Install-RemoteAccess", VpnType="Vpn")


def test_the_service_does_not_always_start(make_machine: MakeMachine) -> None:
    machine = make_machine(**READY, remote_access_starts=False)
    run(machine, "Install-RemoteAccess", VpnType="RoutingOnly")
    assert (routing(machine), service(machine)) == ("Installed", ("Stopped", "Manual"))
    assert "LAN Routing not configured" in refused(machine, "Get-BgpRouter")


@pytest.fixture
def router(make_machine: MakeMachine) -> Machine:
    """Return a server with a BGP router."""
    machine = make_machine(**READY)
    run(machine, "Install-RemoteAccess", VpnType="RoutingOnly")
    run(machine, "Add-BgpRouter", BgpIdentifier="10.0.0.5", LocalASN=64512)
    return machine


def test_a_router_with_peers_and_routes(router: Machine) -> None:
    peer = {"LocalIPAddress": "10.0.0.5", "PeerIPAddress": "10.0.0.6", "PeerASN": 64512}
    run(router, "Add-BgpPeer", Name="Mesh_10_0_0_6", **peer)
    assert "already exists" in refused(router, "Add-BgpPeer", Name="Other", **peer)
    run(router, "Add-BgpCustomRoute", Network=["10.233.64.0/26", "10.233.65.0/26"])
    (found,) = run(router, "Get-BgpPeer")
    assert (found["PeerName"], found["PeerIPAddress"], found["PeerASN"]) == ("Mesh_10_0_0_6", "10.0.0.6", 64512)
    run(router, "Remove-BgpCustomRoute", Network="10.233.64.0/26", Force=True)
    (routes,) = run(router, "Get-BgpCustomRoute")
    assert routes["Network"] == ["10.233.65.0/26"]
    assert "There is no BGP peer" in refused(router, "Remove-BgpPeer", Name="Missing", Force=True)


def test_a_router_survives_restarts(router: Machine) -> None:
    router.services.configure("RemoteAccess", Start=2)
    router.power.reset()
    (found,) = run(router, "Get-BgpRouter")
    assert (found["BgpIdentifier"], found["LocalASN"]) == ("10.0.0.5", 64512)
    run(router, "Remove-BgpRouter", Force=True)
    assert "BGP is not configured" in refused(router, "Get-BgpRouter")
    assert "BGP is not configured" in refused(router, "Get-BgpPeer")


def test_removals_ask_for_a_confirmation(router: Machine) -> None:
    for command in ("Remove-BgpRouter", "Uninstall-RemoteAccess"):
        assert "confirmation" in refused(router, command)
    assert run(router, "Get-BgpRouter")


def test_uninstalling_removes_the_router_and_disables_the_service(router: Machine) -> None:
    run(router, "Uninstall-RemoteAccess", Force=True)
    assert (routing(router), service(router)) == ("Uninstalled", ("Stopped", "Disabled"))
    run(router, "Install-RemoteAccess", VpnType="RoutingOnly")
    assert "BGP is not configured" in refused(router, "Get-BgpRouter")


def test_without_its_features_nothing_is_left_after_a_restart(router: Machine) -> None:
    run(router, "Uninstall-WindowsFeature", Name=["RemoteAccess", "Routing"])
    router.power.reset()
    assert service(router) == ("Stopped", "Disabled")
    assert "not installed" in refused(router, "Get-RemoteAccess")
