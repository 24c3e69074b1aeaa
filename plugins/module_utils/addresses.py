# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Addresses that other machines cannot reach."""

from __future__ import annotations

import ipaddress

DEFAULT_DNS_DOMAIN = "cluster.local"
"""The DNS domain of clusters: the default of kubeadm and kubespray."""


def is_link_local(address: str) -> bool:
    """Return whether an address is valid on one machine only, such as 169.254.25.10 of kubespray's nodelocaldns.

    Args:
        address: an IP address. Any other text is no such address.
    """
    try:
        return ipaddress.ip_address(address.strip()).is_link_local
    except ValueError:
        return False


def is_loopback(host: str) -> bool:
    """Return whether a name or address refers to the machine itself.

    Args:
        host: the name or address. An IPv6 address may be in brackets.
    """
    text = host.strip().strip("[]").lower().rstrip(".")
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return text == "localhost" or text.endswith(".localhost")
    return address.is_loopback or address.is_unspecified
