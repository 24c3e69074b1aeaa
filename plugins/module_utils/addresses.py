# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Decide which addresses other machines cannot reach, and which addresses identify a node."""

from __future__ import annotations

import ipaddress
import typing as t

DEFAULT_DNS_DOMAIN = "cluster.local"
"""The default DNS domain of clusters that kubeadm or kubespray creates."""


def is_link_local(address: str) -> bool:
    """Return whether an address is link-local.

    An example is 169.254.25.10, the default address of the nodelocaldns cache in kubespray.

    Args:
        address: an IP address. For any other string, False is returned.
    """
    try:
        return ipaddress.ip_address(address.strip()).is_link_local
    except ValueError:
        return False


def is_loopback(host: str) -> bool:
    """Return whether a host name or IP address always refers to the machine that uses it, as localhost does.

    Args:
        host: the host name or IP address. An IPv6 address may be in brackets.
    """
    text = host.strip().strip("[]").lower().rstrip(".")
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return text == "localhost" or text.endswith(".localhost")
    return address.is_loopback or address.is_unspecified


def identifies(node: str, reported: t.Iterable[str], expected: t.Iterable[str]) -> bool:
    """Return whether a node's reported addresses show that the node belongs to a machine.

    That is the case if they contain an address or a name of the machine, apart from the node's own name. The node's
    name proves nothing, because another machine may have the same name.

    Args:
        node: the node's name.
        reported: the addresses and names that the node reports.
        expected: the addresses and names of the machine.
    """
    own = {one.casefold() for one in expected} - {node.casefold()}
    return not own.isdisjoint(one.casefold() for one in reported)
