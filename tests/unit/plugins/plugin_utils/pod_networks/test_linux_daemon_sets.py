# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Which DaemonSets without an operating system a run restricts to Linux nodes, and what manages them."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.winkube.node.plugins.module_utils import cluster_state
from ansible_collections.winkube.node.plugins.plugin_utils.pod_networks import linux_daemon_sets
from ansible_collections.winkube.node.plugins.plugin_utils.pod_networks.linux_daemon_sets import Restricted

NAMESPACES = ("kube-system", "kube-flannel")


def daemon_set(place: str, owner: str = "", **managers: str) -> dict[str, t.Any]:
    namespace, name = place.split("/")
    marks = {key.replace("__", "/").replace("_", "."): value for key, value in managers.items()}
    return {"namespace": namespace, "name": name, "owner": owner, "managers": marks}


@pytest.mark.parametrize(
    ("given", "patterns", "is_restricted"),
    [
        (daemon_set("kube-system/kube-proxy"), [], True),
        (daemon_set("kube-flannel/kube-flannel-ds"), [], True),
        (daemon_set("kube-system/kube-flannel-ds-arm64"), [], True),
        (daemon_set("kube-system/kube-flannel"), [], True),
        (daemon_set("other/kube-proxy"), [], False),
        (daemon_set("kube-system/node-local-dns"), [], False),
        (daemon_set("kube-system/node-local-dns"), ["kube-system/node-local-dns"], True),
        (daemon_set("monitoring/exporter"), ["monitoring/*"], True),
        (daemon_set("monitoring/exporter"), ["*/other"], False),
        # Helm does not watch its objects; a controller would revert the change.
        (daemon_set("kube-flannel/kube-flannel-ds", meta_helm_sh__release="x"), [], True),
        (daemon_set("calico-system/csi-node-driver", "Installation default"), ["calico-system/*"], False),
        (daemon_set("kube-system/kube-proxy", addonmanager_kubernetes_io__mode="Reconcile"), [], False),
        (daemon_set("kube-system/kube-proxy", addonmanager_kubernetes_io__mode="EnsureExists"), [], True),
    ],
)
def test_what_a_run_restricts(given: dict[str, t.Any], patterns: list[str], is_restricted: bool) -> None:
    restricted = Restricted(namespaces=NAMESPACES, patterns=patterns)
    expected = [{"namespace": given["namespace"], "name": given["name"]}] if is_restricted else []
    assert restricted.of([given]) == expected


@pytest.mark.parametrize(
    ("given", "title", "remedy"),
    [
        (daemon_set("a/b", "Installation default"), "the Tigera operator", "of the Installation default."),
        (daemon_set("a/b", "Monitor one"), "the controller of the Monitor one", "Change the Monitor one, "),
        ({"namespace": "a", "name": "b", "managers": {"meta.helm.sh/release-name": "r1"}}, "Helm (release r1)", "r1."),
        ({"namespace": "a", "name": "b", "managers": {"argocd.argoproj.io/instance": "x"}}, "Argo CD", "application x"),
        ({"namespace": "a", "name": "b", "managers": {"app.kubernetes.io/managed-by": "kapp"}}, "kapp", "with kapp."),
    ],
)
def test_the_manager_of_a_daemon_set(given: dict[str, t.Any], title: str, remedy: str) -> None:
    manager = linux_daemon_sets.manager(given)
    assert manager is not None
    assert title in manager.title
    assert remedy in manager.remedy
    assert "{" not in manager.title + manager.remedy


def test_a_daemon_set_without_a_manager() -> None:
    assert linux_daemon_sets.manager({"namespace": "a", "name": "b"}) is None
    assert linux_daemon_sets.manager(daemon_set("a/b")) is None


def test_cluster_info_reads_every_label_of_a_manager() -> None:
    assert {one.key for one in linux_daemon_sets.known().managers} == set(cluster_state.MANAGERS)


def test_only_the_controller_among_the_owners_counts() -> None:
    owners = [{"kind": "Node", "name": "n"}, {"kind": "Installation", "name": "default", "controller": True}]
    labels, annotations = {"app.kubernetes.io/managed-by": "Helm", "app": "x"}, {"meta.helm.sh/release-name": "r"}
    metadata = {"ownerReferences": owners, "labels": labels, "annotations": annotations}
    assert cluster_state.managed_by(metadata) == {
        "owner": "Installation default",
        "managers": {"app.kubernetes.io/managed-by": "Helm", "meta.helm.sh/release-name": "r"},
    }
    assert cluster_state.managed_by({"ownerReferences": owners[:1]}) == {"owner": "", "managers": {}}
