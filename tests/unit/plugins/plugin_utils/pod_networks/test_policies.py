# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Access lists for Azure's services, exceptions of outbound NAT, and what differs between the networks."""

from __future__ import annotations

import ipaddress
import typing as t

import hypothesis
import hypothesis.strategies as st
import pytest

from ansible_collections.winkube.node.plugins.plugin_utils.pod_networks import policies
from ansible_collections.winkube.node.plugins.plugin_utils.pod_networks.network import PodNetwork
from ansible_collections.winkube.node.plugins.plugin_utils.pod_networks.settings import NetworkSettings


def settings(plugin: str = "flannel", mode: str = "vxlan", **given: t.Any) -> NetworkSettings:
    values: dict[str, t.Any] = {
        "run_as": "daemonset",
        "is_docker": False,
        "pods_subnet": "10.244.0.0/16",
        "services_subnet": "10.96.0.0/12",
        **given,
    }
    return NetworkSettings(plugin=plugin, mode=mode, **values)


def configuration(plugin: str, mode: str, internal_ip: str = "10.0.0.11", **given: t.Any) -> dict[str, t.Any]:
    found = PodNetwork(settings(plugin, mode, **given)).cni_configuration(internal_ip)
    assert found is not None
    return found[1]


def values(document: dict[str, t.Any]) -> list[dict[str, t.Any]]:
    """Return the policies of a CNI configuration, whatever the plugin calls them."""
    plugin = document.get("delegate") or document["plugins"][0]
    return [one["Value"] for one in plugin.get("policies") or plugin["AdditionalArgs"]]


NETWORKS = [
    ("flannel", "host-gw", {}),
    ("flannel", "vxlan", {}),
    ("flannel", "host-gw", {"is_docker": True, "run_as": "service"}),
    ("flannel", "vxlan", {"is_docker": True, "run_as": "service"}),
    ("azure", "bridge", {}),
    ("sdnbridge", "bridge", {}),
    ("sdnoverlay", "overlay", {}),
]


@pytest.mark.parametrize(("plugin", "mode", "given"), NETWORKS)
def test_a_blocked_service_never_closes_everything_else(plugin: str, mode: str, given: dict[str, t.Any]) -> None:
    for blocks in ({"block_wireserver": True}, {"block_imds": True}, {"block_wireserver": True, "block_imds": True}):
        found = values(configuration(plugin, mode, **given, **blocks))
        rules = [one.get("Settings", one) for one in found if one["Type"] == "ACL"]
        allowed = {(one["Direction"], one["Priority"]) for one in rules if one["Action"] == "Allow"}
        # An endpoint with any ACL denies what no ACL allows.
        assert allowed == {("In", 65500), ("Out", 65500)}
        closed = [one for one in rules if one["Action"] == "Block"]
        assert all(one["Priority"] < 65500 and one["Protocols"] == "6" for one in closed)
        ports = {(one["RemoteAddresses"], one["RemotePorts"]) for one in closed}
        expected = (
            {("168.63.129.16/32", "80"), ("168.63.129.16/32", "32526")} if "block_wireserver" in blocks else set()
        )
        assert ports == expected | ({("169.254.169.254/32", "80")} if "block_imds" in blocks else set())
    assert [one for one in values(configuration(plugin, mode, **given)) if one["Type"] == "ACL"] == []


@pytest.mark.parametrize(("plugin", "mode", "given"), NETWORKS)
def test_the_form_of_policies_is_the_plugins(plugin: str, mode: str, given: dict[str, t.Any]) -> None:
    found = values(configuration(plugin, mode, **given, block_wireserver=True))
    is_flat = plugin == "azure" or bool(given)
    assert {"Settings" in one for one in found} == {not is_flat}


def test_azure_cni_without_and_with_direct_server_return() -> None:
    document = configuration("azure", "bridge")
    (plugin,) = document["plugins"]
    assert plugin["windowsSettings"]["enableLoopbackDSR"] is True
    assert [one["Type"] for one in values(document)] == ["OutBoundNAT"]
    # azure-vnet refuses servers without a search list, and a search list without servers.
    assert "dns" not in plugin
    given = {"cluster_dns": ("10.96.0.10",), "dns_domain": "site.example"}
    dns = configuration("azure", "bridge", **given)["plugins"][0]["dns"]
    assert dns == {"Nameservers": ["10.96.0.10", "168.63.129.16"], "Search": ["svc.site.example"]}


def test_exceptions_of_outbound_nat_with_azure_cni() -> None:
    document = configuration("azure", "bridge", vnet_subnets=("10.244.0.0/12", "10.0.0.0/8"))
    assert values(document)[0] == {"Type": "OutBoundNAT", "ExceptionList": ["10.244.0.0/12", "10.0.0.0/8"]}


def test_microsofts_plugins_get_only_what_they_understand() -> None:
    bridge, overlay = configuration("sdnbridge", "bridge"), configuration("sdnoverlay", "overlay")
    for document, name, plugin in ((bridge, "l2bridge", "sdnbridge"), (overlay, "vxlan0", "sdnoverlay")):
        assert (document["cniVersion"], document["name"], document["type"]) == ("0.3.0", name, "flannel")
        assert document["delegate"]["type"] == plugin
        # flannel's plugin refuses these, because it sets them itself.
        assert not {"name", "ipam"} & set(document["delegate"])
    assert bridge["delegate"]["optionalFlags"] == {"forceBridgeGateway": True}
    assert "optionalFlags" not in overlay["delegate"]
    assert {"Type": "ProviderAddress", "Settings": {"ProviderAddress": "10.0.0.11"}} in values(overlay)
    assert all(one["Type"] != "ProviderAddress" for one in values(bridge))


def test_flanneld_creates_the_networks_of_microsofts_plugins() -> None:
    known = PodNetwork(settings("sdnoverlay", "overlay"))
    assert known.rules.net_conf() == {  # type: ignore[attr-defined]
        "Network": "10.244.0.0/16",
        "Backend": {"Name": "vxlan0", "Type": "vxlan", "VNI": 4096, "Port": 4789},
    }
    assert known.winkernel("10.244.3.0/24")["sourceVip"] == "10.244.3.254"
    # The node's address is in its CNI configuration, so the pod, which is the same on all nodes, does not write it.
    assert known.writes_configuration
    assert not PodNetwork(settings()).writes_configuration


NETWORK = st.tuples(st.integers(0, 2**32 - 1), st.integers(8, 30)).map(
    lambda pair: str(ipaddress.ip_network(pair, strict=False))
)


@hypothesis.given(st.lists(NETWORK, max_size=6))
def test_the_broadest_networks_cover_the_same_addresses(networks: list[str]) -> None:
    chosen = policies.broadest(networks)
    parsed = [ipaddress.ip_network(one) for one in chosen]
    assert len({one.network_address for one in parsed}) == len(parsed)
    assert set(chosen) <= set(networks)
    assert all(any(ipaddress.ip_network(one).subnet_of(other) for other in parsed) for one in networks)  # type: ignore[arg-type]


def test_networks_with_the_same_first_address() -> None:
    assert policies.broadest(["10.0.0.0/16", "10.0.0.0/8", "", "10.1.0.0/16"]) == ["10.0.0.0/8", "10.1.0.0/16"]


@pytest.mark.parametrize(
    ("kubernetes", "gates"),
    [
        ("1.30.4", {"WinDSR": True}),
        ("1.32.9", {"WinDSR": True}),
        ("1.33.0", {}),
        ("1.34.4", {}),
        ("1.37.1", {}),
        ("", {}),
    ],
)
def test_no_feature_gate_is_passed_that_kube_proxy_has_by_default(kubernetes: str, gates: dict[str, bool]) -> None:
    assert PodNetwork(settings("azure", "bridge", kubernetes=kubernetes)).feature_gates() == gates
    assert PodNetwork(settings(kubernetes=kubernetes)).feature_gates() == {}
