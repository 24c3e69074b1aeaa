# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The resources of the role cni. The configuration of flannel and the plugins is in the golden files."""

from __future__ import annotations

import json
import typing as t

from unit.plugins.plugin_utils.node_resources import samples
from unit.plugins.plugin_utils.node_resources.samples import named

from ansible_collections.winkube.node.plugins.plugin_utils.node_resources import cni
from ansible_collections.winkube.node.plugins.plugin_utils.node_resources.cni import CniSettings


def settings(**network: t.Any) -> CniSettings:
    versions = {"plugins_version": "1.9.0", "flannel_version": "0.28.9", "flannel_plugin_version": "1.9.1-flannel1"}
    empty = [f"{name}_{what}" for name in ("plugins", "flannel", "flannel_plugin") for what in ("url", "sha256")]
    return CniSettings(
        **versions,
        **dict.fromkeys(empty, ""),
        bin_dir="C:\\cni",
        conf_dir="C:\\conf",
        flannel_dir="C:\\flannel",
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
    assert {one["name"]: one.get("disturbs", False) for one in found} == {
        "CNI plugins": True,
        "C:\\flannel": False,
        "flannel's CNI plugin": True,
    }


def test_the_note_tells_networks_apart() -> None:
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
