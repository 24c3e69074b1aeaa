# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Networks that do not work with a host's versions or runtime, and networks that overlap."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.winkube.node.plugins.plugin_utils.preflight import networks, pod_networks
from ansible_collections.winkube.node.plugins.plugin_utils.preflight.networks import parsed_networks

GOOD = {
    "cni_plugin": "flannel",
    "cni_run_as": "daemonset",
    "container_runtime": "containerd",
    "kubernetes_node_version": "1.36.3",
}
PODS, SERVICES = "10.244.0.0/16", "10.96.0.0/12"


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"cni_run_as": "service"},
        {"container_runtime": "moby", "cni_run_as": "service"},
        {"cni_plugin": "none"},
        {"cni_plugin": "none", "container_runtime": "docker"},
        {"kubernetes_node_version": ""},
        {"cni_plugin": "Flannel"},  # mistyped, which another check reports
    ],
)
def test_networks_that_work(given: dict[str, t.Any]) -> None:
    assert pod_networks.problems({**GOOD, **given}) == []
    assert pod_networks.problems({}) == []


def test_docker_cannot_run_daemon_sets() -> None:
    (problem,) = pod_networks.problems({**GOOD, "container_runtime": "moby"})
    assert str(problem) == (
        "cni_run_as: expected service with container_runtime: moby, got 'daemonset'. The pods of the DaemonSets are "
        "HostProcess containers, which Docker cannot run."
    )


@pytest.mark.parametrize(
    ("plugin", "folders", "refused"),
    [
        ("calico", {"cni_bin_dir": "c:\\cni", "cni_conf_dir": "C:/etc/cni"}, []),
        ("calico", {"cni_bin_dir": "D:\\cni"}, ["cni_bin_dir"]),
        ("calico", {"cni_bin_dir": "D:\\cni", "cni_conf_dir": "e:\\conf"}, ["cni_bin_dir", "cni_conf_dir"]),
        # Other checks refuse what is not a path.
        ("calico", {"cni_bin_dir": "cni", "cni_conf_dir": 5}, []),
        ("flannel", {"cni_bin_dir": "D:\\cni"}, []),
    ],
)
def test_calico_has_its_folders_on_drive_c(plugin: str, folders: dict[str, t.Any], refused: list[str]) -> None:
    found = pod_networks.problems({**GOOD, "cni_plugin": plugin, **folders})
    assert [problem.variable for problem in found] == refused
    assert all("expected a folder on C: with cni_plugin: calico" in str(problem) for problem in found)


@pytest.mark.parametrize(
    ("address", "plugin", "names"),
    [
        ("10.3.0.4", "flannel", []),
        ("win1.example", "flannel", []),
        ("10.244.3.1", "flannel", ["the pods, 10.244.0.0/16 (cni_pods_subnet)"]),
        ("10.97.0.1", "flannel", ["the services, 10.96.0.0/12 (cni_services_subnet)"]),
        ("10.244.3.1", "none", []),
        # Pods have addresses of the nodes' network.
        ("10.244.3.1", "azure", []),
        ("10.97.0.1", "azure", ["the services, 10.96.0.0/12 (cni_services_subnet)"]),
    ],
)
def test_a_node_inside_another_network_is_refused(address: str, plugin: str, names: list[str]) -> None:
    found = networks.overlaps(plugin, parsed_networks(PODS), parsed_networks(SERVICES), address)
    assert len(found) == len(names)
    for problem, name in zip(found, names, strict=True):
        assert str(problem).startswith(f"ansible_host: expected an address outside the network of {name}, got ")


def test_networks_of_pods_and_services_must_not_overlap() -> None:
    both = parsed_networks(f"{PODS}, x, fd00::/56"), parsed_networks("10.244.128.0/17,fd01::/112")
    (problem,) = networks.overlaps("flannel", *both, "")
    assert "10.244.0.0/16,fd00::/56 and 10.244.128.0/17,fd01::/112" in str(problem)
    assert networks.overlaps("none", *both, "") == []


@pytest.mark.parametrize(
    ("plugin", "engine", "said"),
    [
        ("azure", "", ""),
        ("calico", "calico", ""),
        ("azure", "azure", "30 September 2026"),
        ("azure", "calico", "Outside AKS"),
        ("flannel", "azure", "works with Azure CNI only"),
        ("flannel", "calico", "on its own network only"),
        ("sdnbridge", "calico", "expected an empty value with sdnbridge"),
        ("none", "calico", "does not know the other tool's network"),
        ("flannel", "cilium", ""),  # mistyped, which another check reports
    ],
)
def test_engines_of_network_policies(plugin: str, engine: str, said: str) -> None:
    found = pod_networks.problems({**GOOD, "cni_plugin": plugin, "cni_network_policy": engine})
    problems = [str(one) for one in found if str(one).startswith("cni_network_policy")]
    assert len(problems) == (1 if said else 0)
    assert all(said in one for one in problems)


@pytest.mark.parametrize("run_as", ["service", "daemonset"])
@pytest.mark.parametrize("plugin", ["azure", "calico", "sdnbridge", "sdnoverlay"])
def test_networks_for_containerd_only(plugin: str, run_as: str) -> None:
    given = {**GOOD, "cni_plugin": plugin, "container_runtime": "moby", "cni_run_as": run_as}
    # Another value of cni_run_as would not help.
    (problem,) = pod_networks.problems(given)
    assert "expected the container runtime containerd" in str(problem)
    assert pod_networks.problems({**GOOD, "cni_plugin": plugin}) == []


def test_calico_runs_as_a_daemon_set_only() -> None:
    (problem,) = pod_networks.problems({**GOOD, "cni_plugin": "calico", "cni_run_as": "service"})
    assert str(problem) == "cni_run_as: expected daemonset with Calico, got 'service'"


def test_the_pods_of_two_networks_cannot_share_nodes() -> None:
    assert pod_networks.different_networks({}) == []
    assert pod_networks.different_networks({"a": "flannel vxlan", "b": "flannel vxlan"}) == []
    (problem,) = pod_networks.different_networks({"a": "azure", "b": "flannel vxlan", "c": "azure", "d": "calico"})
    assert str(problem) == (
        "cni_plugin: expected one network for all hosts whose network runs as pods (cni_run_as: daemonset), got "
        "'azure (a), flannel vxlan (b), calico (d)'. Set cni_run_as: service on the hosts with the other networks, or "
        "use the same network on all hosts."
    )


def test_networks_of_a_virtual_network() -> None:
    given = {**GOOD, "cni_plugin": "azure", "cni_azure_vnet_subnets": ["10.240.0.0/12", "10.0.0.1", "10.0.0.1/8"]}
    names = [str(one).partition(":")[0] for one in pod_networks.problems(given)]
    assert names == ["cni_azure_vnet_subnets[1]", "cni_azure_vnet_subnets[2]"]
    assert pod_networks.problems({**given, "cni_azure_vnet_subnets": "10.0.0.0/8"}) == []


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ({"cni_mtu": 0}, ""),
        ({"cni_mtu": 1350}, ""),
        ({"cni_mtu": 575}, "cni_mtu"),
        ({"cni_mtu": -1}, "cni_mtu"),
        ({"cni_mtu": "x"}, ""),
        ({"cni_linux_daemon_sets": ["monitoring/*"]}, ""),
        ({"cni_linux_daemon_sets": ["monitoring/*", "exporter"]}, "cni_linux_daemon_sets[1]"),
        ({"cni_linux_daemon_sets": ["/exporter"]}, "cni_linux_daemon_sets[0]"),
        ({"cni_linux_daemon_sets": "exporter"}, ""),
    ],
)
def test_the_linux_side(given: dict[str, t.Any], name: str) -> None:
    found = [one.variable for one in pod_networks.problems({**GOOD, **given})]
    assert found == ([name] if name else [])
