# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Decide which connections an endpoint's ACL policies allow.

Of the rules that match a connection, the one with the lowest priority number applies. As soon as an endpoint has one
ACL, everything that no rule allows is blocked (microsoft/Windows-Containers#616,
Azure/azure-container-networking#2617). If matching rules with different actions have the same priority, the connection
is blocked.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping, Sequence

_PROTOCOLS = {"6": 6, "TCP": 6, "17": 17, "UDP": 17, "1": 1, "256": 256}
ANY = 256


def allows(
    policies: Sequence[Mapping[str, object]], direction: str, address: str, port: int, protocol: int = 6
) -> bool:
    """Return whether an endpoint's policies allow a connection.

    Args:
        policies: the endpoint's policies (`hns/policies.py`).
        direction: `In` or `Out`.
        address: the remote address.
        port: the destination port: a local one for `In`, a remote one for `Out`.
        protocol: 6 is TCP, 17 is UDP.
    """
    # Rules of type Host are for the host's own firewall (microsoft/hcsshim hcn/hcnpolicy.go), not for the endpoint.
    rules = [item for item in policies if item.get("Type") == "ACL" and item.get("RuleType") != "Host"]
    if not rules:
        return True
    matching = [item for item in rules if _matches(item, direction, address, port, protocol)]
    if not matching:
        return False
    first = min(matching, key=lambda item: (_priority(item), item["Action"] != "Block"))
    return first["Action"] == "Allow"


def _priority(rule: Mapping[str, object]) -> int:
    return int(str(rule.get("Priority") or 0))


def _matches(rule: Mapping[str, object], direction: str, address: str, port: int, protocol: int) -> bool:
    if rule["Direction"] != direction:
        return False
    wanted = str(rule.get("Protocols") or rule.get("Protocol") or ANY)
    protocols = {_PROTOCOLS.get(item.strip().upper(), -1) for item in wanted.split(",")}
    if ANY not in protocols and protocol not in protocols:
        return False
    networks = [item.strip() for item in str(rule.get("RemoteAddresses") or "").split(",") if item.strip()]
    other = ipaddress.ip_address(address)
    if networks and not any(other in ipaddress.ip_network(item, strict=False) for item in networks):
        return False
    side = "Local" if direction == "In" else "Remote"
    return _has(str(rule.get(f"{side}Ports") or rule.get(f"{side}Port") or ""), port)


def _has(ports: str, port: int) -> bool:
    """Return whether a list of ports and ranges (`80,8000-8080`) contains a port. An empty list contains all ports."""
    for item in filter(None, ports.replace(" ", "").split(",")):
        first, _, last = item.partition("-")
        if int(first) <= port <= int(last or first):
            return True
    return not ports.strip()
