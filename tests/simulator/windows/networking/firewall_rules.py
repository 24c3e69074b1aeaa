# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A firewall rule, and its representation in the cmdlets for rules and filters.

The CIM class MSFT_NetFirewallRule defines the numbers of the enumerations. Source of the objects:
https://learn.microsoft.com/powershell/module/netsecurity/get-netfirewallrule
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from simulator.machine.objects import Enumeration, PSObject
from simulator.windows.common import cim

NAMESPACE = "root/standardcimv2"
ENUMS: Mapping[str, Mapping[str, int]] = {
    "Enabled": {"True": 1, "False": 2},
    "Direction": {"Inbound": 1, "Outbound": 2},
    "Action": {"NotConfigured": 0, "Allow": 2, "Block": 4},
    "Profile": {"Any": 0, "Domain": 1, "Private": 2, "Public": 4, "NotApplicable": 65535},
    "EdgeTraversalPolicy": {"Block": 0, "Allow": 1, "DeferToUser": 2, "DeferToApp": 3},
    "Authentication": {"NotRequired": 0, "Required": 1, "NoEncap": 2},
    "Encryption": {"NotRequired": 0, "Required": 1, "Dynamic": 2},
}


@dataclass(frozen=True)
class Rule:
    """A firewall rule with the values of its filters. Addresses and ports are lists in the form that Windows shows."""

    name: str
    display_name: str
    description: str = ""
    group: str = ""
    enabled: str = "True"
    profile: str = "Any"
    direction: str = "Inbound"
    action: str = "Allow"
    edge: str = "Block"
    program: str = "Any"
    package: str = ""
    protocol: str = "Any"
    local_port: tuple[str, ...] = ("Any",)
    remote_port: tuple[str, ...] = ("Any",)
    icmp_type: tuple[str, ...] = ("Any",)
    local_address: tuple[str, ...] = ("Any",)
    remote_address: tuple[str, ...] = ("Any",)
    service: str = "Any"
    interface_alias: tuple[str, ...] = ("Any",)
    interface_type: str = "Any"
    authentication: str = "NotRequired"
    encryption: str = "NotRequired"
    override_block: bool = False
    local_user: str = "Any"
    remote_user: str = "Any"
    remote_machine: str = "Any"


@dataclass
class Firewall:
    """The firewall of a machine: its rules, keyed by lower-case name, and the settings of its profiles."""

    rules: dict[str, Rule] = field(default_factory=dict)
    profiles: dict[str, dict[str, object]] = field(default_factory=dict)


def enumeration(kind: str, name: str) -> Enumeration:
    numbers = ENUMS[kind]
    return Enumeration(name, sum(numbers.get(part.strip(), 0) for part in name.split(",")), f"NetSecurity.{kind}")


def _show(values: tuple[str, ...]) -> object:
    """Convert values as the firewall cmdlets do: a single value to a scalar, several values to a list."""
    return values[0] if len(values) == 1 else list(values)


def rule_object(rule: Rule) -> PSObject:
    return cim(
        "MSFT_NetFirewallRule",
        {
            "Name": rule.name,
            "ID": rule.name,
            "InstanceID": rule.name,
            "ElementName": rule.display_name,
            "DisplayName": rule.display_name,
            "Description": rule.description or None,
            "Group": rule.group or None,
            "DisplayGroup": rule.group or None,
            "RuleGroup": rule.group or None,
            "Enabled": enumeration("Enabled", rule.enabled),
            "Profile": enumeration("Profile", rule.profile),
            "Platform": [],
            "Direction": enumeration("Direction", rule.direction),
            "Action": enumeration("Action", rule.action),
            "EdgeTraversalPolicy": enumeration("EdgeTraversalPolicy", rule.edge),
            "LooseSourceMapping": False,
            "LocalOnlyMapping": False,
            "Owner": None,
            "PrimaryStatus": Enumeration("OK", 1),
            "Status": "The rule was parsed successfully from the store. (65536)",
            "PolicyStoreSource": "PersistentStore",
            "PolicyStoreSourceType": Enumeration("Local", 1),
        },
        NAMESPACE,
        text=f'MSFT_NetFirewallRule (CreationClassName = "", PolicyRuleName = "", InstanceID = "{rule.name}")',
    )


FILTERS: Mapping[str, tuple[str, Callable[[Rule], dict[str, object]]]] = {
    "PortFilter": (
        "MSFT_NetProtocolPortFilter",
        lambda rule: {
            "Protocol": rule.protocol,
            "LocalPort": _show(rule.local_port),
            "RemotePort": _show(rule.remote_port),
            "IcmpType": _show(rule.icmp_type),
            "DynamicTarget": Enumeration("Any", 0),
            "DynamicTransport": Enumeration("Any", 0),
        },
    ),
    "AddressFilter": (
        "MSFT_NetAddressFilter",
        lambda rule: {
            "LocalAddress": _show(rule.local_address),
            "LocalIP": _show(rule.local_address),
            "RemoteAddress": _show(rule.remote_address),
            "RemoteIP": _show(rule.remote_address),
        },
    ),
    "ApplicationFilter": (
        "MSFT_NetApplicationFilter",
        lambda rule: {"Program": rule.program, "AppPath": rule.program, "Package": rule.package or None},
    ),
    "ServiceFilter": (
        "MSFT_NetServiceFilter",
        lambda rule: {"Service": rule.service, "ServiceName": rule.service},
    ),
    "InterfaceTypeFilter": (
        "MSFT_NetInterfaceTypeFilter",
        lambda rule: {"InterfaceType": rule.interface_type},
    ),
    "InterfaceFilter": (
        "MSFT_NetInterfaceFilter",
        lambda rule: {"InterfaceAlias": _show(rule.interface_alias)},
    ),
    "SecurityFilter": (
        "MSFT_NetNetworkLayerSecurityFilter",
        lambda rule: {
            "Authentication": enumeration("Authentication", rule.authentication),
            "Encryption": enumeration("Encryption", rule.encryption),
            "OverrideBlockRules": rule.override_block,
            "LocalUser": rule.local_user,
            "RemoteUser": rule.remote_user,
            "RemoteMachine": rule.remote_machine,
        },
    ),
}
