# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The MTU of pods on Linux nodes, as far as the cluster shows it."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.winkube.node.plugins.plugin_utils.pod_networks.catalogue import network
from ansible_collections.winkube.node.plugins.plugin_utils.pod_networks.mtu import linux_mtu


def flannel(**backend: t.Any) -> dict[str, t.Any]:
    return {"flannel": {"config_map": "kube-flannel/kube-flannel-cfg", "net_conf": {"Backend": backend}}}


def calico(mtu: int | None, **more: t.Any) -> dict[str, t.Any]:
    return {"calico": {"namespace": "kube-system", "vxlan": {"mtu": mtu}, **more}}


@pytest.mark.parametrize(
    ("plugin", "mode", "cluster", "pods"),
    [
        ("flannel", "vxlan", flannel(Type="vxlan", MTU=1400), 1350),
        ("flannel", "vxlan", flannel(Type="vxlan", mtu=1400), 1350),
        ("sdnoverlay", "overlay", flannel(Type="vxlan", MTU=1500), 1450),
        ("flannel", "vxlan", flannel(Type="vxlan"), None),
        ("flannel", "vxlan", flannel(Type="vxlan", MTU="1400"), None),
        ("flannel", "vxlan", flannel(Type="vxlan", MTU=True), None),
        ("flannel", "vxlan", {}, None),
        # host-gw uses the MTU of the network adapter, whatever the ConfigMap says (pkg/backend/hostgw/hostgw.go).
        ("flannel", "host-gw", flannel(Type="host-gw", MTU=1400), None),
        ("calico", "vxlan", calico(1350), 1350),
        ("calico", "vxlan", calico(None), None),
        ("calico", "vxlan", calico(None, installation={"mtu": 1440}), 1440),
        ("calico", "bgp", calico(1350), None),
        ("calico", "", calico(1350), None),
        ("azure", "bridge", calico(1350), None),
    ],
)
def test_the_mtu_of_linux_nodes(plugin: str, mode: str, cluster: dict[str, t.Any], pods: int | None) -> None:
    mtu = linux_mtu(network(plugin), mode, cluster)
    assert (None if mtu is None else mtu.pods) == pods


def test_the_setting_and_the_remedy_are_named() -> None:
    in_flannel = linux_mtu(network("flannel"), "vxlan", flannel(MTU=9000))
    by_manifests = linux_mtu(network("calico"), "vxlan", calico(9000))
    by_operator = linux_mtu(network("calico"), "vxlan", calico(9000, installation={"mtu": 9000}))
    assert in_flannel is not None
    assert by_manifests is not None
    assert by_operator is not None
    assert in_flannel.where == "Backend.MTU in ConfigMap kube-flannel/kube-flannel-cfg (net-conf.json)"
    assert "kube-system/calico-node" in by_manifests.where
    assert by_operator.where == "calicoNetwork.mtu of the Installation default"
    assert '"MTU": {adapter}' in in_flannel.remedy
    assert "calico_mtu: {mtu}" in by_manifests.remedy
