# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Misspelled names of variables without a role's prefix."""

from __future__ import annotations

import pytest

from ansible_collections.winkube.node.plugins.plugin_utils.preflight.shared_names import misspelt, shared_names


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("kube_vesion", "kube_version"),
        ("kube_verison", "kube_version"),
        ("kube_pod_subnet", "kube_pods_subnet"),
        ("kube_service_adresses", "kube_service_addresses"),
        ("kubeconfg", "kubeconfig"),
        ("containerd_versons", "containerd_versions"),
        ("http_proxi", "http_proxy"),
        ("https_prox", "https_proxy"),
        ("noproxy", "no_proxy"),
        ("artifact_miror", "artifact_mirror"),
        ("bundle_dirr", "bundle_dir"),
        ("allow_unsuported_windows", "allow_unsupported_windows"),
        ("flanel_backend_type", "flannel_backend_type"),
        ("docker_ur", "docker_url"),
        ("allow_insecure_conection", "allow_insecure_connection"),
    ],
)
def test_a_misspelt_name_is_refused_with_the_one_that_was_meant(name: str, meant: str) -> None:
    problems, warnings = misspelt({name: "1.34.4"})
    (problem,) = map(str, problems)
    expected = f"{name}: expected a variable of winkube.node, got an unknown name set to '1.34.4'. "
    assert problem.startswith(f"{expected}Did you mean {meant}?")
    assert warnings == []


@pytest.mark.parametrize(
    "name",
    [
        "kube_version",
        # kubespray's own.
        "kube_pods_subnet_ipv6",
        "kube_pods_subnets",
        "kube_proxy_mode",
        "containerd_version",
        "docker_version",
        "loadbalancer_apiserver_port",
        # Those that roles and playbooks set themselves.
        "bundle_content",
        "hns_report_facts",
        # Those of other projects.
        "ftp_proxy",
        "ansible_httpapi_port",
        "kube",
        "nginx_version",
    ],
)
def test_a_correct_name_is_not_reported(name: str) -> None:
    assert misspelt({name: "a-value"}) == ([], [])


def test_a_name_that_may_be_the_users_own_is_only_a_warning() -> None:
    problems, (warning,) = misspelt({"my_http_proxy": "http://user:s3cret@proxy:3128"})
    assert problems == []
    assert "my_http_proxy" in warning
    assert "s3cret" not in warning


def test_a_value_that_may_be_secret_is_not_shown() -> None:
    (problem,), _ = misspelt({"bundle_key_passphrasse": "hunter2"})
    assert "hunter2" not in str(problem)
    (problem,), _ = misspelt({"http_proxi": "http://user:hunter2@proxy:3128"})
    assert "hunter2" not in str(problem)


def test_the_names_come_from_roles_and_playbooks() -> None:
    ours = set(shared_names().ours)
    assert {"kube_version", "kubeconfig", "artifact_mirror", "winkube_hosts", "reset_confirmation"} <= ours
    assert not {name for name in ours if name.startswith(("node_join_", "cni_"))}
