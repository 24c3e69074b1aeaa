# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What the roles that prepare a node decide."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.winkube.node.plugins.plugin_utils.lifecycle import maintenance
from ansible_collections.winkube.node.plugins.plugin_utils.role_decisions import (
    node_prepare,
    runtimes,
    windows_patches,
    windows_settings,
)

SHA256 = 64 * "a"
TAGS = ["install"]


def test_selected_roles_keep_their_order() -> None:
    assert node_prepare.selected_roles(["a", "b", "c"], ["c", "a"]) == ["a", "c"]
    assert node_prepare.selected_roles(["a", "b"], ["all"]) == ["a", "b"]


@pytest.mark.parametrize(
    ("roles", "run", "skip", "expected"),
    [
        (["windows_settings"], ["all"], [], "win1"),
        (["windows_settings"], ["role::kubernetes-for-windows"], [], "win1"),
        (["windows_settings"], ["install"], [], "win1"),
        (["windows_settings"], ["windows_settings"], [], "win1"),
        (["windows_settings"], ["join"], [], ""),
        (["windows_settings"], ["all"], ["install"], ""),
        (["windows_settings"], ["all"], ["windows_settings"], ""),
        (["cni"], ["all"], [], ""),
    ],
)
def test_the_name_that_the_computer_gets(roles: list[str], run: list[str], skip: list[str], expected: str) -> None:
    assert node_prepare.next_computer_name("win1", roles, TAGS, run, skip) == expected


def test_resources_of_a_node() -> None:
    first, role, other = ({"type": "File", "name": name} for name in "abc")
    assert node_prepare.resources([first], [[role], [other]], "") == [first, role, other]
    removed = {"type": "Directory", "name": "C:\\bundle", "state": "absent"}
    assert node_prepare.resources([], [[role]], "C:\\bundle") == [role, removed]


def test_all_windows_features_come_together_so_that_they_share_a_reboot() -> None:
    containers, routing = ({"type": "WindowsFeature", "name": name} for name in ("Containers", "Routing"))
    a, b = ({"type": "File", "name": name} for name in "ab")
    assert node_prepare.resources([], [[containers], [a], [routing, b]], "") == [containers, routing, a, b]
    assert node_prepare.resources([a], [[b], [routing]], "") == [a, b, routing]


@pytest.mark.parametrize(
    ("of_play", "has_launcher", "expected"),
    [("", False, "native"), ("", True, "launcher"), ("launcher", False, "launcher")],
)
def test_a_machine_keeps_its_launcher(of_play: str, has_launcher: bool, expected: str) -> None:
    assert runtimes.kubelet_service(of_play, has_launcher=has_launcher) == expected


def test_the_join_has_the_kubelet_of_a_node() -> None:
    kubelet = {"type": "Service", "name": "kubelet", "arguments_for_kubelet": []}
    file, running = {"type": "File", "name": "a"}, {**kubelet, "state": "running"}
    assert node_prepare.with_join([file, kubelet], [running]) == [file, running]


def test_images_of_every_node() -> None:
    assert runtimes.base_images("containerd", "pause", "base") == ["pause", "base"]
    assert runtimes.base_images("docker", "pause", "base") == ["pause"]


@pytest.mark.parametrize(
    ("store", "builds", "expected"), [("containerd", True, True), ("containerd", False, False), ("docker", True, False)]
)
def test_buildkit_is_for_images_of_containerd(store: str, builds: bool, expected: bool) -> None:
    assert runtimes.needs_buildkit(store, builds) is expected


@pytest.mark.parametrize(
    ("runtime", "pipe"), [("containerd", "containerd-containerd"), ("moby", "cri-dockerd"), ("docker", "cri-dockerd")]
)
def test_the_endpoint_of_the_runtime(runtime: str, pipe: str) -> None:
    assert runtimes.cri_socket(runtime) == f"npipe:////./pipe/{pipe}"


def test_patches_have_their_files_from_the_bundle() -> None:
    private = [{"kb": "KB2", "url": "http://h/2.msu", "sha256": SHA256}, {"kb": "KB3", "file": "C:\\3.msu"}]
    found = windows_patches.patches(" KB1, KB4,,", private, {SHA256: "/bundle/2.msu"})
    assert found == ["KB1", "KB4", {"kb": "KB2", "file": "/bundle/2.msu", "sha256": SHA256}, private[1]]
    assert windows_patches.patches(["KB1"], private, {}) == ["KB1", *private]


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        ({"changed": True, "failed": True, "msg": "one patch does not exist"}, ""),
        ({"changed": False}, ""),
        ({"failed": True, "msg": "WSUS is not reached"}, "WSUS is not reached"),
        ({"unreachable": True}, "the patches that the node needs are unknown"),
    ],
)
def test_a_check_without_a_result(result: dict[str, t.Any], expected: str) -> None:
    assert windows_patches.check_problem(result) == expected


def test_the_controller_is_reached_without_a_proxy() -> None:
    urls = ["https://10.0.0.5:8443/token", "file:///C:/bundle"]
    assert windows_patches.direct_hosts("a, b", urls) == ["a", "b", "10.0.0.5"]
    assert windows_patches.direct_hosts([], []) == []


@pytest.mark.parametrize(
    ("name", "address", "expected"),
    [
        ("LB.example", "10.0.0.9", {"lb.example": "10.0.0.9"}),
        ("localhost", "10.0.0.9", {}),
        ("10.0.0.9", "10.0.0.9", {}),
        ("lb.example", "", {}),
        ("", "10.0.0.9", {}),
    ],
)
def test_the_load_balancer_in_the_hosts_file(name: str, address: str, expected: dict[str, str]) -> None:
    assert windows_settings.hosts_file(name, address) == expected


def test_machines_have_names_and_addresses() -> None:
    addresses = {"a": "10.0.0.1", "b": ""}
    assert windows_settings.machines(["a", "b", "a"], addresses.__getitem__) == ["a", "b", "10.0.0.1"]


def test_servers_of_a_kubeconfig() -> None:
    clusters: list[dict[str, t.Any]] = [{"cluster": {"server": "https://k8s.example:6443"}}, {"name": "empty"}]
    assert windows_settings.kubeconfig_servers({"clusters": clusters}) == ["k8s.example"]
    assert windows_settings.kubeconfig_servers({}) == []


@pytest.mark.parametrize(
    ("endpoint", "expected"), [("h:6443", "h"), ("h", "h"), ("[fd00::1]:6443", "fd00::1"), ("", "")]
)
def test_the_host_of_an_endpoint(endpoint: str, expected: str) -> None:
    assert windows_settings.endpoint_host(endpoint) == expected


@pytest.mark.parametrize(
    ("node", "seen"),
    [
        ({}, None),
        ({"unschedulable": False, "cordon_owner": "site"}, {"ours": False, "cordoned_before": False}),
        ({"unschedulable": True, "cordon_owner": "other"}, {"ours": False, "cordoned_before": True}),
        ({"unschedulable": True, "cordon_owner": "site"}, {"ours": True, "cordoned_before": True}),
    ],
)
def test_the_record_of_a_node_begins(node: dict[str, t.Any], seen: dict[str, bool] | None) -> None:
    expected: dict[str, t.Any] = {"host": "one", "node": "n-one", "stage": "waiting"}
    if seen is not None:
        node, expected["seen"] = {**node, "labels": {"zone": "b", "site": "a"}}, seen
    assert maintenance.begin("one", "n-one", node, "site") == expected


@pytest.mark.parametrize(("label", "labels"), [("site", {"site": "a"}), ("rack", {})])
def test_the_record_keeps_the_label_of_the_ring_only(label: str, labels: dict[str, str]) -> None:
    node = {"unschedulable": False, "cordon_owner": "", "labels": {"zone": "b", "site": "a"}}
    assert maintenance.begin("one", "n-one", node, "site", label)["seen"]["labels"] == labels
