# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Firewall rules and their filters."""

from __future__ import annotations

from typing import Any

import pytest

from simulator.machine.machine import Machine

from .conftest import Shell

RULE = {
    "Name": "kubelet",
    "DisplayName": "kubelet API",
    "Direction": "Inbound",
    "Action": "Allow",
    "Protocol": "TCP",
    "LocalPort": ["10250"],
}


def test_a_created_rule_has_its_filters(shell: Any) -> None:
    shell.one("New-NetFirewallRule", **RULE, RemoteAddress=["10.0.0.0/8", "192.168.1.1"])
    rule = shell.one("Get-NetFirewallRule", Name="kubelet")
    assert [str(rule[key]) for key in ("DisplayName", "Enabled", "Direction", "Action", "Profile")] == [
        "kubelet API",
        "True",
        "Inbound",
        "Allow",
        "Any",
    ]
    port = shell.one("Get-NetFirewallPortFilter", pipeline=[rule])
    assert (port["InstanceID"], port["Protocol"], port["LocalPort"], port["RemotePort"]) == (
        "kubelet",
        "TCP",
        "10250",
        "Any",
    )
    address = shell.one("Get-NetFirewallAddressFilter", AssociatedNetFirewallRule=rule)
    assert (address["RemoteAddress"], address["LocalAddress"]) == (["10.0.0.0/8", "192.168.1.1"], "Any")
    assert shell.one("Get-NetFirewallApplicationFilter", pipeline=[rule])["Program"] == "Any"


def test_several_ports_are_a_list(shell: Any) -> None:
    shell.one("New-NetFirewallRule", **{**RULE, "LocalPort": ["80", "30000-32767"]})
    rule = shell.one("Get-NetFirewallRule", Name="kubelet")
    assert shell.one("Get-NetFirewallPortFilter", pipeline=[rule])["LocalPort"] == ["80", "30000-32767"]


def test_a_rule_is_changed_in_place(shell: Any) -> None:
    shell.one("New-NetFirewallRule", **RULE)
    assert (
        shell.all("Set-NetFirewallRule", Name="kubelet", NewDisplayName="new", Enabled="False", LocalPort=["1"]) == []
    )
    rule = shell.one("Get-NetFirewallRule", Name="kubelet")
    assert (rule["DisplayName"], str(rule["Enabled"])) == ("new", "False")
    assert shell.one("Get-NetFirewallPortFilter", pipeline=[rule])["LocalPort"] == "1"


def test_a_missing_name_is_an_error_but_a_pattern_without_matches_is_not(shell: Any) -> None:
    error = shell.error("Get-NetFirewallRule", Name="none")
    assert (error.category, error.error_id) == (
        "ObjectNotFound",
        "CmdletizationQuery_NotFound_InstanceID,Get-NetFirewallRule",
    )
    assert shell.all("Get-NetFirewallRule", Name="none*") == []
    assert shell.error("Remove-NetFirewallRule", Name="none").category == "ObjectNotFound"


def test_a_name_is_taken_once(shell: Any) -> None:
    shell.one("New-NetFirewallRule", **RULE)
    error = shell.error("New-NetFirewallRule", **RULE)
    assert (error.category, error.error_id) == ("ResourceExists", "Windows System Error 183,New-NetFirewallRule")


@pytest.mark.parametrize("change", [{"Protocol": "Any"}, {"LocalPort": ["70000"]}, {"LocalPort": ["http"]}])
def test_invalid_rules_are_refused(shell: Any, change: dict[str, object]) -> None:
    assert shell.error("New-NetFirewallRule", **{**RULE, **change}).category == "InvalidArgument"
    assert shell.all("Get-NetFirewallRule", Name="kubelet*") == []


def test_rules_are_removed_by_pipeline_and_switched(shell: Any) -> None:
    shell.one("New-NetFirewallRule", **RULE)
    rule = shell.one("Get-NetFirewallRule", DisplayName="kubelet*")
    shell.all("Disable-NetFirewallRule", Name="kubelet")
    assert [item["Name"] for item in shell.all("Get-NetFirewallRule", Enabled="False")] == ["kubelet"]
    shell.all("Remove-NetFirewallRule", pipeline=[rule])
    assert shell.all("Get-NetFirewallRule", Name="kubelet*") == []


def test_profiles(shell: Any) -> None:
    shell.all("Set-NetFirewallProfile", Name=["Domain", "Public"], Enabled="False")
    states = {item["Name"]: str(item["Enabled"]) for item in shell.all("Get-NetFirewallProfile")}
    assert states == {"Domain": "False", "Private": "True", "Public": "False"}


def test_a_rule_for_accounts(shell: Any) -> None:
    everyone = "O:LSD:(D;;CC;;;S-1-5-18)(A;;CC;;;S-1-1-0)"
    shell.one("New-NetFirewallRule", **RULE, LocalUser=everyone)
    rule = shell.one("Get-NetFirewallRule", Name="kubelet")
    assert shell.one("Get-NetFirewallSecurityFilter", AssociatedNetFirewallRule=rule)["LocalUser"] == everyone
    shell.all("Set-NetFirewallRule", Name="kubelet", LocalUser="O:LSD:(A;;CC;;;S-1-1-0)")
    assert shell.one("Get-NetFirewallSecurityFilter", AssociatedNetFirewallRule=rule)["LocalUser"] != everyone
    assert shell.error("Set-NetFirewallRule", Name="kubelet", LocalUser="me").category == "InvalidArgument"
    shell.all("Set-NetFirewallRule", Name="kubelet", OverrideBlockRules=True)
    assert shell.one("Get-NetFirewallSecurityFilter", AssociatedNetFirewallRule=rule)["OverrideBlockRules"] is True


def netsh(machine: Machine, *words: str) -> tuple[int, str]:
    result = machine.programs.run("netsh.exe", ["advfirewall", "firewall", *words])
    return result.exit_code, result.stdout.strip()


def test_netsh_adds_and_deletes_rules_by_display_name(machine: Machine) -> None:
    added = ("add", "rule", "name=exporter", "dir=in", "action=allow", "protocol=TCP", "localport=9182")
    assert netsh(machine, *added) == netsh(machine, *added) == (0, "Ok.")
    shell = Shell(machine)
    rules = shell.all("Get-NetFirewallRule", DisplayName="exporter")
    assert [str(rule["Direction"]) for rule in rules] == ["Inbound", "Inbound"]
    assert netsh(machine, "delete", "rule", "name=Exporter") == (0, "Deleted 2 rule(s).\r\nOk.")
    assert netsh(machine, "delete", "rule", "name=exporter") == (1, "No rules match the specified criteria.")
    assert netsh(machine, *added, "profile=domain,private") == (0, "Ok.")
    assert netsh(machine, *added, "profile=nowhere")[0] == 1
    (rule,) = shell.all("Get-NetFirewallRule", DisplayName="exporter")
    assert str(rule["Profile"]) == "Domain, Private"
    for other in ("dir=out", "protocol=UDP", "localport=9183", "profile=public"):
        assert netsh(machine, "delete", "rule", "name=exporter", other)[0] == 1
    assert netsh(machine, "delete", "rule", "name=exporter", "dir=in", "localport=9182")[0] == 0


@pytest.mark.parametrize("words", [("dir=x", "action=allow"), ("dir=in",), ("dir=in", "action=allow", "localport=1")])
def test_netsh_refuses_invalid_rules(machine: Machine, words: tuple[str, ...]) -> None:
    assert netsh(machine, "add", "rule", "name=a", *words) == (1, "A specified value is not valid.")
