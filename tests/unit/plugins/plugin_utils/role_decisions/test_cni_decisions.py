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
    ("runtimes", "docker", "expected", "asked"),
    [
        (["containerd", "moby"], False, "h0", 1),
        (["containerd", "moby", "docker"], True, "h1", 2),
        (["moby", "docker", "containerd"], False, "h2", 3),
        (["containerd"], True, "", 1),
        ([], True, "", 0),
    ],
)
def test_the_first_host_of_a_runtime(runtimes: list[str], docker: bool, expected: str, asked: int) -> None:
    queried = []

    def runtime(host: str) -> str:
        queried.append(host)
        return runtimes[int(host[1:])]

    assert cni.first_host([f"h{number}" for number in range(len(runtimes))], runtime, docker=docker) == expected
    assert len(queried) == asked


@pytest.mark.parametrize(("runtime", "label"), [("containerd", ""), ("moby", "docker"), ("docker", "docker")])
def test_the_label_of_a_runtime(runtime: str, label: str) -> None:
    assert cni.runtime_label(runtime) == label


@pytest.mark.parametrize(
    ("recorded", "expected"),
    [
        ({}, False),
        ({"plugin": "flannel", "network": "cbr0"}, False),
        ({"plugin": "flannel", "network": "cbr0", "services": True}, False),
        ({"plugin": "flannel", "network": "flannel.4096"}, True),
        ({"plugin": "cni"}, True),
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
    assert cni.pods_to_replace([FLANNEL, PROXY], [], configuration_changed=True) == [PROXY]
    assert cni.pods_to_replace([FLANNEL, PROXY], [FLANNEL], configuration_changed=False) == [FLANNEL]
    assert cni.pods_to_replace([FLANNEL, PROXY], [PROXY, FLANNEL], configuration_changed=True) == [PROXY, FLANNEL]


def test_the_selector_of_new_pods() -> None:
    assert cni.revision_selector(LABEL, ["a", "b"]) == f"{LABEL} in (a,b)"
    assert cni.revision_selector(LABEL, []) == LABEL
