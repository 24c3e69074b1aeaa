# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The resources of the role cni. The configuration of flannel and the plugins is in the golden files."""

from __future__ import annotations

import json
import typing as t

import pytest
from unit.plugins.plugin_utils.node_resources import samples
from unit.plugins.plugin_utils.node_resources.samples import named

from ansible_collections.winkube.node.plugins.plugin_utils.node_resources import cni
from ansible_collections.winkube.node.plugins.plugin_utils.node_resources.cni import CniSettings


def settings(**network: t.Any) -> CniSettings:
    versions = {
        "plugins_version": "1.9.0",
        "flannel_version": "0.28.9",
        "flannel_plugin_version": "1.9.1-flannel1",
        "azure_vnet_version": "1.6.21",
        "sdn_plugin_version": "0.3.3",
    }
    empty = [version.replace("_version", what) for version in versions for what in ("_url", "_sha256")]
    blocks = network.pop("block_wireserver_of_host", "auto")
    return CniSettings(
        **versions,
        **dict.fromkeys(empty, ""),
        bin_dir="C:\\cni",
        conf_dir="C:\\conf",
        flannel_dir="C:\\flannel",
        block_wireserver=blocks,
        network=samples.network(**network),
        downloads=samples.downloads(),
    )


def test_another_plugin_gets_the_plugins_only() -> None:
    kinds = [one["name"] for one in cni.resources(settings(plugin="none")) if one["type"] == "Archive"]
    assert kinds == ["CNI plugins"]
    folders = {one["name"] for one in cni.resources(settings(plugin="none")) if one["type"] == "Directory"}
    assert folders == {"C:\\cni", "C:\\conf"}


def test_flannels_programs_and_folders() -> None:
    found = cni.resources(settings())
    assert named(found, "flannel's CNI plugin")["renames"] == {"flannel-amd64.exe": "flannel.exe"}
    archives = [one for one in found if one["type"] == "Archive" and one["name"] == "C:\\flannel"]
    assert [one["stops"] for one in archives] == [[]]
    folders = {one["name"] for one in found if one["type"] == "Directory"}
    assert folders == {"C:\\cni", "C:\\conf", "C:\\flannel", "C:\\run\\flannel", "C:\\var\\lib\\cni"}
    docker = cni.resources(settings(is_docker=True))
    (flannel,) = [one for one in docker if one["type"] == "Archive" and one["name"] == "C:\\flannel"]
    assert flannel["stops"] == ["kube-proxy", "flanneld"]
    assert "C:\\etc\\kube-flannel" in {one["name"] for one in docker}


def test_programs_that_make_pods_networks_are_replaced_on_drained_nodes() -> None:
    found = [one for one in cni.resources(settings()) if one["type"] == "Archive"]
    assert {one["name"]: one.get("disrupts", False) for one in found} == {
        "CNI plugins": True,
        "C:\\flannel": False,
        "flannel's CNI plugin": True,
    }


def test_the_record_distinguishes_networks() -> None:
    notes = [
        samples.network(),
        samples.network(mode="host-gw"),
        samples.network(run_as="service"),
        samples.network(plugin="none"),
    ]
    contents = [json.loads(cni.noted(one)["content"]) for one in notes]
    assert contents == [
        {"plugin": "flannel", "mode": "vxlan", "network": "flannel.4096"},
        {"plugin": "flannel", "mode": "host-gw", "network": "cbr0"},
        {"plugin": "flannel", "mode": "vxlan", "network": "flannel.4096", "services": True},
        {"plugin": "none", "mode": "", "network": ""},
    ]
    # The network is the same, however it runs.
    assert notes[0].identity() == notes[2].identity()


def test_azure_cnis_programs_and_registry_value() -> None:
    found = cni.resources(settings(plugin="azure", mode="bridge"))
    archives = [one for one in found if one["type"] == "Archive"]
    assert [(one["members"], one["disrupts"]) for one in archives] == [
        (["azure-vnet.exe", "azure-vnet-ipam.exe"], True)
    ]
    (value,) = [one for one in found if one["type"] == "Registry"]
    assert (value["value_name"], value["value"]) == ("SDNRemoteArpMacAddress", "12-34-56-78-9a-bc")
    # A restart of hns disrupts pods, so the value changes only on a drained node.
    assert value["restarts"] == ["hns"]
    assert {one["name"] for one in found if one["type"] == "Directory"} == {"C:\\cni", "C:\\conf"}


@pytest.mark.parametrize(
    ("plugin", "mode", "program"),
    [("sdnbridge", "bridge", "sdnbridge.exe"), ("sdnoverlay", "overlay", "sdnoverlay.exe")],
)
def test_microsofts_plugins_come_with_flannels_programs(plugin: str, mode: str, program: str) -> None:
    found = [one for one in cni.resources(settings(plugin=plugin, mode=mode)) if one["type"] == "Archive"]
    assert [one["check"] for one in found] == [["host-local.exe"], ["flanneld.exe"], ["flannel.exe"], [program]]


def test_the_hosts_firewall_closes_wire_server() -> None:
    def rules(blocks: str, **network: t.Any) -> list[dict[str, t.Any]]:
        found = cni.resources(settings(block_wireserver_of_host=blocks, **network))
        return [one for one in found if one["type"] == "FirewallRule"]

    (automatic,), (always,), (never,) = rules("auto"), rules("always"), rules("never")
    assert automatic["platform"] == "azure"
    assert (automatic["remote_addresses"], automatic["remote_ports"]) == (["168.63.129.16"], ["80"])
    assert automatic["except_users"] == ["S-1-5-18", "cloudbase-init"]
    assert always == {key: value for key, value in automatic.items() if key != "platform"}
    assert never == {"type": "FirewallRule", "name": automatic["name"], "state": "absent"}
    assert rules("auto", plugin="none") == []


def test_bgp_needs_features_a_reboot_and_the_router() -> None:
    found = cni.resources(settings(plugin="calico", mode="bgp"))
    features = [one for one in found if one["type"] == "WindowsFeature"]
    assert [one["name"] for one in features] == ["RemoteAccess", "RSAT-RemoteAccess-PowerShell", "Routing"]
    # One reboot after the last one is enough.
    assert [one.get("reboot") for one in features] == [None, None, "always"]
    assert found[3] == {"type": "RemoteAccessRouting", "name": "BGP"}
    vxlan = cni.resources(settings(plugin="calico", mode="vxlan"))
    assert not {"WindowsFeature", "RemoteAccessRouting"} & {one["type"] for one in vxlan}
