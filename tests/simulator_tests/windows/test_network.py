# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Cmdlets of the network, and the proxy of WinHTTP."""

from __future__ import annotations

from typing import Any

import pytest

from simulator.machine import commands
from simulator.machine.listeners import Listeners, Port, open_pipe
from simulator.machine.objects import NotModelled
from simulator.windows.networking import proxy
from simulator.windows.networking.network_state import Address, Interface, state_of

DIRECT = "\r\nCurrent WinHTTP proxy settings:\r\n\r\n    Direct access (no proxy server).\r\n\r\n"


def test_the_address_is_the_machines(shell: Any) -> None:
    found = shell.all("Get-NetIPAddress", AddressFamily="IPv4", InterfaceAlias="Ethernet*")
    assert [item["IPAddress"] for item in found] == [shell.machine.address]
    assert shell.one("Get-NetRoute", DestinationPrefix="0.0.0.0/0")["InterfaceAlias"] == "Ethernet"
    assert shell.error("Get-NetAdapter", Name="none").category == "ObjectNotFound"
    assert shell.all("Get-NetAdapter", Name="none*") == []


def test_a_virtual_switch_adds_an_interface(shell: Any) -> None:
    addresses = [Address("10.1.0.2", 24)]
    added = Interface("vEthernet (Ethernet)", "Hyper-V Virtual Ethernet Adapter", 9, "00-15-5D-00-00-01", addresses)
    state_of(shell.machine).interfaces[added.alias] = added
    assert shell.one("Get-NetIPAddress", InterfaceAlias="vEthernet (Ethernet)")["IPAddress"] == "10.1.0.2"
    assert [item["Name"] for item in shell.all("Get-NetAdapter", Physical=True)] == ["Ethernet"]


def test_listeners_and_their_processes(shell: Any) -> None:
    assert shell.one("Get-NetTCPConnection", LocalPort=[5985])["OwningProcess"] == 4
    missing = shell.error("Get-NetTCPConnection", LocalPort=[10250], State=["Listen"])
    assert missing.error_id == "CmdletizationQuery_NotFound_LocalPort,Get-NetTCPConnection"
    shell.machine.part(Listeners).ports[10250] = Port("::", "kubelet")
    assert str(shell.one("Get-NetTCPConnection", LocalPort=[10250], State=["Listen"])["State"]) == "Listen"
    shell.machine.services.stop("WinRM")
    assert [item["LocalPort"] for item in shell.all("Get-NetTCPConnection")] == [135, 445, 10250]


def test_pipes_are_paths(shell: Any) -> None:
    def exists(path: str, **more: object) -> list[object]:
        return list(commands.run(shell.machine, "Test-Path", {"LiteralPath": [path], **more}).objects)

    assert exists(r"\\.\pipe\some") == exists(r"\\server\share") == [False]
    open_pipe(shell.machine, "npipe:////./pipe/some", object())
    assert exists(r"\\.\pipe\Some") == exists("//./pipe/some") == exists(r"\\.\pipe\some", PathType="Leaf") == [True]
    assert exists(r"\\.\pipe\some", PathType="Container") == [False]


def test_names(shell: Any) -> None:
    assert shell.one("Resolve-DnsName", Name=shell.machine.host_name)["IPAddress"] == shell.machine.address
    assert shell.error("Resolve-DnsName", Name="none.invalid").error_id.startswith("DNS_ERROR_RCODE_NAME_ERROR,")
    assert shell.machine.address in shell.program("ipconfig.exe").stdout


def test_programs_that_list_the_network(shell: Any) -> None:
    address = shell.machine.address
    routes = shell.program("route.exe", "print").stdout
    first = next(line.split() for line in routes.splitlines() if line.split()[:1] == ["0.0.0.0"])
    assert first == [
        "0.0.0.0",
        "0.0.0.0",
        shell.one("Get-NetRoute", DestinationPrefix="0.0.0.0/0")["NextHop"],
        address,
        "15",
    ]
    assert f"Interface: {address} --- 0x5\r\n" in shell.program("arp.exe", "-a").stdout
    listening = [
        line.split() for line in shell.program("netstat.exe", "-ano").stdout.splitlines() if "LISTENING" in line
    ]
    assert [one[1] for one in listening] == ["[::]:135", "[::]:445", "[::]:5985", "[::]:5986"]
    assert listening[1][4] == "4"
    for program, words in (("route.exe", ("add", "10.9.0.0")), ("arp.exe", ()), ("netstat.exe", ("-r",))):
        with pytest.raises(NotModelled, match=program.removesuffix(".exe")):
            shell.program(program, *words)


def test_the_proxy_is_kept_where_winhttp_keeps_it(shell: Any) -> None:
    assert shell.program("netsh.exe", "winhttp", "show", "proxy").stdout == DIRECT
    for wrong in ("proxy-servr=proxy:3128", "=proxy:3128", "proxy-server="):
        assert shell.program("netsh.exe", "winhttp", "set", "proxy", wrong).exit_code == 1, wrong
    assert shell.program("netsh.exe", "winhttp", "show", "proxy").stdout == DIRECT
    arguments = ("winhttp", "set", "proxy", "proxy-server=http://proxy:3128", "bypass-list=10.0.0.0/8;*.svc;<local>")
    result = shell.program("netsh.exe", *arguments)
    assert result.exit_code == 0
    shown = shell.program("netsh.exe", "winhttp", "show", "proxy").stdout
    assert "    Proxy Server(s) :  http://proxy:3128\r\n    Bypass List     :  10.0.0.0/8;*.svc;<local>\r\n" in shown
    assert proxy.read(shell.machine) == ("http://proxy:3128", "10.0.0.0/8;*.svc;<local>")
    shell.machine.power.reset()
    assert shell.program("netsh.exe", "winhttp", "show", "proxy").stdout == shown
    assert shell.program("netsh.exe", "winhttp", "reset", "proxy").stdout == DIRECT


def test_the_bypass_list_may_be_left_out(shell: Any) -> None:
    assert shell.program("netsh.exe", "winhttp", "set", "proxy", "proxy:80").exit_code == 0
    assert "    Bypass List     :  (none)\r\n" in shell.program("netsh.exe", "winhttp", "show", "proxy").stdout


@pytest.mark.parametrize("arguments", [["set", "proxy"], ["set", "proxy", "a", "b", "c"], ["frob", "proxy"]])
def test_netsh_refuses(shell: Any, arguments: list[str]) -> None:
    assert shell.program("netsh.exe", "winhttp", *arguments).exit_code == 1
    assert proxy.read(shell.machine) == ("", "")
