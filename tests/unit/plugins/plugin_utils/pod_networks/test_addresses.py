# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Addresses in a cluster."""

from __future__ import annotations

import pytest

from ansible_collections.winkube.node.plugins.plugin_utils.pod_networks import addresses

LOCAL, SERVICE = "169.254.25.10", "10.233.0.3"


@pytest.mark.parametrize(
    ("address", "expected"),
    [(LOCAL, True), (" fe80::1 ", True), (SERVICE, False), ("", False), ("dns.example", False)],
)
def test_addresses_that_only_one_machine_serves(address: str, expected: bool) -> None:
    assert addresses.is_link_local(address) is expected


@pytest.mark.parametrize(
    ("services", "expected"),
    [
        ("10.233.0.0/18", SERVICE),
        ("10.233.0.0/18,fd00::/112", SERVICE),
        ("fd00::/112", "fd00::3"),
        ("10.0.0.0/31", ""),
        ("", ""),
        ("x", ""),
    ],
)
def test_the_address_that_kubespray_gives_to_dns(services: str, expected: str) -> None:
    assert addresses.kubespray_dns(services) == expected


@pytest.mark.parametrize(
    ("configured", "service", "expected"),
    [
        ([LOCAL], SERVICE, [SERVICE]),
        ([LOCAL, "10.233.0.10"], SERVICE, [SERVICE]),
        (["10.233.0.10"], SERVICE, []),
        ([], SERVICE, []),
        ([LOCAL], "", []),
    ],
)
def test_dns_that_windows_nodes_reach(configured: list[str], service: str, expected: list[str]) -> None:
    assert addresses.reachable_dns(configured, service) == expected
