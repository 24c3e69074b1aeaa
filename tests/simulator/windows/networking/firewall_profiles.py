# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Firewall profiles and their cmdlets.

Source: https://learn.microsoft.com/powershell/module/netsecurity/set-netfirewallprofile
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from simulator.machine.objects import Bound, Cmdlet, Enumeration, PSObject
from simulator.machine.wildcards import any_match
from simulator.windows.common import cim
from simulator.windows.networking.firewall_rules import NAMESPACE, Firewall

if TYPE_CHECKING:
    from simulator.machine.machine import Machine


def _profiles(machine: Machine) -> dict[str, dict[str, object]]:
    profiles = machine.part(Firewall).profiles
    for name in ("Domain", "Private", "Public"):
        profiles.setdefault(
            name,
            {
                "Enabled": "True",
                "DefaultInboundAction": "NotConfigured",
                "DefaultOutboundAction": "NotConfigured",
                "AllowInboundRules": "NotConfigured",
                "LogAllowed": "False",
                "LogBlocked": "False",
                "LogFileName": r"%systemroot%\system32\LogFiles\Firewall\pfirewall.log",
                "LogMaxSizeKilobytes": 4096,
            },
        )
    return profiles


def _profile_names(machine: Machine, bound: Bound) -> list[str]:
    requested = bound.texts("Name") or bound.texts("Profile")
    requested += [str(item.get("Name")) for item in bound.pipeline if isinstance(item, PSObject)]
    return [name for name in _profiles(machine) if not requested or "Any" in requested or any_match(requested, name)]


def get_profile(machine: Machine, bound: Bound) -> Iterable[object]:
    """Simulate Get-NetFirewallProfile."""
    for name in _profile_names(machine, bound):
        shown = {
            "Name": name,
            "Profile": name,
            "InstanceID": f"MSFT|FW|FirewallProfile|{name}",
            **_profiles(machine)[name],
        }
        shown["Enabled"] = Enumeration(str(shown["Enabled"]), 1 if shown["Enabled"] == "True" else 0)
        yield cim("MSFT_NetFirewallProfile", shown, NAMESPACE)


def set_profile(machine: Machine, bound: Bound) -> Iterable[object]:
    """Simulate Set-NetFirewallProfile."""
    for name in _profile_names(machine, bound):
        profile = _profiles(machine)[name]
        for setting in profile:
            if setting in bound:
                value = bound[setting]
                profile[setting] = value if isinstance(value, int) and not isinstance(value, bool) else str(value)
    return []


CMDLETS: Mapping[str, Cmdlet] = {
    "Get-NetFirewallProfile": get_profile,
    "Set-NetFirewallProfile": set_profile,
}
