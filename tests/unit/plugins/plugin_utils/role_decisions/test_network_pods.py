# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Which pods of a node's network are replaced, and which new pods a run waits for."""

from __future__ import annotations

import typing as t

import pytest
from unit.roles.templates import holds, task, templar

from ansible_collections.winkube.node.plugins.plugin_utils.role_decisions import network_pods

LABEL = "winkube.node/revision"


def pod(namespace: str, daemon_set: str, revision: str) -> dict[str, str]:
    name = f"{daemon_set}-x" if daemon_set else "x"
    return {"namespace": namespace, "name": name, "revision": revision, "daemon_set": daemon_set}


FLANNEL = pod("kube-flannel", "kube-flannel-windows", "a")
PROXY = pod("kube-system", "kube-proxy-windows", "b")
CALICO = pod("kube-system", "calico-node-windows", "c")


def test_revisions_are_read_from_daemon_sets() -> None:
    def applied(kind: str, **labels: str) -> dict[str, t.Any]:
        return {"kind": kind, "spec": {"template": {"metadata": {"labels": labels}}}}

    one, other = applied("DaemonSet", **{LABEL: "a", "app": "x"}), applied("DaemonSet", app="y")
    assert network_pods.revisions([{"kind": "ConfigMap"}, one, other, applied("DaemonSet", **{LABEL: "b"})], LABEL) == [
        "a",
        "b",
    ]


def test_pods_of_a_former_template_are_out_of_date() -> None:
    assert network_pods.outdated([FLANNEL, PROXY], ["a"]) == [PROXY]
    assert network_pods.outdated([FLANNEL, PROXY], ["a", "b"]) == []
    # Nothing was applied, so no pod can be compared.
    assert network_pods.outdated([FLANNEL, PROXY], []) == []


def test_a_new_configuration_replaces_only_the_pod_of_kube_proxy() -> None:
    assert network_pods.pods_to_replace([FLANNEL, PROXY], [], proxy_changed=True) == [PROXY]
    assert network_pods.pods_to_replace([FLANNEL, PROXY], [FLANNEL], proxy_changed=False) == [FLANNEL]
    assert network_pods.pods_to_replace([FLANNEL, PROXY], [PROXY, FLANNEL], proxy_changed=True) == [
        PROXY,
        FLANNEL,
    ]


def test_the_selector_of_new_pods() -> None:
    assert network_pods.revision_selector(LABEL, ["a", "b"]) == f"{LABEL} in (a,b)"
    assert network_pods.revision_selector(LABEL, []) == LABEL


def test_calico_keeps_its_pod_when_only_kube_proxy_has_a_new_configuration() -> None:
    # Some clusters have a DaemonSet of another name for kube-proxy.
    other = pod("kube-system", "kube-proxy-windows-ltsc2022", "")
    found = network_pods.pods_to_replace([CALICO, PROXY, other], [], proxy_changed=True)
    assert found == [PROXY, other]


def awaited(*pods: dict[str, str], plugin: str) -> list[str]:
    found = network_pods.awaited_daemon_sets(pods, plugin, {"winkube.node/network-runs-as": None})
    return [f"{one['namespace']}/{one['name']}" for one in found]


def test_each_daemon_set_of_a_replaced_pod_is_awaited() -> None:
    proxy, calico = "kube-system/kube-proxy-windows", "kube-system/calico-node-windows"
    assert awaited(CALICO, PROXY, PROXY, plugin="calico") == [calico, proxy]
    assert awaited(FLANNEL, PROXY, plugin="flannel") == ["kube-flannel/kube-flannel-windows", proxy]
    # No DaemonSet creates the pods of a former network again, or a pod without a DaemonSet.
    assert awaited(FLANNEL, PROXY, plugin="calico") == [proxy]
    assert awaited(CALICO, PROXY, plugin="azure") == [proxy]
    assert awaited(pod("kube-system", "", "b"), plugin="flannel") == []


def running(daemon_set: str, phase: str = "Running") -> dict[str, t.Any]:
    owners = [{"kind": "DaemonSet", "name": daemon_set}] if daemon_set else None
    metadata = {"name": "x", **({"ownerReferences": owners} if owners else {})}
    return {"metadata": metadata, "status": {"phase": phase}}


@pytest.mark.parametrize(
    ("found", "done"),
    [
        ([running("kube-proxy-windows"), running("calico-node-windows")], True),
        # The pod of another DaemonSet in the same namespace does not count.
        ([running("kube-proxy-windows")], False),
        ([running("kube-proxy-windows"), running("")], False),
        ([running("kube-proxy-windows"), running("calico-node-windows", "Pending")], False),
        ([running("kube-proxy-windows", "Pending"), running("calico-node-windows")], True),
        ([], False),
        (None, False),
    ],
)
def test_the_new_pod_of_each_daemon_set_is_awaited(found: list[dict[str, t.Any]] | None, done: bool) -> None:
    until = task("cni", "pods.yml", "Wait for the new pods of the network and kube-proxy")["until"]
    result = {} if found is None else {"resources": found}
    item = {"namespace": "kube-system", "name": "calico-node-windows"}
    assert holds(templar([], {"item": item, "cni_new_pods": result}), until) is done
