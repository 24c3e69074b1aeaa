# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The address at which Windows nodes reach the cluster's DNS."""

from __future__ import annotations

import ipaddress
import typing as t

from ...module_utils.addresses import is_link_local

_DNS = 3
"""The position, counted from 0, of the DNS address in the service network of a cluster that kubespray set up. Source:
`skydns_server` in kubespray's roles/kubespray_defaults/defaults/main/main.yml."""


def kubespray_dns(services: str) -> str:
    """Return the DNS address that kubespray assigns, or an empty string if no sufficiently large network is given.

    Args:
        services: the cluster's service network in CIDR notation, or several networks separated by commas, of which
            the first is used.
    """
    try:
        network = ipaddress.ip_network(services.split(",")[0].strip(), strict=False)
    except ValueError:
        return ""
    return str(network[_DNS]) if network.num_addresses > _DNS else ""


def reachable_dns(configured: t.Iterable[str], service: str) -> list[str]:
    """Return the DNS addresses that replace the addresses in the kubelets' configuration on Windows nodes.

    nodelocaldns runs only on Linux nodes, at a link-local address. Pods on Windows nodes cannot reach this address.

    Args:
        configured: `clusterDNS` in the kubelets' configuration.
        service: address of the cluster's DNS service; empty if unknown.

    Returns:
        The addresses, or an empty list if the kubelets' configuration suits Windows nodes or the service is unknown.
    """
    return [service] if service and any(is_link_local(one) for one in configured) else []
