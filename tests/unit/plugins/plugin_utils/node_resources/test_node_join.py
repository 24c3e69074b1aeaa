# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The resources of the role node_join. The contents of files are in the golden files."""

from __future__ import annotations

import json
import typing as t

import pytest
import yaml
from unit.plugins.plugin_utils.node_resources import samples
from unit.plugins.plugin_utils.node_resources.samples import named

from ansible_collections.winkube.node.plugins.plugin_utils.node_resources import node_join
from ansible_collections.winkube.node.plugins.plugin_utils.node_resources.node_join import JoinedNode
from ansible_collections.winkube.node.plugins.plugin_utils.pod_networks import flannel

CONFIG = "C:\\k\\kube-proxy\\config.yaml"
DOCKER = {"network": samples.network(is_docker=True), "kubernetes": samples.kubernetes(is_docker=True)}
NOTE = "C:\\ProgramData\\winkube\\cni.json"


def names(node: JoinedNode) -> list[str]:
    return [str(one.get("name") or one["value_name"]) for one in node_join.resources(node)]


def test_the_kubelet_runs_and_no_token_is_left() -> None:
    found = node_join.resources(samples.joined())
    assert (found[0]["name"], found[0]["state"]) == ("kubelet", "running")
    gone = {one["name"] for one in found if one.get("state") == "absent"}
    files = ("C:\\ProgramData\\winkube\\join.yaml", "C:\\ProgramData\\winkube\\discovery.conf")
    assert gone == {*files, "C:\\etc\\kubernetes\\bootstrap-kubelet.conf"}


@pytest.mark.parametrize(
    ("given", "there", "absent"),
    [
        ({}, {CONFIG, "C:\\var\\lib\\cni\\networks\\flannel.4096\\10.244.3.254", NOTE}, {"flanneld", "kube-proxy"}),
        ({"network": samples.network(mode="host-gw")}, {CONFIG}, {"flanneld"}),
        ({"network": samples.network(plugin="none")}, {NOTE}, {CONFIG, "flanneld"}),
        # The cluster has not assigned a network yet.
        ({"pod_cidr": ""}, {"kubelet", NOTE}, {CONFIG, "flanneld"}),
        (DOCKER, {CONFIG, "flanneld", "kube-proxy", "C:\\conf\\10-flannel.conf"}, set()),
        ({**DOCKER, "tokens_known": False}, {CONFIG}, {"flanneld", "kube-proxy"}),
        # The old network must be removed first.
        ({"network_changes": True}, {CONFIG}, {NOTE}),
    ],
)
def test_values_that_depend_on_the_cluster(given: dict[str, t.Any], there: set[str], absent: set[str]) -> None:
    found = set(names(samples.joined(**given)))
    assert there <= found
    assert not absent & found


def test_the_source_address_is_reserved_before_kube_proxy_has_its_configuration() -> None:
    for node in (samples.joined(), samples.joined(**DOCKER)):
        found = names(node)
        assert found.index("C:\\var\\lib\\cni\\networks\\flannel.4096\\10.244.3.254") < found.index(CONFIG)


def test_services_of_a_former_runtime_are_removed() -> None:
    found = node_join.resources(samples.joined(former_services="flannel"))
    services = {one["name"]: one["state"] for one in found if one["type"] == "Service"}
    assert services == {"kubelet": "running", "kube-proxy": "absent", "flanneld": "absent"}
    assert "C:\\etc\\kubernetes\\kube-proxy.kubeconfig" in {
        one["name"] for one in found if one.get("state") == "absent"
    }
    # After the services that write to them.
    last = [one["name"] for one in found if (one["type"], one.get("state")) == ("Directory", "absent")]
    assert last == ["C:\\etc\\kube-flannel", "C:\\var\\log\\flannel"]
    order = [one.get("name") for one in found]
    assert order.index("flanneld") < order.index(last[0])


def test_services_that_the_next_network_needs_keep_their_folders() -> None:
    found = node_join.resources(samples.joined(**DOCKER, former_services="flannel"))
    absent = {one["name"] for one in found if one.get("state") == "absent"}
    kept = {"kube-proxy", "flanneld", "C:\\etc\\kube-flannel", "C:\\var\\log\\flannel"}
    assert not absent & {*kept, "C:\\etc\\kubernetes\\flannel.kubeconfig"}


@pytest.mark.parametrize(
    ("backend", "order"), [("vxlan", ["flanneld", "kube-proxy"]), ("host-gw", ["kube-proxy", "flanneld"])]
)
def test_dependencies_of_services(backend: str, order: list[str]) -> None:
    network = samples.network(is_docker=True, mode=backend)
    found = node_join.resources(samples.joined(**{**DOCKER, "network": network}))
    services = [one for one in found if one["type"] == "Service" and one["name"] != "kubelet"]
    assert [one["name"] for one in services] == order
    assert services[0]["dependencies"] == ["kubelet"]
    assert services[1]["dependencies"] == [order[0]]


def test_files_with_tokens_are_for_administrators_and_hidden() -> None:
    found = node_join.resources(samples.joined(**DOCKER))
    for name, token in (("kube-proxy", "token 1"), ("flannel", "token 2")):
        file = named(found, f"C:\\etc\\kubernetes\\{name}.kubeconfig")
        assert (file["no_log"], "BU" in file["acl"]) == (True, False)
        assert json.loads(file["content"])["users"][0]["user"]["token"] == token
    assert named(found, "C:\\etc\\kubernetes\\kube-proxy.kubeconfig")["restarts"] == ["kube-proxy"]


@pytest.mark.parametrize(
    "change",
    [
        {"internal_ip": "10.0.0.12"},
        {"api_server": "10.0.0.2:6443"},
        {"tokens": {"kube-system/kube-proxy-windows": "token 1", "kube-flannel/flannel-windows": "another"}},
        {"network": samples.network(is_docker=True, pods_subnet="10.9.0.0/16")},
    ],
)
def test_flanneld_restarts_when_what_it_reads_changes(change: dict[str, t.Any]) -> None:
    before, after = (
        named(node_join.resources(samples.joined(**DOCKER | more)), "flanneld")["environment"] for more in ({}, change)
    )
    assert before != after


def test_kube_proxy_is_configured_for_its_mode() -> None:
    pod = yaml.safe_load(named(node_join.resources(samples.joined()), CONFIG)["content"])
    assert pod["clientConnection"]["kubeconfig"] == "C:\\k\\kube-proxy\\access\\kubeconfig.conf"
    assert pod["winkernel"] == {"networkName": "flannel.4096", "enableDSR": False, "sourceVip": "10.244.3.254"}
    file = named(node_join.resources(samples.joined(**DOCKER)), CONFIG)
    assert yaml.safe_load(file["content"])["clientConnection"]["kubeconfig"].endswith("kube-proxy.kubeconfig")
    assert (file["restarts"], file["disrupts"]) == (["kube-proxy"], True)


def test_the_users_kube_proxy_settings_take_precedence_key_by_key() -> None:
    own = {"winkernel": {"enableDSR": True}, "mode": "other", "new": 1}
    found = node_join.kube_proxy_configuration(samples.joined(kube_proxy_configuration=own))
    assert found["winkernel"] == {"networkName": "flannel.4096", "enableDSR": True, "sourceVip": "10.244.3.254"}
    assert (found["mode"], found["new"], found["hostnameOverride"]) == ("other", 1, "win1")


def test_kube_proxy_logs_as_the_kubelet_does() -> None:
    logged = named(node_join.resources(samples.joined(**DOCKER)), "kube-proxy")
    assert logged["path"] == "C:\\k\\kube-log-runner.exe"
    assert "C:\\k\\kube-proxy.exe" in logged["arguments"]
    silent = samples.kubernetes(is_docker=True, kubelet_log_file="")
    service = named(node_join.resources(samples.joined(**{**DOCKER, "kubernetes": silent})), "kube-proxy")
    assert service["path"] == "C:\\k\\kube-proxy.exe"
    assert service["arguments"][0] == "--windows-service"


def test_flanneld_takes_the_address_that_the_cluster_knows() -> None:
    assert flannel.flanneld_arguments(samples.joined().settings)[-1] == "-iface=10.0.0.11"
    assert not any("-iface" in one for one in flannel.flanneld_arguments(samples.joined(internal_ip="").settings))


def test_mappings_and_other_values_of_kube_proxy_replace_each_other() -> None:
    own = {"winkernel": {"enableDSR": True}, "clientConnection": None, "mode": {"a": 1}, "iptables": {"b": 2}}
    found = node_join.kube_proxy_configuration(samples.joined(kube_proxy_configuration=own))
    network = {"networkName": "flannel.4096", "enableDSR": True, "sourceVip": "10.244.3.254"}
    assert (found["winkernel"], found["clientConnection"]) == (network, None)
    assert (found["mode"], found["iptables"]) == ({"a": 1}, {"b": 2})


@pytest.mark.parametrize(
    ("plugin", "mode", "services"),
    [("azure", "bridge", ["kube-proxy"]), ("sdnbridge", "bridge", ["kube-proxy", "flanneld"])],
)
def test_the_collection_writes_the_configuration_of_networks_without_a_pod_for_it(
    plugin: str, mode: str, services: list[str]
) -> None:
    file = rf"C:\conf\{samples.network(plugin=plugin, mode=mode).files.configuration}"
    for run_as, expected in (("daemonset", []), ("service", services)):
        network = samples.network(plugin=plugin, mode=mode, run_as=run_as)
        found = node_join.resources(samples.joined(network=network))
        started = [one["name"] for one in found if one["type"] == "Service" and one["name"] != "kubelet"]
        assert started == expected
        assert named(found, file)["disrupts"]
    # flannel's plugin needs the pod CIDR, azure-vnet does not.
    waiting = node_join.resources(samples.joined(network=samples.network(plugin=plugin, mode=mode), pod_cidr=""))
    assert (file in {one.get("name") for one in waiting}) is (plugin == "azure")
