# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What kube-proxy needs with a network. The files are golden files."""

from __future__ import annotations

import pytest

from ansible_collections.winkube.node.plugins.plugin_utils.pod_networks import kube_proxy
from ansible_collections.winkube.node.plugins.plugin_utils.pod_networks.catalogue import network
from ansible_collections.winkube.node.plugins.plugin_utils.pod_networks.kube_proxy import source_vip

CIDR = "10.244.3.0/24"


@pytest.mark.parametrize(
    ("cidr", "address"), [("10.244.3.0/24", "10.244.3.254"), ("10.0.0.8/29", "10.0.0.14"), ("fd00::/120", "fd00::fe")]
)
def test_source_vip_is_the_last_usable_address(cidr: str, address: str) -> None:
    assert source_vip(cidr) == address


@pytest.mark.parametrize("cidr", ["", "10.244.3.0/30", "10.244.3.1/24", "x"])
def test_source_vip_of_what_is_no_pod_cidr(cidr: str) -> None:
    with pytest.raises(ValueError, match="pod CIDR"):
        source_vip(cidr)


@pytest.mark.parametrize(
    ("plugin", "mode", "expected"),
    [
        ("flannel", "host-gw", {"networkName": "cbr0", "enableDSR": False}),
        ("flannel", "vxlan", {"networkName": "flannel.4096", "enableDSR": False, "sourceVip": "10.244.3.254"}),
        ("calico", "bgp", {"networkName": "Calico", "enableDSR": True}),
        # The address is that of an HNS endpoint, which is unknown here.
        ("calico", "vxlan", {"networkName": "Calico", "enableDSR": True}),
        ("sdnoverlay", "overlay", {"networkName": "vxlan0", "enableDSR": False, "sourceVip": "10.244.3.254"}),
        ("none", "none", {}),
    ],
)
def test_the_settings_for_windows(plugin: str, mode: str, expected: dict[str, object]) -> None:
    assert kube_proxy.winkernel(network(plugin).mode(mode), CIDR) == expected


def test_the_source_address_is_reserved_on_an_overlay_with_host_local() -> None:
    reserved = kube_proxy.reservation(network("flannel").mode("vxlan"), CIDR)
    assert reserved == ("C:\\var\\lib\\cni\\networks\\flannel.4096\\10.244.3.254", "kube-proxy-source-vip\r\neth0")
    for plugin, mode in (("flannel", "host-gw"), ("calico", "vxlan"), ("none", "none")):
        assert kube_proxy.reservation(network(plugin).mode(mode), CIDR) is None
