# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""How kubeadm joins a machine."""

from __future__ import annotations

import base64
import json

import pytest

from ansible_collections.winkube.node.plugins.plugin_utils.role_decisions import kubeadm_join


def test_nodes_with_docker_register_with_their_label() -> None:
    given = {"node-labels": "site=a", "v": 2}
    assert kubeadm_join.kubelet_arguments(given, {"node-labels": "zone=b"}, "") == given
    labelled = kubeadm_join.kubelet_arguments(given, {"node-labels": "zone=b"}, "runtime=docker")
    assert labelled == {"node-labels": "zone=b,site=a,runtime=docker", "v": 2}
    assert kubeadm_join.kubelet_arguments({}, {}, "runtime=docker") == {"node-labels": "runtime=docker"}
    assert given["node-labels"] == "site=a"


def test_kubeadm_finds_the_cluster_by_a_kubeconfig_without_a_user() -> None:
    document = json.loads(kubeadm_join.discovery("10.3.0.1:6443", ca_certificate="PEM"))
    (entry,) = document.pop("clusters")
    assert document == {"apiVersion": "v1", "kind": "Config"}
    authority = base64.b64encode(b"PEM").decode()
    server = {"server": "https://10.3.0.1:6443", "certificate-authority-data": authority}
    assert entry == {"name": "", "cluster": server}


def test_a_kubeconfig_with_a_token_has_a_context() -> None:
    """kubeadm reads credentials only from the current context."""
    document = json.loads(kubeadm_join.discovery("10.3.0.1:6443", ca_certificate="PEM", token="a.b"))
    (context,) = document["contexts"]
    assert document["current-context"] == context["name"]
    (user,), (cluster,) = document["users"], document["clusters"]
    assert (user["name"], cluster["name"]) == (context["context"]["user"], context["context"]["cluster"])
    assert user["user"] == {"token": "a.b"}


@pytest.mark.parametrize(
    ("method", "public", "own_endpoint", "expected"),
    [
        ("auto", True, False, False),
        ("auto", False, False, True),
        ("auto", True, True, True),
        ("file", True, False, True),
        ("token", False, False, False),
        # kubeadm would use the endpoint in cluster-info.
        ("token", True, True, True),
    ],
)
def test_when_a_kubeconfig_replaces_cluster_info(method: str, public: bool, own_endpoint: bool, expected: bool) -> None:
    assert kubeadm_join.discovers_by_file(method, public=public, own_endpoint=own_endpoint) is expected


def test_tokens_are_read_from_what_kubeadm_printed() -> None:
    results = [
        {"item": "a", "stdout": "abcdef.0123456789abcdef\n"},
        {"item": "b", "stdout": "I1125 a remark\nbbbbbb.0123456789abcdef"},
        {"item": "c", "failed": True, "stderr": "no rights"},
        {"item": "d", "stdout": "not a token"},
    ]
    assert kubeadm_join.created_tokens(results) == {"a": "abcdef.0123456789abcdef", "b": "bbbbbb.0123456789abcdef"}


def test_the_kubelet_gets_the_flags_that_kubeadm_will_write() -> None:
    taints = [
        {"key": "os", "value": "windows", "effect": "NoSchedule"},
        {"key": "a", "value": "", "effect": "NoExecute"},
    ]
    assert kubeadm_join.kubeadm_flags({"node-labels": "site=a", "v": 2}, taints) == [
        "--node-labels=site=a",
        "--register-with-taints=os=windows:NoSchedule,a=:NoExecute",
        "--v=2",
    ]
    assert kubeadm_join.kubeadm_flags({}, []) == []
