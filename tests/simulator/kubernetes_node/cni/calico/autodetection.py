# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Find a node's address as calico-node does.

The simulated nodes have addresses in 127.0.0.0/8. Unlike calico-node, this module accepts such addresses.

Source: node/pkg/lifecycle/startup/autodetection.
"""

from __future__ import annotations

import ipaddress
import json
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from simulator.kubernetes_node.cni.calico.environment import CalicoError
from simulator.windows.networking.network import interfaces

if TYPE_CHECKING:
    from simulator.machine.machine import Machine
    from simulator.windows.networking.network_state import Interface

FAILED = "failed to autodetect an IPv4 address"


def detect(machine: Machine, method: str, node: Mapping[str, Any]) -> str:
    """Return the node's address with its prefix length, such as `10.0.0.5/24`.

    Args:
        machine: the node's machine.
        method: the value of IP_AUTODETECTION_METHOD.
        node: the node's object in the Kubernetes API.

    Raises:
        CalicoError: no address is found, or the method is unknown.
    """
    cards = _cards(machine)
    name, _, argument = method.partition("=")
    found: Interface | None = None
    if name in ("", "first-found"):
        found = next(iter(cards), None)
    elif name == "interface":
        found = next((card for card in cards for part in argument.split(",") if re.search(part, card.alias)), None)
    elif name == "skip-interface":
        skipped = argument.split(",")
        found = next((card for card in cards if not any(re.search(part, card.alias) for part in skipped)), None)
    elif name == "cidr":
        networks = [ipaddress.ip_network(part, strict=False) for part in argument.split(",")]
        found = next((card for card in cards if any(_inside(card, network) for network in networks)), None)
    elif name == "can-reach":
        found = next(iter(cards), None)
    elif name == "kubernetes-internal-ip":
        found = _internal(cards, node)
    else:
        raise CalicoError(f"Invalid IP autodetection method: {method}")
    if found is None:
        raise CalicoError(FAILED)
    first = found.addresses[0]
    return f"{first.address}/{first.prefix}"


def published(machine: Machine) -> str:
    """Return the machine's network interfaces in the format of the projectcalico.org/Interfaces node annotation."""
    cards = sorted(_cards(machine), key=lambda card: card.alias)
    found = [{"name": card.alias, "addresses": [item.address for item in card.addresses]} for card in cards]
    return json.dumps(found, separators=(",", ":"))


def _cards(machine: Machine) -> list[Interface]:
    return [card for card in interfaces(machine) if card.addresses and not card.alias.endswith("_ep)")]


def local(machine: Machine, address: str) -> str:
    """Return an address with its interface's prefix length, or unchanged if no interface has the address."""
    for card in interfaces(machine):
        for item in card.addresses:
            if item.address == address:
                return f"{item.address}/{item.prefix}"
    return address


def _inside(card: Interface, network: ipaddress.IPv4Network | ipaddress.IPv6Network) -> bool:
    return ipaddress.ip_address(card.address) in network


def _internal(cards: list[Interface], node: Mapping[str, Any]) -> Interface | None:
    addresses = (node.get("status") or {}).get("addresses") or []
    known = [item["address"] for item in addresses if item["type"] == "InternalIP"]
    return next((card for card in cards if card.address in known), None)
