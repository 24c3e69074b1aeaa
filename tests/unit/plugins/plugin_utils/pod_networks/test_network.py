# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The class PodNetwork. The configuration of flannel and the objects in the cluster are golden files."""

from __future__ import annotations

import typing as t

import pytest
from unit.plugins.plugin_utils.node_resources import samples

from ansible_collections.winkube.node.plugins.plugin_utils.pod_networks import network as networks
from ansible_collections.winkube.node.plugins.plugin_utils.pod_networks.catalogue import NAMES, catalogue
from ansible_collections.winkube.node.plugins.plugin_utils.pod_networks.flannel import Flannel
from ansible_collections.winkube.node.plugins.plugin_utils.pod_networks.settings import ClusterSettings
from ansible_collections.winkube.node.plugins.plugin_utils.values.errors import ResourceError

HOST_PROCESS = "host-process:1"


def cluster(**given: t.Any) -> ClusterSettings:
    values: dict[str, t.Any] = {
        "api_server": "10.0.0.1:6443",
        "conf_dir": "C:\\conf",
        "folders": {"flannel_dir": "C:\\flannel"},
        "install_dir": "C:\\k",
        "images": {"host_process_image": HOST_PROCESS},
    }
    return ClusterSettings(**values | given)


@pytest.mark.parametrize(
    ("given", "name", "overlay", "services", "pods", "label"),
    [
        ({"mode": "host-gw"}, "cbr0", False, False, True, ""),
        ({}, "flannel.4096", True, False, True, ""),
        ({"run_as": "service"}, "flannel.4096", True, True, False, "service"),
        ({"is_docker": True}, "flannel.4096", True, True, False, "service"),
        ({"plugin": "none"}, "", False, False, False, ""),
        ({"plugin": "none", "run_as": "service"}, "", False, False, False, ""),
        # Docker can never run the pods of the DaemonSets.
        ({"plugin": "none", "is_docker": True}, "", False, False, False, "service"),
    ],
)
def test_what_a_network_is(
    given: dict[str, t.Any], name: str, overlay: bool, services: bool, pods: bool, label: str
) -> None:
    found = samples.network(**given)
    assert (found.name, found.is_overlay, found.runs_as_services, found.runs_as_pods) == (name, overlay, services, pods)
    assert found.node_label == label
    assert bool(found.accounts) is services
    assert found.needs_pod_cidr is found.is_managed


@pytest.mark.parametrize("plugin", NAMES)
def test_every_network_and_mode_can_be_described(plugin: str) -> None:
    for mode in catalogue()[plugin].modes:
        found = samples.network(plugin=plugin, mode=mode)
        assert found.identity()["plugin"] == plugin
        assert found.record_text().endswith("\n")
        assert found.winkernel("10.244.3.0/24").get("networkName", "") == found.name


def test_a_mode_of_another_network_is_refused() -> None:
    with pytest.raises(ResourceError, match="cni_flannel_backend: expected host-gw or vxlan with flannel"):
        samples.network(mode="bgp")


def test_the_cni_configuration_depends_on_the_runtime_and_not_on_how_the_network_runs() -> None:
    pods, services, docker = (
        samples.network(**given).cni_configuration() for given in ({}, {"run_as": "service"}, {"is_docker": True})
    )
    assert pods is not None
    assert docker is not None
    assert pods == services
    assert (pods[0], pods[1]["delegate"]["apiVersion"], docker[1]["delegate"]["apiVersion"]) == (
        "10-flannel.conf",
        2,
        1,
    )
    assert samples.network(plugin="none").cni_configuration() is None


def test_another_tools_network_adds_nothing() -> None:
    found = samples.network(plugin="none", run_as="service")
    node = samples.joined().settings
    assert found.cluster_objects(cluster()) == []
    assert found.service_files(node) == found.services(node) == []


def revisions(settings: ClusterSettings, **network: t.Any) -> list[str]:
    """Return the revisions of flannel's and kube-proxy's pods."""
    objects = samples.network(**network).cluster_objects(settings)
    templates = [one["spec"]["template"] for one in objects if one["kind"] == "DaemonSet"]
    return [template["metadata"]["labels"]["winkube.node/revision"] for template in templates]


@pytest.mark.parametrize(
    ("settings", "network", "changed"),
    [
        ({}, {}, [False, False]),
        ({"api_server": "10.0.0.2:6443"}, {}, [True, True]),
        ({}, {"pods_subnet": "10.9.0.0/16"}, [True, False]),
        ({}, {"mode": "host-gw"}, [True, True]),
        ({"kube_proxy_configuration": {"winkernel": {"enableDSR": True}}}, {}, [False, True]),
        ({"images": {"host_process_image": HOST_PROCESS, "kube_proxy_image": "own:1"}}, {}, [False, True]),
    ],
)
def test_pods_are_out_of_date_when_what_they_read_changes(
    settings: dict[str, t.Any], network: dict[str, t.Any], changed: list[bool]
) -> None:
    before, after = revisions(cluster()), revisions(cluster(**settings), **network)
    assert [one != other for one, other in zip(before, after, strict=True)] == changed


def test_daemon_sets_are_those_of_the_objects() -> None:
    objects = Flannel(samples.network().settings).cluster_objects(cluster())
    names = [one["metadata"] for one in objects if one["kind"] == "DaemonSet"]
    assert tuple(f"{one['namespace']}/{one['name']}" for one in names) == networks.daemon_sets("flannel")
    # The record of a node may name a network that this version does not know.
    assert networks.daemon_sets("other") == ()


def test_the_services_of_a_network_are_those_of_its_data() -> None:
    found = samples.network(run_as="service")
    node = samples.joined().settings
    assert [one.name for one in found.services(node)] == list(found.known.services)
    assert {one.path for one in found.service_files(node) if one.is_secret} == set(found.files.service_files)


def test_the_accounts_are_those_of_all_networks_that_run_as_services() -> None:
    both = ["kube-flannel/flannel-windows", "kube-system/kube-proxy-windows"]
    for plugins in (["azure", "flannel"], ["flannel", "sdnbridge"]):
        assert sorted(networks.accounts(plugins)) == both
        objects = networks.account_objects(plugins)
        names = [(one["kind"], one["metadata"].get("namespace"), one["metadata"]["name"]) for one in objects]
        assert len(names) == len(set(names))
        tokens = [f"{space}/{name}" for kind, space, name in names if kind == "Secret"]
        assert sorted(tokens) == both
    assert networks.accounts(["azure"]) == both[1:]
    assert networks.accounts([]) == networks.account_objects([]) == []


@pytest.mark.parametrize("plugin", ["flannel", "azure", "sdnbridge", "sdnoverlay"])
def test_the_configuration_in_azure_blocks_wire_server(plugin: str) -> None:
    mode = next(iter(catalogue()[plugin].modes))
    unknown, known = (
        samples.network(plugin=plugin, mode=mode, run_as="service", **{name: True})
        for name in ("blocks_in_azure", "block_wireserver")
    )
    blocking = known.cni_configuration("10.0.0.11")
    assert blocking is not None
    assert unknown.cni_configuration_in_azure("10.0.0.11") == blocking[1] != unknown.cni_configuration("10.0.0.11")
    assert known.cni_configuration_in_azure("10.0.0.11") is None
