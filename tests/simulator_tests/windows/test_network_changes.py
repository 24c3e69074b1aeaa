# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Cmdlets that change addresses, routes, DHCP and name servers; ports that Windows reserves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from simulator.machine.machine import Machine
from simulator.windows.networking.network_state import uplink
from simulator.windows.networking.port_ranges import PortRanges, Reservation

from .conftest import Shell

ADDRESS = "127.0.3.11"
GATEWAY = "127.0.3.1"
UPLINK = {
    "static": True,
    "gateway": GATEWAY,
    "dns": ["127.0.3.2"],
    "routes": [{"destination": "10.9.0.0/16", "next_hop": "127.0.3.9"}],
}


@pytest.fixture
def static(make_machine: Callable[..., Machine]) -> Shell:
    """Return a server with a static address."""
    return Shell(make_machine(address=ADDRESS, uplink=UPLINK))


def addresses(shell: Shell) -> list[tuple[str, str]]:
    found = shell.all("Get-NetIPAddress", InterfaceAlias="Ethernet")
    return [(str(item["IPAddress"]), str(item["PrefixOrigin"])) for item in found]


def routes(shell: Shell, **parameters: object) -> list[tuple[str, str]]:
    found = shell.all("Get-NetRoute", InterfaceAlias="Ethernet", **parameters)
    return [(str(item["DestinationPrefix"]), str(item["NextHop"])) for item in found]


def test_static_settings(static: Shell) -> None:
    assert addresses(static) == [(ADDRESS, "Manual")]
    assert str(static.one("Get-NetIPInterface", InterfaceAlias="Ethernet")["Dhcp"]) == "Disabled"
    assert static.one("Get-DnsClientServerAddress", InterfaceAlias="Ethernet")["ServerAddresses"] == ["127.0.3.2"]
    kept = [("0.0.0.0/0", GATEWAY), ("10.9.0.0/16", "127.0.3.9")]
    assert routes(static, PolicyStore="PersistentStore") == kept
    assert routes(static) == [*kept, ("127.0.3.0/24", "0.0.0.0")]
    assert static.one("Get-NetIPConfiguration", InterfaceAlias="Ethernet")["IPv4DefaultGateway"]


def test_the_settings_that_dhcp_provides(shell: Shell) -> None:
    assert addresses(shell) == [(shell.machine.address, "Dhcp")]
    assert str(shell.one("Get-NetIPInterface", InterfaceAlias="Ethernet")["Dhcp"]) == "Enabled"
    assert shell.all("Get-NetRoute", PolicyStore="PersistentStore") == []
    assert shell.all("Get-NetIPAddress", PolicyStore="PersistentStore") == []


def test_an_address_that_is_added_turns_dhcp_off(shell: Shell) -> None:
    own = shell.machine.address
    gateway = f"{own.rpartition('.')[0]}.1"
    added = shell.one(
        "New-NetIPAddress", InterfaceAlias="Ethernet", IPAddress=own.replace(".0.", ".1.", 1), PrefixLength=24
    )
    assert (added["PrefixLength"], str(added["PrefixOrigin"])) == (24, "Manual")
    assert str(shell.one("Get-NetIPInterface", InterfaceAlias="Ethernet")["Dhcp"]) == "Disabled"
    assert (own, "Dhcp") not in addresses(shell)
    assert ("0.0.0.0/0", gateway) not in routes(shell), "the lease's gateway went with it"
    assert not shell.machine.network.is_up, "it has not the address by which it is known"
    shell.all("New-NetIPAddress", InterfaceAlias="Ethernet", IPAddress=own, PrefixLength=24, DefaultGateway=gateway)
    assert shell.machine.network.is_up
    assert ("0.0.0.0/0", gateway) in routes(shell, PolicyStore="PersistentStore")


def test_a_new_address_is_tentative_at_first(make_machine: Callable[..., Machine]) -> None:
    shell = Shell(make_machine(address=ADDRESS, uplink=UPLINK, time_scale=1000.0))
    added = shell.one("New-NetIPAddress", InterfaceAlias="Ethernet", IPAddress="127.0.3.12", PrefixLength=24)
    assert str(added["AddressState"]) == "Tentative"
    uplink(shell.machine).addresses[-1].usable = 0.0
    assert str(shell.one("Get-NetIPAddress", IPAddress="127.0.3.12")["AddressState"]) == "Preferred"


@pytest.mark.parametrize(
    ("parameters", "error_id", "message"),
    [
        ({"IPAddress": ADDRESS}, "Windows System Error 5010,New-NetIPAddress", "already exists"),
        (
            {"IPAddress": "127.0.3.12", "DefaultGateway": "127.0.3.1"},
            "Windows System Error 87,New-NetIPAddress",
            "Instance DefaultGateway already exists",
        ),
        ({"IPAddress": "nonsense"}, "Windows System Error 87,New-NetIPAddress", "incorrect"),
        ({"IPAddress": "127.0.3.12", "InterfaceAlias": "none"}, "CmdletizationQuery_NotFound_InterfaceAlias", "none"),
    ],
)
def test_addresses_that_are_refused(static: Shell, parameters: dict[str, Any], error_id: str, message: str) -> None:
    error = static.error("New-NetIPAddress", **{"InterfaceAlias": "Ethernet", "PrefixLength": 24, **parameters})
    assert error.error_id.startswith(error_id)
    assert message in error.message
    assert addresses(static) == [(ADDRESS, "Manual")]


def test_the_default_route_outlives_its_address(static: Shell) -> None:
    static.all("Remove-NetIPAddress", IPAddress=ADDRESS, Confirm=False)
    assert addresses_or_none(static) == []
    assert not static.machine.network.is_up
    again = {"InterfaceAlias": "Ethernet", "IPAddress": ADDRESS, "PrefixLength": 24}
    assert "DefaultGateway" in static.error("New-NetIPAddress", **again, DefaultGateway=GATEWAY).message
    static.all("New-NetIPAddress", **again)
    assert static.machine.network.is_up
    static.all("Remove-NetIPAddress", IPAddress=ADDRESS, DefaultGateway=GATEWAY, Confirm=False)
    assert ("0.0.0.0/0", GATEWAY) not in [
        (item["DestinationPrefix"], item["NextHop"]) for item in static.all("Get-NetRoute")
    ]


def addresses_or_none(shell: Shell) -> list[str]:
    return [str(item["IPAddress"]) for item in shell.all("Get-NetIPAddress") if item["InterfaceAlias"] == "Ethernet"]


def test_dhcp_takes_a_static_address_away(static: Shell) -> None:
    static.all("Set-NetIPInterface", InterfaceAlias="Ethernet", Dhcp="Enabled")
    assert addresses(static)[0][0].startswith("169.254.")
    assert not static.machine.network.is_up
    assert ("10.9.0.0/16", "127.0.3.9") in routes(static), "routes set by hand stay"


def test_routes(static: Shell) -> None:
    interface = {"InterfaceAlias": "Ethernet"}
    made = static.one("New-NetRoute", **interface, DestinationPrefix="10.244.1.0/24", NextHop="127.0.3.21")
    assert (made["RouteMetric"], str(made["Protocol"])) == (256, "NetMgmt")
    twice = static.error("New-NetRoute", **interface, DestinationPrefix="10.244.1.0/24", NextHop="127.0.3.21")
    assert (twice.error_id, twice.message) == (
        "Windows System Error 87,New-NetRoute",
        "Instance MSFT_NetRoute already exists",
    )
    static.all(
        "New-NetRoute",
        **interface,
        DestinationPrefix="10.244.2.0/24",
        NextHop="127.0.3.22",
        PolicyStore="ActiveStore",
        RouteMetric=7,
    )
    assert routes(static, DestinationPrefix="10.244.*") == [
        ("10.244.1.0/24", "127.0.3.21"),
        ("10.244.2.0/24", "127.0.3.22"),
    ]
    static.machine.power.reset()
    assert routes(static, DestinationPrefix="10.244.*") == [("10.244.1.0/24", "127.0.3.21")], "the active one is gone"
    found = static.all("Get-NetRoute", DestinationPrefix="10.244.1.0/24")
    static.all("Remove-NetRoute", list(found), Confirm=False)
    assert static.all("Get-NetRoute", DestinationPrefix="10.244.*") == []
    assert static.error("Remove-NetRoute", DestinationPrefix="10.244.1.0/24").category == "ObjectNotFound"


def test_name_servers(shell: Shell) -> None:
    def servers() -> object:
        return shell.one("Get-DnsClientServerAddress", InterfaceAlias="Ethernet")["ServerAddresses"]

    given = servers()
    shell.all("Set-DnsClientServerAddress", InterfaceAlias="Ethernet", ServerAddresses=["10.0.0.1", "10.0.0.2"])
    assert servers() == ["10.0.0.1", "10.0.0.2"]
    assert shell.error("Set-DnsClientServerAddress", InterfaceAlias="Ethernet", ServerAddresses=["x"]).message
    shell.all("Set-DnsClientServerAddress", InterfaceIndex=5, ResetServerAddresses=True)
    assert servers() == given
    assert (
        shell.error("Set-DnsClientServerAddress", InterfaceAlias="no", ServerAddresses=[]).category == "ObjectNotFound"
    )


def test_ports_that_windows_keeps(shell: Shell) -> None:
    ranges = shell.machine.part(PortRanges)
    ranges.reserved = {"a": Reservation(50000, 50063), "b": Reservation(50064, 50127, until=0.0)}
    shown = shell.program("netsh.exe", "int", "ipv4", "show", "excludedportrange", "tcp").stdout
    assert shown == shell.program("netsh.exe", "interface", "ipv4", "show", "excludedportrange", "protocol=tcp").stdout
    rows = [line.split() for line in shown.splitlines() if line.strip()[:1].isdigit()]
    listening = [["5985", "5985"], ["47001", "47001"]]
    assert rows == [["5357", "5357", "*"], *listening, ["50000", "50063"]], "what was let go is not shown"
    persistent = shell.program("netsh.exe", "int", "ipv4", "show", "excl", "tcp", "store=persistent").stdout
    assert "50000" not in persistent
    for words in (["tcq"], [], ["protocol=tcp", "frob=1"]):
        assert shell.program("netsh.exe", "int", "ipv4", "show", "excludedportrange", *words).exit_code == 1
    assert "does not model" in shell.program("netsh.exe", "http", "show", "urlacl").stdout


def test_a_wrong_uplink_is_refused(make_machine: Callable[..., Machine]) -> None:
    with pytest.raises(ValueError, match="expected a mapping for uplink of node-11"):
        make_machine(uplink="static")


def test_a_machine_from_an_image_has_its_own_address(make_machine: Callable[..., Machine], tmp_path: Any) -> None:
    from simulator.machine.settings import MachineSettings

    source = make_machine()
    source.power.power_off()
    settings = MachineSettings.read({"name": "copy", "address": "127.0.3.77", "windows": "2022", "time_scale": 0.01})
    copy = Machine(settings, tmp_path / "copy", source=source)
    copy.power_on()
    try:
        assert addresses(Shell(copy)) == [("127.0.3.77", "Dhcp")]
        assert copy.network.is_up
    finally:
        copy.power.power_off()
