# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The cmdlets for firewall rules. Source: learn.microsoft.com/powershell/module/netsecurity/new-netfirewallrule"""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from simulator.machine.objects import Bound, Cmdlet, CmdletError, PSObject, items
from simulator.machine.wildcards import any_match, has_wildcard, matches
from simulator.windows.common import cim, no_cim_object
from simulator.windows.networking.firewall_profiles import CMDLETS as PROFILES
from simulator.windows.networking.firewall_rules import FILTERS, NAMESPACE, Firewall, Rule, rule_object

if TYPE_CHECKING:
    from simulator.machine.machine import Machine

# The parameters of New- and Set-NetFirewallRule with their attributes of Rule.
_TEXTS = (
    ("Description", "description"),
    ("Group", "group"),
    ("Enabled", "enabled"),
    ("Direction", "direction"),
    ("Action", "action"),
    ("EdgeTraversalPolicy", "edge"),
    ("Program", "program"),
    ("Package", "package"),
    ("Service", "service"),
    ("InterfaceType", "interface_type"),
)
_LISTS = (
    ("LocalPort", "local_port"),
    ("RemotePort", "remote_port"),
    ("IcmpType", "icmp_type"),
    ("LocalAddress", "local_address"),
    ("RemoteAddress", "remote_address"),
    ("InterfaceAlias", "interface_alias"),
)
_SECURITY = (
    ("Authentication", "authentication"),
    ("Encryption", "encryption"),
    ("LocalUser", "local_user"),
    ("RemoteUser", "remote_user"),
    ("RemoteMachine", "remote_machine"),
)
_SDDL = re.compile(r"O:[\w-]+?(?:G:[\w-]+?)?D:(?:\([AD];;CC;;;[\w-]+\))+")
_PROTOCOLS = {"6": "TCP", "17": "UDP", "1": "ICMPv4", "58": "ICMPv6"}
_NAMED_PORTS = ("Any", "RPC", "RPCEPMap", "IPHTTPS", "IPHTTPSIn", "IPHTTPSOut", "Teredo", "PlayToDiscovery", "mDNS")


def _invalid(message: str) -> CmdletError:
    return CmdletError(
        "InvalidArgument", "HRESULT 0x80070057", message, "Microsoft.Management.Infrastructure.CimException"
    )


def _exists() -> CmdletError:
    return CmdletError(
        "ResourceExists",
        "Windows System Error 183",
        "Cannot create a file when that file already exists.",
        "Microsoft.Management.Infrastructure.CimException",
    )


def _changes(bound: Bound, *, display: str) -> dict[str, object]:
    """Convert the parameters of a firewall cmdlet to rule attributes."""
    changes: dict[str, object] = {}
    for parameter, attribute in _TEXTS:
        if parameter in bound:
            changes[attribute] = bound.text(parameter)
    for parameter, attribute in _LISTS:
        if parameter in bound:
            changes[attribute] = tuple(bound.texts(parameter)) or ("Any",)
    if display in bound:
        changes["display_name"] = bound.text(display)
    if "Profile" in bound:
        changes["profile"] = ", ".join(bound.texts("Profile"))
    if "Protocol" in bound:
        text = bound.text("Protocol")
        changes["protocol"] = _PROTOCOLS.get(text, _canonical(text, (*_PROTOCOLS.values(), "Any")))
    return {**changes, **_security(bound)}


def _security(bound: Bound) -> dict[str, object]:
    """Convert the security parameters of a firewall cmdlet to rule attributes. Accounts are specified in SDDL.

    New-NetFirewallRule, Set-NetFirewallRule and Set-NetFirewallSecurityFilter all have these parameters.
    """
    changes: dict[str, object] = {}
    for parameter, attribute in _SECURITY:
        if parameter in bound:
            text = bound.text(parameter)
            if attribute.endswith(("user", "machine")) and text != "Any" and not _SDDL.fullmatch(text):
                raise _invalid("The parameter is incorrect.")
            changes[attribute] = text
    if "OverrideBlockRules" in bound:
        changes["override_block"] = bound.flag("OverrideBlockRules")
    return changes


def _canonical(text: str, known: Iterable[str]) -> str:
    return next((name for name in known if name.casefold() == text.casefold()), text)


def _check(rule: Rule) -> Rule:
    """Return the given rule, or raise the error that Windows reports if the rule is invalid."""
    for ports in (rule.local_port, rule.remote_port):
        if ports != ("Any",) and rule.protocol not in ("TCP", "UDP"):
            raise _invalid("The port is invalid. Ports can only be specified if the protocol is TCP or UDP.")
        for port in ports:
            numbers = port.split("-", 1)
            if port in _NAMED_PORTS or any(name.casefold() == port.casefold() for name in _NAMED_PORTS):
                continue
            if not all(number.isdigit() and int(number) <= 65535 for number in numbers):
                raise _invalid(f"The port number is invalid: {port}")
    if rule.edge != "Block" and rule.direction == "Outbound":
        raise _invalid("The edge traversal policy is invalid for outbound rules.")
    return rule


def _select(machine: Machine, bound: Bound, command: str) -> list[Rule]:
    """Return the rules that a cmdlet selects by name, display name, group or input objects.

    If none of these is given, return all rules. Get-NetFirewallRule also selects by Enabled, Direction and Action.
    """
    rules = machine.part(Firewall).rules
    inputs = [
        item for key, value in bound.items() for item in items(value) if key.startswith(("Associated", "InputObject"))
    ]
    inputs += [item for item in bound.pipeline if isinstance(item, PSObject)]
    if inputs:
        names = [str(item.get("InstanceID") or item.get("Name")) for item in inputs if isinstance(item, PSObject)]
        return [rules[name.casefold()] for name in names if name.casefold() in rules]
    requested: dict[str, Rule] = {}
    for parameter, attribute in (
        ("Name", "name"),
        ("DisplayName", "display_name"),
        ("DisplayGroup", "group"),
        ("Group", "group"),
    ):
        patterns = bound.texts(parameter)
        for pattern in patterns:
            found = {rule.name: rule for rule in rules.values() if matches(pattern, str(getattr(rule, attribute)))}
            if not found and not has_wildcard(pattern):
                raise no_cim_object(
                    "MSFT_NetFirewallRule", "InstanceID" if parameter == "Name" else parameter, pattern, command
                )
            requested |= found
        if patterns:
            return _narrow(list(requested.values()), bound)
    return _narrow(list(rules.values()), bound)


def _narrow(rules: list[Rule], bound: Bound) -> list[Rule]:
    """Return those of the given rules that match -Enabled, -Direction and -Action of Get-NetFirewallRule.

    For other cmdlets, return all given rules.
    """
    if bound.command.casefold() != "get-netfirewallrule":
        return rules
    for parameter, attribute in (("Enabled", "enabled"), ("Direction", "direction"), ("Action", "action")):
        if parameter in bound:
            rules = [rule for rule in rules if any_match(bound.texts(parameter), str(getattr(rule, attribute)))]
    return rules


def get_rule(machine: Machine, bound: Bound) -> Iterable[object]:
    """Simulate Get-NetFirewallRule."""
    return [rule_object(rule) for rule in _select(machine, bound, "Get-NetFirewallRule")]


def new_rule(machine: Machine, bound: Bound) -> Iterable[object]:
    """Simulate New-NetFirewallRule."""
    rules = machine.part(Firewall).rules
    name = bound.text("Name") or f"{{{str(uuid.uuid4()).upper()}}}"
    rule = _check(replace(Rule(name, bound.text("DisplayName")), **_changes(bound, display="DisplayName")))  # type: ignore[arg-type]
    if name.casefold() in rules:
        raise _exists()
    if not bound.flag("WhatIf"):
        rules[name.casefold()] = rule
    return [rule_object(rule)]


def set_rule(machine: Machine, bound: Bound) -> Iterable[object]:
    """Simulate Set-NetFirewallRule."""
    firewall = machine.part(Firewall)
    found = _select(machine, bound, "Set-NetFirewallRule")
    changes = _changes(bound, display="NewDisplayName")
    # -Group selects rules here. Of the identifying properties, only the display name can be changed.
    changes.pop("group", None)
    changed = [_check(replace(rule, **changes)) for rule in found]  # type: ignore[arg-type]
    for rule in changed:
        firewall.rules[rule.name.casefold()] = rule
    return [rule_object(rule) for rule in changed] if bound.flag("PassThru") else []


def remove_rule(machine: Machine, bound: Bound) -> Iterable[object]:
    """Simulate Remove-NetFirewallRule."""
    found = _select(machine, bound, "Remove-NetFirewallRule")
    for rule in found:
        machine.part(Firewall).rules.pop(rule.name.casefold(), None)
    return [rule_object(rule) for rule in found] if bound.flag("PassThru") else []


def _enable(enabled: str, command: str) -> Cmdlet:
    def handler(machine: Machine, bound: Bound) -> Iterable[object]:
        for rule in _select(machine, bound, command):
            machine.part(Firewall).rules[rule.name.casefold()] = replace(rule, enabled=enabled)
        return []

    return handler


def _get_filter(kind: str) -> Cmdlet:
    class_name, properties = FILTERS[kind]

    def handler(machine: Machine, bound: Bound) -> Iterable[object]:
        for rule in _select(machine, bound, f"Get-NetFirewall{kind}"):
            yield cim(class_name, {"InstanceID": rule.name, **properties(rule)}, NAMESPACE)

    return handler


def set_security_filter(machine: Machine, bound: Bound) -> Iterable[object]:
    """Simulate Set-NetFirewallSecurityFilter, which limits a rule to accounts that are specified in SDDL."""
    changes = _security(bound)
    for rule in _select(machine, bound, "Set-NetFirewallSecurityFilter"):
        machine.part(Firewall).rules[rule.name.casefold()] = replace(rule, **changes)  # type: ignore[arg-type]
        if bound.flag("PassThru"):
            class_name, properties = FILTERS["SecurityFilter"]
            yield cim(class_name, {"InstanceID": rule.name, **properties(replace(rule, **changes))}, NAMESPACE)  # type: ignore[arg-type]


def _create_baseline(machine: Machine) -> None:
    """Create two of the rules that a newly installed server has: those that allow WinRM and DHCP."""
    for name, display, group, port in (
        ("WINRM-HTTP-In-TCP", "Windows Remote Management (HTTP-In)", "Windows Remote Management", "5985"),
        ("CoreNet-DHCP-In", "Core Networking - Dynamic Host Configuration Protocol (DHCP-In)", "Core Networking", "68"),
    ):
        protocol = "UDP" if port == "68" else "TCP"
        rule = Rule(name, display, group=group, protocol=protocol, local_port=(port,))
        machine.part(Firewall).rules[name.casefold()] = rule


def _status(machine: Machine) -> object:
    return {
        rule.name: {
            "enabled": rule.enabled == "True",
            "direction": rule.direction,
            "action": rule.action,
            "protocol": rule.protocol,
            "local_port": list(rule.local_port),
            "remote_address": list(rule.remote_address),
            "local_user": rule.local_user,
        }
        for rule in machine.part(Firewall).rules.values()
    }


CMDLETS: Mapping[str, Cmdlet] = {
    "Get-NetFirewallRule": get_rule,
    "New-NetFirewallRule": new_rule,
    "Set-NetFirewallRule": set_rule,
    "Remove-NetFirewallRule": remove_rule,
    "Enable-NetFirewallRule": _enable("True", "Enable-NetFirewallRule"),
    "Disable-NetFirewallRule": _enable("False", "Disable-NetFirewallRule"),
    "Set-NetFirewallSecurityFilter": set_security_filter,
    **{f"Get-NetFirewall{kind}": _get_filter(kind) for kind in FILTERS},
    **PROFILES,
}
STATUS = {"firewall": _status}
BASELINE = _create_baseline
