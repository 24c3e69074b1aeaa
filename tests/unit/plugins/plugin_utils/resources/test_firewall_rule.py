# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Rules of the Windows firewall."""

from __future__ import annotations

import typing as t

import pytest
from unit.resource_answers import answer, call, commands, failure, must, one, planned

from ansible_collections.winkube.node.plugins.plugin_utils.values.errors import ResourceError

NO_RULE = failure("ObjectNotFound", "CmdletizationQuery_NotFound_InstanceID,Get-NetFirewallRule")
SKIPPED = answer(skipped="needs rule")


def rule(**more: t.Any) -> t.Any:
    return one(**{"type": "FirewallRule", "name": "kubelet", "protocol": "tcp", "local_ports": "10250", **more})


def seen(**more: t.Any) -> dict[str, t.Any]:
    found = {
        "DisplayName": "kubelet",
        "Description": None,
        "Group": None,
        "Direction": "Inbound",
        "Action": "Allow",
        "Profile": "Any",
        "Enabled": "True",
        "Protocol": "TCP",
        "LocalPort": "10250",
        "RemotePort": "Any",
        "LocalAddress": "Any",
        "RemoteAddress": "Any",
        **more,
    }
    return {"rule": answer(found), "ports": answer(found), "addresses": answer(found)}


@pytest.mark.parametrize(
    ("requested", "found"),
    [
        ({}, {}),
        ({"protocol": 6}, {}),
        ({"local_ports": "80,443"}, {"LocalPort": ["443", "80"]}),
        ({"remote_addresses": ["10.0.0.0/8", "localsubnet"]}, {"RemoteAddress": ["LocalSubnet", "10.0.0.0/255.0.0.0"]}),
        ({"profile": ["Private", "Domain"]}, {"Profile": "Domain, Private"}),
        ({}, {"Profile": "Domain, Private, Public"}),
        ({"enabled": False}, {"Enabled": "False"}),
        ({"group": "Kubernetes"}, {"Group": "kubernetes"}),
        ({"protocol": "icmpv4", "local_ports": []}, {"Protocol": "ICMPv4", "LocalPort": "RPC"} | {"LocalPort": "Any"}),
    ],
)
def test_a_rule_without_a_difference_needs_no_change(requested: dict[str, t.Any], found: dict[str, t.Any]) -> None:
    assert planned(rule(**requested), **seen(**found)) is None


def test_a_new_rule() -> None:
    change = must(rule(profile=["Domain", "Private"]), rule=NO_RULE, ports=SKIPPED, addresses=SKIPPED)
    assert commands(change) == ["New-NetFirewallRule"]
    assert change.calls[0].parameters == {
        "Name": "kubelet",
        "DisplayName": "kubelet",
        "Direction": "Inbound",
        "Action": "Allow",
        "Profile": "Domain, Private",
        "Enabled": "True",
        "Protocol": "TCP",
        "LocalPort": ["10250"],
        "RemotePort": ["Any"],
        "LocalAddress": ["Any"],
        "RemoteAddress": ["Any"],
    }


def test_a_new_rule_without_ports_sets_no_ports() -> None:
    change = must(rule(protocol="ICMPv4", local_ports=[]), rule=NO_RULE, ports=SKIPPED, addresses=SKIPPED)
    assert not {"LocalPort", "RemotePort"} & set(change.calls[0].parameters)


@pytest.mark.parametrize(
    ("requested", "found", "parameters"),
    [
        ({"display_name": "Kubelet API"}, {}, {"NewDisplayName": "Kubelet API"}),
        ({"action": "Block"}, {}, {"Action": "Block"}),
        ({"enabled": False}, {}, {"Enabled": "False"}),
        ({"local_ports": "10255"}, {}, {"Protocol": "TCP", "LocalPort": ["10255"], "RemotePort": ["Any"]}),
        ({"remote_addresses": ["10.1.0.0/16"]}, {}, {"RemoteAddress": ["10.1.0.0/16"]}),
    ],
)
def test_a_change_sends_the_differences(
    requested: dict[str, t.Any], found: dict[str, t.Any], parameters: dict[str, t.Any]
) -> None:
    change = must(rule(**requested), **seen(**found))
    assert commands(change) == ["Set-NetFirewallRule"]
    assert change.calls[0].parameters == {"Name": ["kubelet"], **parameters}


def test_only_a_new_rule_gets_a_group() -> None:
    assert commands(must(rule(group="Kubernetes"), **seen())) == ["Remove-NetFirewallRule", "New-NetFirewallRule"]


def test_a_program() -> None:
    requested = rule(program="C:\\k\\kubelet.exe")
    assert planned(requested, **seen(), program=answer({"Program": "c:\\k\\kubelet.exe"})) is None
    change = must(requested, **seen(), program=answer({"Program": "Any"}))
    assert call(change, "rule").parameters == {"Name": ["kubelet"], "Program": "C:\\k\\kubelet.exe"}


def test_absence() -> None:
    assert planned(rule(state="absent"), rule=NO_RULE, ports=SKIPPED, addresses=SKIPPED) is None
    assert commands(must(rule(state="absent"), **seen())) == ["Remove-NetFirewallRule"]


@pytest.mark.parametrize(
    "properties",
    [{"name": "a*"}, {"protocol": "tpc"}, {"protocol": "300"}, {"protocol": "Any"}, {"protocol": "ICMPv4"}],
)
def test_invalid_rules_are_refused(properties: dict[str, t.Any]) -> None:
    with pytest.raises(ResourceError):
        rule(**properties)


def exempting(**more: t.Any) -> t.Any:
    return rule(except_users=["S-1-5-18", "cloudbase-init"], **more)


NO_USER = failure("ObjectNotFound", "UserNotFound,Microsoft.PowerShell.Commands.GetLocalUserCommand")
ASKED = {"user.cloudbase-init": answer({"SID": "S-1-5-21-1-2-3-1001"})}
SYSTEM_ONLY = "O:LSD:(D;;CC;;;S-1-5-18)(A;;CC;;;S-1-1-0)"
BOTH = "O:LSD:(D;;CC;;;S-1-5-18)(D;;CC;;;S-1-5-21-1-2-3-1001)(A;;CC;;;S-1-1-0)"


def test_users_that_a_rule_ignores() -> None:
    change = must(exempting(), **ASKED, rule=NO_RULE, ports=SKIPPED, addresses=SKIPPED, security=SKIPPED)
    assert call(change, "rule").parameters["LocalUser"] == BOTH
    assert planned(exempting(), **ASKED, **seen(), security=answer({"LocalUser": BOTH})) is None
    abbreviated = BOTH.replace("S-1-5-18", "SY").replace("S-1-1-0", "WD")
    assert planned(exempting(), **ASKED, **seen(), security=answer({"LocalUser": abbreviated})) is None
    change = must(exempting(), **ASKED, **seen(), security=answer({"LocalUser": SYSTEM_ONLY}))
    assert call(change, "rule").parameters == {"Name": ["kubelet"], "LocalUser": BOTH}
    # A user that does not exist has no programs.
    missing = {"user.cloudbase-init": NO_USER}
    assert planned(exempting(), **missing, **seen(), security=answer({"LocalUser": SYSTEM_ONLY})) is None


def test_a_rule_for_virtual_machines_of_azure() -> None:
    azure = answer({"SMBIOSAssetTag": "7783-7084-3265-9085-8269-3286-77"})
    missing = {"rule": NO_RULE, "ports": SKIPPED, "addresses": SKIPPED}
    assert planned(rule(platform="azure"), **missing, **{"azure.chassis": answer({"SMBIOSAssetTag": "1"})}) is None
    assert commands(must(rule(platform="azure"), **missing, **{"azure.chassis": azure})) == ["New-NetFirewallRule"]
