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
