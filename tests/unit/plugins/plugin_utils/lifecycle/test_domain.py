# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
from __future__ import annotations

import dataclasses

import hypothesis
import hypothesis.strategies as st
import pytest
import yaml

from ansible_collections.winkube.node.plugins.plugin_utils.artifacts import locations, verification
from ansible_collections.winkube.node.plugins.plugin_utils.lifecycle import join as joining
from ansible_collections.winkube.node.plugins.plugin_utils.node_config import no_proxy
from ansible_collections.winkube.node.plugins.plugin_utils.node_config.kubeadm import Join, join_configuration
from ansible_collections.winkube.node.plugins.plugin_utils.preflight import variables as preflight
from ansible_collections.winkube.node.plugins.plugin_utils.resources.load import load
from ansible_collections.winkube.node.plugins.plugin_utils.windows import node_paths, registry_fixes
from ansible_collections.winkube.node.plugins.plugin_utils.wire.messages import Observation

JOIN = Join(
    api_server="k8s.example.com:6443",
    token="abcdef.0123456789abcdef",
    ca_cert_hashes=("sha256:00",),
    node_name="win1",
    kubelet_extra_args={"node-ip": "10.0.0.5"},
    timeouts={"discovery": "2m0s", "tlsBootstrap": "5m0s"},
)

KUBEADM = joining.KubeadmJoin(configuration="token", kubeadm="C:\\k\\kubeadm.exe", timeout=900)


def test_v1beta4_has_a_list_of_arguments_and_timeouts_of_its_own() -> None:
    document = yaml.safe_load(join_configuration("1.37.1", JOIN))
    assert document["apiVersion"] == "kubeadm.k8s.io/v1beta4"
    assert document["nodeRegistration"]["kubeletExtraArgs"] == [{"name": "node-ip", "value": "10.0.0.5"}]
    assert document["timeouts"] == {"discovery": "2m0s", "tlsBootstrap": "5m0s"}


def test_v1beta3_has_a_map_of_arguments_and_one_timeout() -> None:
    document = yaml.safe_load(join_configuration("1.30.4", JOIN))
    assert document["apiVersion"] == "kubeadm.k8s.io/v1beta3"
    assert document["nodeRegistration"]["kubeletExtraArgs"] == {"node-ip": "10.0.0.5"}
    assert document["discovery"]["timeout"] == "2m0s"
    assert "timeouts" not in document


def test_another_endpoint_than_the_clusters_own_needs_a_file() -> None:
    join = dataclasses.replace(JOIN, discovery_file=True)
    for version in ("1.30.4", "1.37.1"):
        discovery = yaml.safe_load(join_configuration(version, join))["discovery"]
        assert "bootstrapToken" not in discovery
        assert discovery["tlsBootstrapToken"] == JOIN.token
        # kubeadm interprets the drive letter as the scheme of a URL.
        assert ":" not in discovery["file"]["kubeConfigPath"]
    calls = {call.id: call for call in joining.calls(dataclasses.replace(KUBEADM, discovery="kind: Config"))}
    written = calls["discovery"].parameters
    assert str(written["path"]).replace("\\", "/") == "C:" + discovery["file"]["kubeConfigPath"]
    assert written["content"] == "kind: Config"
    assert written["path"] in calls["remove-configuration"].parameters["LiteralPath"]  # type: ignore[operator]


def test_the_token_is_on_no_command_line_and_its_file_is_always_deleted() -> None:
    given = dataclasses.replace(KUBEADM, configuration=join_configuration("1.37.1", JOIN))
    calls = {call.id: call for call in joining.calls(given)}
    assert not any(JOIN.token in argument for call in calls.values() for argument in call.arguments)
    carrying = [call for call in calls.values() if JOIN.token in str(call.parameters)]
    assert [call.secret for call in carrying] == [True]
    assert calls["remove-configuration"].always
    assert calls["remove-configuration"].parameters["LiteralPath"] == node_paths.JOIN_CONFIGURATION


@pytest.mark.parametrize("again", [False, True])
def test_a_join_that_is_tried_again_with_its_token_keeps_the_kubelets_key(again: bool) -> None:
    calls = {call.id: call for call in joining.calls(KUBEADM, again=again)}
    key = "C:\\var\\lib\\kubelet\\pki\\kubelet-client.key.tmp"
    assert (key not in str(calls["leftovers"].parameters["paths"]).replace("\\\\", "\\")) is again


def test_a_failed_join_is_reported_with_kubeadms_message() -> None:
    seen = Observation.from_wire(
        {
            "state": "finished",
            "stopped": {"id": "join", "reason": "error"},
            "calls": {"join": {"ok": False, "exit_code": 1, "stderr": "error: token expired", "error": {"id": "x"}}},
        }
    )
    assert joining.problem(seen) == "join: exit code 1: error: token expired"
    assert not joining.had_joined(seen)


def test_a_machine_that_had_joined_is_accepted() -> None:
    seen = Observation.from_wire({"state": "finished", "stopped": {"id": "stop-if-joined", "reason": "barrier"}})
    assert joining.had_joined(seen)
    assert joining.problem(seen) is None


def test_an_artifact_is_found_upstream_or_at_a_mirror() -> None:
    upstream = locations.locate("kubernetes", "v1.37.1", cache_dir="C:\\cache")
    assert upstream.url == "https://dl.k8s.io/v1.37.1/kubernetes-node-windows-amd64.tar.gz"
    assert upstream.checksum_url == upstream.url + ".sha256"
    assert upstream.path == "C:\\cache\\kubernetes\\1.37.1\\kubernetes-node-windows-amd64.tar.gz"
    mirrored = locations.locate("kubernetes", "1.37.1", cache_dir="C:\\cache", mirror="http://mirror:8080/")
    assert mirrored.url == "http://mirror:8080/dl.k8s.io/v1.37.1/kubernetes-node-windows-amd64.tar.gz"


def test_a_url_of_the_users_comes_without_the_publishers_checksum() -> None:
    own = locations.locate("containerd", "2.4.2", cache_dir="C:\\cache", url="https://x/signed%20build.zip?sig=s3cret")
    assert own.checksum_url == ""
    # It is cached separately from the official version with this number, regardless of the signature.
    assert own.path == "C:\\cache\\containerd\\custom\\22ff343093e8e7c5\\signed build.zip"
    assert own.name == "containerd 2.4.2 (custom)"
    again = locations.locate("containerd", "2.4.2", cache_dir="C:\\cache", url="https://x/signed%20build.zip?sig=other")
    assert again.path == own.path


def test_an_unknown_kind_names_those_that_are_known() -> None:
    with pytest.raises(locations.UnknownKindError, match="containerd, cri-dockerd, crictl"):
        locations.locate("kubernets", "1.37.1", cache_dir="C:\\cache")


ROLES = ("cni", "container_runtime", "kubernetes_node")


@pytest.mark.parametrize(
    ("values", "roles", "named"),
    [
        ({"cni_plugin": "flannel"}, ROLES, ["cni_flannel_sha256"]),
        ({"cni_plugin": "flannel", "cni_flannel_sha256": "0" * 64}, ROLES, []),
        ({"cni_plugin": "none", "cni_flannel_url": "http://x/a.tgz"}, ROLES, []),
        ({"cni_plugin": "flannel"}, ["container_runtime"], []),
        (
            {"container_runtime": "containerd", "container_runtime_containerd_url": "http://x/a.tgz?sig=s3cret"},
            ROLES,
            ["container_runtime_containerd_sha256"],
        ),
        ({"kubernetes_node_url": "http://x/a.tgz", "kubernetes_node_sha256": "0" * 64}, ROLES, []),
        # Pinned by the collection: nssm 2.24. Not pinned: cri-dockerd, and most versions of Docker's engine.
        (
            {
                "container_runtime": "moby",
                "container_runtime_moby_version": "26.1.0",
                "container_runtime_nssm_version": "2.24",
            },
            ["container_runtime"],
            ["container_runtime_cri_dockerd_sha256"],
        ),
    ],
)
def test_an_unverified_artifact_is_reported_with_the_variable_that_verifies_it(
    values: dict[str, str], roles: list[str], named: list[str]
) -> None:
    sentences = [str(one) for one in verification.of_roles(values, roles)]
    assert [sentence.rpartition("; set ")[2].split()[0] for sentence in sentences] == named
    assert "s3cret" not in str(sentences)


def test_each_checksum_that_a_role_takes_is_one_of_an_artifact() -> None:
    options = {name for role in preflight.roles() for name in role.options}
    taken = {name.removesuffix("_sha256") for name in options if name.endswith("_sha256")}
    # The archive of OpenSSH has no version that the catalogue lists.
    taken.remove("windows_settings_ssh")
    assert taken == {kind.variables for kind in locations.catalogue().values() if kind.variables}
    assert all(f"{name}_url" in options for name in taken)


@hypothesis.given(st.lists(st.text(st.characters(blacklist_characters=","), max_size=8)), st.lists(st.text(max_size=8)))
def test_no_proxy_keeps_every_entry_once_and_in_order(given: list[str], more: list[str]) -> None:
    joined = no_proxy.no_proxy(given, [entry.replace(",", "") for entry in more], None, "")
    entries = joined.split(",") if joined else []
    lowered = [entry.lower() for entry in entries]
    assert len(lowered) == len(set(lowered))
    for entry in given:
        assert not entry.strip() or entry.strip().lower() in lowered


def test_registry_fixes_are_resources_and_each_is_one_of_its_name() -> None:
    resources = registry_fixes.resources({"2019", "2022", "2025"})
    loaded = load(resources)
    assert len({resource.name for resource in loaded}) == len(loaded)
    expected = [fix for fix in registry_fixes.fixes() if fix["os"] in ("*", "2019", "2022", "2025")]
    listed = {(item["key"], item["value_name"], item["value"]) for item in resources}
    assert {(fix["path"], fix["name"], fix["value"]) for fix in expected} == listed


def test_a_fix_for_every_windows_has_no_limit() -> None:
    everywhere = [item for item in registry_fixes.resources({"2022"}) if not item["windows"]]
    assert [item["value_name"] for item in everywhere]
    assert all(set(item["windows"]) <= {"2022"} for item in registry_fixes.resources({"2022"}))
