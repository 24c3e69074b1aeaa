# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Which host applies what to the cluster, and what of a node's network is out of date."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.winkube.node.plugins.plugin_utils.role_decisions import cni

LABEL = "winkube.node/revision"
FLANNEL = {"namespace": "kube-flannel", "name": "flannel-1", "revision": "a"}
PROXY = {"namespace": "kube-system", "name": "proxy-1", "revision": "b"}


@pytest.mark.parametrize(
    ("networks", "expected", "host", "asked"),
    [
        (["daemonset", "service"], "daemonset", "h0", 1),
        (["daemonset", "service", "service"], "service", "h1", 2),
        (["service", "", "daemonset"], "daemonset", "h2", 3),
        (["daemonset"], "service", "", 1),
        ([], "service", "", 0),
    ],
)
def test_the_first_host_whose_network_runs_as_expected(
    networks: list[str], expected: str, host: str, asked: int
) -> None:
    queried = []

    def how(name: str) -> str:
        queried.append(name)
        return networks[int(name[1:])]

    assert cni.first_host([f"h{number}" for number in range(len(networks))], how, expected) == host
    assert len(queried) == asked


@pytest.mark.parametrize(
    ("plugin", "run_as", "runtime", "expected"),
    [
        ("flannel", "", "containerd", "daemonset"),
        ("flannel", "", "moby", "service"),
        ("flannel", "service", "containerd", "service"),
        ("none", "service", "containerd", ""),
        ("other", "", "containerd", ""),
    ],
)
def test_how_the_network_of_a_host_runs(plugin: str, run_as: str, runtime: str, expected: str) -> None:
    assert cni.runs_as(plugin, run_as, runtime) == expected


@pytest.mark.parametrize(
    ("recorded", "expected"),
    [
        ({}, False),
        ({"plugin": "flannel", "network": "cbr0"}, False),
        ({"plugin": "flannel", "network": "cbr0", "services": True}, False),
        ({"plugin": "flannel", "network": "flannel.4096"}, True),
        ({"plugin": "none"}, True),
    ],
)
def test_another_network(recorded: dict[str, t.Any], expected: bool) -> None:
    assert cni.network_differs(recorded, {"plugin": "flannel", "network": "cbr0"}) is expected


def test_revisions_are_read_from_daemon_sets() -> None:
    def applied(kind: str, **labels: str) -> dict[str, t.Any]:
        return {"kind": kind, "spec": {"template": {"metadata": {"labels": labels}}}}

    one, other = applied("DaemonSet", **{LABEL: "a", "app": "x"}), applied("DaemonSet", app="y")
    assert cni.revisions([{"kind": "ConfigMap"}, one, other, applied("DaemonSet", **{LABEL: "b"})], LABEL) == ["a", "b"]


def test_pods_of_a_former_template_are_out_of_date() -> None:
    assert cni.outdated([FLANNEL, PROXY], ["a"]) == [PROXY]
    assert cni.outdated([FLANNEL, PROXY], ["a", "b"]) == []
    # Nothing was applied, so no pod can be compared.
    assert cni.outdated([FLANNEL, PROXY], []) == []


def test_a_new_configuration_replaces_only_the_pod_of_kube_proxy() -> None:
    assert cni.pods_to_replace([FLANNEL, PROXY], [], proxy_changed=True) == [PROXY]
    assert cni.pods_to_replace([FLANNEL, PROXY], [FLANNEL], proxy_changed=False) == [FLANNEL]
    assert cni.pods_to_replace([FLANNEL, PROXY], [PROXY, FLANNEL], proxy_changed=True) == [PROXY, FLANNEL]


def test_the_selector_of_new_pods() -> None:
    assert cni.revision_selector(LABEL, ["a", "b"]) == f"{LABEL} in (a,b)"
    assert cni.revision_selector(LABEL, []) == LABEL
