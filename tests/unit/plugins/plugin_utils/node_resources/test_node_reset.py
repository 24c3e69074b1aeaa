# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The resources of the role node_reset: what a join makes is removed, and what the preparation makes stays."""

from __future__ import annotations

import re
import typing as t

import pytest
from unit.roles import resource_cases

from ansible_collections.winkube.node.plugins.plugin_utils.lifecycle import join
from ansible_collections.winkube.node.plugins.plugin_utils.node_resources import node_reset
from ansible_collections.winkube.node.plugins.plugin_utils.node_resources.roles import of_role
from ansible_collections.winkube.node.plugins.plugin_utils.pod_networks.catalogue import catalogue
from ansible_collections.winkube.node.plugins.plugin_utils.resources.load import load
from ansible_collections.winkube.node.plugins.plugin_utils.values.errors import ResourceError
from ansible_collections.winkube.node.plugins.plugin_utils.windows import node_paths

PREPARING = ("container_runtime", "cni", "kubernetes_node")
NETWORKS = [{"cni_plugin": name} for name in ("flannel", "calico", "azure", "sdnbridge", "sdnoverlay", "none")]
HOSTS: list[dict[str, t.Any]] = [
    *NETWORKS,
    {"container_runtime": "moby"},
    {"cni_run_as": "service", "cni_flannel_backend": "vxlan"},
    {"node_join_info": {"computer_name": "WIN1", "joined": True, "cni": {"plugin": "flannel", "services": True}}},
]


def identities(listed: t.Iterable[t.Mapping[str, t.Any]]) -> set[tuple[str, str]]:
    return {(one["type"], name_of(one).casefold()) for one in listed}


def name_of(one: t.Mapping[str, t.Any]) -> str:
    return str(one.get("name") or f"{one['key']} {one.get('value_name', '')}")


def reset_of(**given: t.Any) -> list[t.Mapping[str, t.Any]]:
    return list(of_role("node_reset", resource_cases.variables(given)))


def is_removed(identity: tuple[str, str], reset: t.Sequence[t.Mapping[str, t.Any]]) -> bool:
    """Return whether a resource of the join is gone after the reset."""
    folders = [str(one["name"]).casefold() for one in reset if one["type"] == "StateFolder"]
    kind, name = identity
    below = any(name == folder or name.startswith(f"{folder}\\") for folder in folders)
    gone = identities(one for one in reset if one.get("state") == "absent")
    return identity in gone or (kind in ("File", "Directory") and below)


@pytest.mark.parametrize("given", HOSTS, ids=lambda given: next(iter(given.values()), "plain"))
def test_all_that_a_join_makes_is_removed(given: dict[str, t.Any]) -> None:
    host = resource_cases.variables(given)
    prepared = identities(one for role in PREPARING for one in of_role(role, host))
    reset = list(of_role("node_reset", host))
    made = [one for one in of_role("node_join", host) if one["type"] != "Registry" and one.get("state") != "absent"]
    left = {one for one in identities(made) - prepared if not is_removed(one, reset)}
    assert left == set()
    assert {str(one["name"]) for one in made}  # the join makes something


@pytest.mark.parametrize("given", NETWORKS, ids=lambda given: given["cni_plugin"])
def test_nothing_that_the_preparation_makes_is_removed(given: dict[str, t.Any]) -> None:
    host = resource_cases.variables(given)
    prepared = [one for role in PREPARING for one in of_role(role, host) if one.get("state") != "absent"]
    removed = [one for one in of_role("node_reset", host) if one.get("state") == "absent"]
    assert identities(removed) & identities(prepared) == set()
    folders = {str(one["name"]).casefold() for one in removed if one["type"] == "StateFolder"}
    kept = {str(one["name"]).casefold() for one in prepared if one["type"] in ("Directory", "File")}
    assert folders & kept == set()
    assert [one for one in kept if one.startswith(tuple(f"{folder}\\" for folder in folders))] == []


def test_a_machine_may_have_joined_with_any_network() -> None:
    reset = reset_of(cni_plugin="none")
    services = {one["name"] for one in reset if one["type"] == "Service"}
    assert services == set(node_reset.service_names())
    for known in catalogue().values():
        for path in (*known.files.state, *known.files.service_files, *known.files.folders):
            assert is_removed(("File", path.casefold()), reset), path
        for rule in known.files.firewall_rules:
            assert ("FirewallRule", rule.casefold()) in identities(reset)


def test_the_kubelet_returns_to_the_definition_of_the_preparation() -> None:
    first = reset_of()[0]
    assert (first["name"], first["state"], first["if_exists"]) == ("kubelet", "stopped", True)
    host = resource_cases.variables({})
    (prepared,) = (one for one in of_role("kubernetes_node", host) if one["type"] == "Service")
    assert first["arguments"] == prepared["arguments"]
    assert not [key for key in first if key.startswith("arguments_")]


def test_the_kubelets_folder_gets_the_access_lists_of_the_preparation() -> None:
    (folder,) = (one for one in reset_of() if one.get("name") == node_paths.KUBELET)
    host = resource_cases.variables({})
    lists = {one["name"]: one.get("acl") for one in of_role("kubernetes_node", host) if one["type"] == "Directory"}
    assert folder["acl"] == lists[node_paths.KUBELET]
    assert set(folder["folders"]) == {"pki", "pods"}
    assert folder["folders"]["pki"] == lists[node_paths.KUBELET_PKI]


@pytest.mark.parametrize("runner", ["native", "nssm"])
def test_the_kubelet_loses_the_flags_of_kubeadm(runner: str) -> None:
    """With the labels and taints of its former cluster, the machine would register in the next one."""
    given = {"kubernetes_node_kubelet_service": runner}
    (prepared,) = (
        one for one in of_role("kubernetes_node", resource_cases.variables(given)) if one.get("arguments_from_file")
    )
    (reset,) = (one for one in reset_of(**given) if (one["type"], one.get("name")) == (prepared["type"], "kubelet"))
    assert (reset["arguments"], reset["if_exists"]) == (prepared["arguments"], True)
    assert "arguments_from_file" not in reset
    load(reset_of(**given))


def test_the_script_that_runs_the_kubelet_stays() -> None:
    given = {"kubernetes_node_kubelet_service": "launcher"}
    (service,) = (one for one in reset_of(**given) if (one["type"], one.get("name")) == ("Service", "kubelet"))
    assert (service["state"], service["if_exists"]) == ("stopped", True)
    assert not [one for one in reset_of(**given) if "kubelet-launcher" in str(one.get("name"))]
    load(reset_of(**given))


def test_files_of_kubeadm_are_removed() -> None:
    reset = reset_of()
    for path in (*join.MADE_FILES, *join.MADE_FOLDERS, node_paths.JOIN_RECORD):
        assert is_removed(("File", path.casefold()), reset), path


def test_logs_stay_on_request() -> None:
    for kept in (False, True):
        names = [name_of(one) for one in reset_of(node_reset_keep_logs=kept)]
        assert bool([name for name in names if name.startswith("C:\\var\\log\\")]) is not kept


def test_a_shared_log_folder_stays() -> None:
    names = {one.get("name") for one in reset_of(kubernetes_node_kubelet_log_file=r"C:\logs\kubelet.log")}
    assert r"C:\logs" not in names
    names = {one.get("name") for one in reset_of(kubernetes_node_kubelet_log_file=r"C:\var\log\kubelet.log")}
    assert r"C:\var\log" not in names


@pytest.mark.parametrize("path", [r"C:\var\log\containerd\kubelet.log", r"C:\var\log\site\kubelet.log"])
def test_a_log_folder_that_may_be_that_of_other_programs_stays(path: str) -> None:
    assert path.rpartition("\\")[0] not in {one.get("name") for one in reset_of(kubernetes_node_kubelet_log_file=path)}


@pytest.mark.parametrize(
    ("folder", "inside"),
    [
        (r"C:\opt\cni", r"without C:\opt\cni\bin"),
        (r"c:\OPT", r"without C:\opt\cni"),
        (r"C:\Program Files\containerd", r"without C:\Program Files\containerd\bin"),
        (r"C:\opt\cni\bin", r"without C:\opt\cni\bin"),
        (r"C:\kube", r"without C:\kube"),
        (r"C:\tools", r"without C:\tools\k"),
    ],
)
def test_programs_in_the_folder_of_cni_configurations_are_never_removed(folder: str, inside: str) -> None:
    programs = {"C:\\kube": "C:\\kube", "C:\\tools": r"C:\tools\k"}
    given = {"container_runtime_cni_conf_dir": folder, "kubernetes_node_install_dir": programs.get(folder, r"C:\k")}
    with pytest.raises(ResourceError, match=re.escape(inside)):
        reset_of(**given)


def test_programs_may_be_around_the_folder_of_cni_configurations() -> None:
    folder = r"C:\opt\cni\bin\config"
    (own,) = (one for one in reset_of(container_runtime_cni_conf_dir=folder) if one.get("name") == folder)
    assert (own["type"], own["state"]) == ("StateFolder", "empty")


def test_images_are_removed_on_request() -> None:
    assert not [one for one in reset_of() if one["type"] == "UnusedContainerImages"]
    last = reset_of(node_reset_images="remove", image_cache_images=["nginx:1"])[-1]
    assert last["type"] == "UnusedContainerImages"
    assert "nginx:1" in last["keep"]


@pytest.mark.parametrize("given", HOSTS, ids=lambda given: next(iter(given.values()), "plain"))
def test_the_resources_can_be_loaded(given: dict[str, t.Any]) -> None:
    assert len(load(reset_of(**given))) > 20
