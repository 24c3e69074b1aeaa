# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Calico's objects for Windows nodes. Whole objects are golden files (tests/golden/manifests)."""

from __future__ import annotations

import json
import typing as t

import pytest
from unit.calico_facts import bgp, facts, installation
from unit.plugins.plugin_utils.node_resources import samples

from ansible_collections.winkube.node.plugins.plugin_utils.pod_networks import calico, kube_proxy
from ansible_collections.winkube.node.plugins.plugin_utils.pod_networks import network as networks
from ansible_collections.winkube.node.plugins.plugin_utils.pod_networks.catalogue import network
from ansible_collections.winkube.node.plugins.plugin_utils.pod_networks.settings import ClusterSettings


def objects(linux: dict[str, t.Any], mode: str = "vxlan", **given: t.Any) -> list[dict[str, t.Any]]:
    cluster = settings(linux, **given)
    return samples.network(plugin="calico", mode=mode).rules.cluster_objects(cluster)


def settings(linux: dict[str, t.Any], **given: t.Any) -> ClusterSettings:
    values: dict[str, t.Any] = {
        "api_server": "10.0.0.1:6443",
        "conf_dir": "C:\\etc\\cni\\net.d",
        "folders": {"bin_dir": "C:\\opt\\cni\\bin"},
        "install_dir": "C:\\k",
        "linux": linux,
    }
    return ClusterSettings(**values | given)


def pod(linux: dict[str, t.Any], mode: str = "vxlan", **given: t.Any) -> dict[str, t.Any]:
    found: dict[str, t.Any] = objects(linux, mode, **given)[1]["spec"]["template"]["spec"]
    return found


def variables(container: dict[str, t.Any]) -> dict[str, str]:
    return {one["name"]: one.get("value", "from elsewhere") for one in container["env"]}


def test_the_mode_of_the_linux_nodes() -> None:
    assert calico.mode_of({}) == ""
    assert calico.mode_of(facts(pools=[])) == ""
    assert calico.mode_of(facts()) == "vxlan"
    assert calico.mode_of(bgp()) == "bgp"


@pytest.mark.parametrize(
    "linux", [facts(installation=installation()), facts(windows_daemon_set="other")], ids=["operator", "own"]
)
def test_a_daemon_set_of_others_is_not_replaced(linux: dict[str, t.Any]) -> None:
    assert objects(linux) == []
    assert len(objects(facts(windows_daemon_set="winkube"))) == 2


def test_the_pods_run_only_on_labelled_nodes() -> None:
    affinity = pod(facts())["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    (term,) = affinity["nodeSelectorTerms"]
    assert {"key": "winkube.node/pod-network", "operator": "In", "values": ["calico"]} in term["matchExpressions"]
    assert samples.network(plugin="calico", mode="vxlan").pod_network_label == "calico"
    assert samples.network().pod_network_label == ""


@pytest.mark.parametrize(
    ("version", "cni", "single"),
    [
        ("3.27.3", "0.3.1", False), ("3.31.6", "0.3.1", False), ("3.31.7", "1.0.0", False), ("v3.32.0", "0.3.1", False),
        ("3.32.1", "0.3.1", False), ("3.32.2", "1.0.0", False), ("3.33.0", "1.0.0", True), ("3.40.1", "1.0.0", True),
        ("", "0.3.1", False), ("3.20.0", "0.3.1", False),
    ],
)  # fmt: skip
def test_what_differs_between_versions(version: str, cni: str, single: bool) -> None:
    configuration, daemon_set = objects(facts(version=version))
    assert json.loads(configuration["data"]["config"])["cniVersion"] == cni
    spec = daemon_set["spec"]["template"]["spec"]
    felix = spec["containers"][0]
    program = felix["livenessProbe"]["exec"]["command"][0].rpartition("/")[2]
    assert program == ("calico.exe" if single else "calico-node.exe")
    assert spec["initContainers"][0]["command"][0].endswith("calico.exe" if single else "install.exe")
    assert felix["image"] == f"quay.io/calico/node-windows:v{version.removeprefix('v')}"


def test_containers_of_each_mode() -> None:
    assert [one["name"] for one in pod(facts())["containers"]] == ["felix", "node"]
    over_bgp = pod(bgp(), "bgp")["containers"]
    assert [one["name"] for one in over_bgp] == ["felix", "node", "confd"]
    assert {variables(one)["CALICO_NETWORKING_BACKEND"] for one in over_bgp} == {"windows-bgp"}


def test_the_api_server_and_typha() -> None:
    spec = pod(facts(typha="calico-typha", namespace="calico"))
    for one in (*spec["initContainers"], *spec["containers"]):
        found = variables(one)
        assert (found["KUBERNETES_SERVICE_HOST"], found["KUBERNETES_SERVICE_PORT"]) == ("10.0.0.1", "6443")
    assert variables(spec["containers"][0])["FELIX_TYPHAK8SSERVICENAME"] == "calico-typha"
    assert variables(spec["containers"][0])["FELIX_TYPHAK8SNAMESPACE"] == "calico"
    assert "FELIX_TYPHAK8SSERVICENAME" not in variables(pod(facts())["containers"][0])
    assert variables(pod(facts(), api_server="[fd00::1]:6443")["containers"][0])["KUBERNETES_SERVICE_HOST"] == "fd00::1"


def test_folders_of_the_node_are_mounted_as_the_operator_does() -> None:
    volumes = {one["name"]: one["hostPath"] for one in pod(facts(), conf_dir="D:\\cni")["volumes"]}
    assert volumes["cni-bin-dir"] == {"path": "/opt/cni/bin", "type": "DirectoryOrCreate"}
    assert volumes["cni-net-dir"] == {"path": "D:/cni"}


def test_images_can_be_replaced_and_are_known_before_the_join() -> None:
    rules = samples.network(plugin="calico", mode="vxlan").settings
    assert networks.images(rules, settings({})) == []
    assert networks.images(rules, settings({}, version="v3.30.1", images={"calico_image_repo": "r.example/"})) == [
        "r.example/calico/cni-windows:v3.30.1",
        "r.example/calico/node-windows:v3.30.1",
    ]
    own = {"calico_cni_image": "own/cni:1", "calico_node_image": "own/node:1"}
    assert networks.images(rules, settings(facts(), images=own)) == ["own/cni:1", "own/node:1"]
    assert networks.images(samples.network().settings, settings({})) == []


def test_a_change_of_the_configuration_makes_pods_out_of_date() -> None:
    def revision(linux: dict[str, t.Any], **given: t.Any) -> str:
        labels = objects(linux, **given)[1]["spec"]["template"]["metadata"]["labels"]
        return str(labels["winkube.node/revision"])

    assert revision(facts()) == revision(facts())
    assert len({revision(facts()), revision(facts(version="3.31.6")), revision(facts(), conf_dir="C:\\x")}) == 3


def test_kube_proxy_has_the_address_of_the_endpoint() -> None:
    vxlan = network("calico").mode("vxlan")
    assert kube_proxy.winkernel(vxlan, "", "10.233.90.65")["sourceVip"] == "10.233.90.66"
    assert "sourceVip" not in kube_proxy.winkernel(vxlan, "")
    assert "sourceVip" not in kube_proxy.winkernel(network("calico").mode("bgp"), "", "10.233.90.65")
    assert samples.network(plugin="calico", mode="vxlan").needs_overlay_address
    assert not samples.network(plugin="calico", mode="bgp").needs_overlay_address
    assert not samples.network(plugin="none", mode="none").needs_overlay_address
