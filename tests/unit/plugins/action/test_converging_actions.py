# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Actions that change a node, in check mode; and the comparison of a host with its cluster: complete results."""

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest
from unit.action_run import Node, run, run_on

from ansible_collections.winkube.node.plugins.action import (
    bundle_push,
    cluster_check,
    container_images,
    hns_cleanup,
    node_state,
)

WINDOWS = {
    "product": "Windows Server 2022 Datacenter",
    "version": "2022",
    "build": 20348,
    "ubr": 2849,
    "pending_reboot": [],
}
IMAGE = "registry.example/pause:3"
SHA = "ab" * 32


def looked(node: Node, action: t.Any, **options: t.Any) -> dict[str, t.Any]:
    """Return the result of a dry run, without values that differ each time."""
    found = run_on(node, action, options, check_mode=True)
    found.pop("clock_skew", None)
    return found


def missing(kind: str, name: str, why: str) -> dict[str, t.Any]:
    """Return the entry for insufficient disk space in a node's result."""
    change = {"type": kind, "name": name, "action": "create", "why": why, "disrupts": False, "disruption": ""}
    return {
        "changed": True,
        "changes": [{**change, "seconds": 0.0}],
        "deferred": [],
        "reboot_required": False,
        "rebooted": False,
        "remote_commands": 1,
        "windows": WINDOWS,
    }


def test_hns_of_a_machine_without_it_is_clean(node: Node) -> None:
    kinds = ("containers", "endpoints", "files", "namespaces", "networks", "policy_lists", "routes")
    assert looked(node, hns_cleanup, scope="stale") == {
        "changed": False,
        "changes": [],
        "counts": dict.fromkeys(kinds, 0),
        "diff": [],
        "kept": [],
        "static_adapters": [],
        "rebooted": False,
        "remote_commands": 1,
        "scope": "stale",
        "steps": [{"result": "nothing to remove", "step": "observe"}],
        "warnings": [
            "node-1: this machine has no HNS (the Windows feature Containers is not installed)",
            "node-1: nothing counts as stale: neither the containerd service nor the docker service can run",
        ],
    }


def test_missing_images(node: Node) -> None:
    image = {"digest": None, "msg": "", "reference": IMAGE, "size": None, "status": "pulled"}
    expected = missing("ContainerImage", IMAGE, "is not in the store")
    assert looked(node, container_images, images=[IMAGE]) == {**expected, "images": [image]}
    assert looked(node, container_images, images=["pause"]) == {
        "failed": True,
        "msg": "node-1: no node was touched: resources[0] (ContainerImage pause).name: expected a complete "
        "reference: registry/repository:tag, got 'pause'",
    }
    nothing = looked(node, container_images)
    assert (nothing["changed"], nothing["images"]) == (False, [])


def test_nothing_is_downloaded_if_that_is_not_allowed(node: Node) -> None:
    path = "C:\\cache\\a.zip"
    artifact = {"type": "Artifact", "name": "a 1", "path": path, "urls": ["https://h/a.zip"], "sha256": SHA}
    image = {"type": "ContainerImage", "name": IMAGE}
    found = run_on(node, node_state, {"resources": [artifact, image], "offline": True})
    assert found["msg"] == (
        "node-1: expected a node that needs no downloads (artifact_offline), got one that would download "
        f"Artifact a 1 ({path}): is not on the node; ContainerImage {IMAGE} (container image of containerd): is not in "
        "the store. Nothing was changed. Add these to the node's image or cache, or allow downloads"
    )
    assert (found["failed"], found["changed"], found["remote_commands"]) == (True, False, 1)


def test_missing_resources(node: Node) -> None:
    expected = missing("Directory", "C:\\k", "does not exist")
    assert looked(node, node_state, resources=[{"type": "Directory", "name": "C:\\k"}]) == expected


@pytest.mark.parametrize("there", [True, False])
def test_missing_files_of_a_bundle(node: Node, tmp_path: Path, there: bool) -> None:
    entry = {"path": "dl.example/a.exe", "kind": "k", "name": "n", "version": "1", "source": "s", "sha256": SHA}
    entry |= {"size": 3, "time": "t", "windows": [], "digest": ""}  # type: ignore[dict-item]
    server = {"path": str(tmp_path), "entries": [entry]}
    url = "https://dl.example/a.exe" if there else "https://dl.example/b.exe"
    resource = {"type": "Artifact", "name": "a 1", "path": "C:\\a.exe", "urls": [url], "sha256": SHA}
    others = [{"type": "Directory", "name": "C:\\k"}]
    pushed = ["dl.example/a.exe"] if there else []
    expected = {"changed": there, "pushed": pushed, "remote_commands": 1}
    assert looked(node, bundle_push, server=server, resources=[resource, *others]) == expected
    assert looked(node, bundle_push, server=server, resources=others)["pushed"] == []


CLUSTER = {
    "kubernetes_version": "v1.36.2",
    "pod_subnet": "10.233.64.0/18",
    "service_subnet": "10.233.0.0/18",
    "api_server": "LB.example:6443",
    "unbound_daemon_sets": [{"namespace": "a", "name": "kube-proxy"}, {"namespace": "b", "name": "y"}],
}
HOST = {
    "kubernetes_version": "1.36.2",
    "container_runtime": "containerd",
    "containerd_version": "2.3.7",
    "cni_plugin": "flannel",
    "flannel_backend": "host-gw",
    "pods_subnet": "10.233.64.0/18",
    "services_subnet": "10.233.0.0/18",
    "address": "192.0.2.4",
    "linux_namespaces": ["a"],
}


def compared(**options: t.Any) -> dict[str, t.Any]:
    return run(cluster_check, {"cluster": CLUSTER, **HOST, **options}, {"inventory_hostname": "win1"})


def test_a_host_is_compared_with_its_cluster() -> None:
    good = compared()
    assert good == {"problems": [], "findings": good["findings"], "warnings": good["warnings"]}
    assert [one["object"] for one in good["findings"]] == ["DaemonSet a/kube-proxy", "DaemonSet b/y"]
    assert compared(warn=False) == {**good, "warnings": []}
    assert [text.partition(": ")[2].partition(".")[0] for text in good["warnings"]] == ["b/y"]
    networks = [
        (
            "cni_pods_subnet (from kube_pods_subnet): expected the cluster's network, 10.233.64.0/18, got 'x'. "
            "If the variable is not set, the network is read from the cluster."
        ),
        (
            "cni_services_subnet (from kube_service_addresses): expected the cluster's network, 10.233.0.0/18, got 'y'."
            " If the variable is not set, the network is read from the cluster."
        ),
    ]
    for fail in (True, False):
        assert compared(pods_subnet="x", services_subnet="y", fail=fail) == {
            **good,
            "problems": networks,
            "refused": True,
            "failed": fail,
            "msg": "win1: no node was touched, because its variables do not match the cluster:\n"
            + "\n".join(f"- {line}" for line in networks),
        }


@pytest.mark.parametrize(
    ("options", "variable"),
    [
        ({"kubernetes_version": "1.37.0"}, "kubernetes_node_version"),
        ({"containerd_version": "2.9.0"}, "kubernetes_node_version, container_runtime_containerd_version"),
        ({"containerd_version": "2.9.0", "container_runtime": "moby"}, ""),
        ({"hosts": {"LB.Example": "127.0.0.1"}}, "node_join_api_server"),
        ({"hosts": {"LB.Example": "127.0.0.1"}, "address": "127.0.0.1"}, ""),
        ({"api_server": "lb"}, "node_join_api_server"),
        ({"cluster": {**CLUSTER, "flannel": {"net_conf": {"Backend": {"Type": "vxlan"}}}}}, "cni_flannel_backend"),
        ({"pods_subnet": "x", "cni_plugin": "none"}, ""),
    ],
)
def test_each_variable_is_compared(options: dict[str, t.Any], variable: str) -> None:
    found = [problem.partition(": ")[0].partition(" (")[0] for problem in compared(**options)["problems"]]
    assert found == ([variable] if variable else [])
