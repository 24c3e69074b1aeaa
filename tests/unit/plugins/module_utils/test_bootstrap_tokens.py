# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Tokens as the API server parses them, and bindings that only allow a join."""

from __future__ import annotations

import re
import typing as t

import pytest

from ansible_collections.winkube.node.plugins.module_utils import bootstrap_tokens


def test_a_token_is_of_the_form_that_kubernetes_wants() -> None:
    tokens = {bootstrap_tokens.new_token() for _ in range(50)}
    assert len(tokens) == 50
    assert all(re.fullmatch(r"[a-z0-9]{6}\.[a-z0-9]{16}", token) for token in tokens)
    made = bootstrap_tokens.secret("abcdef.0123456789abcdef", "2026-11-22T12:00:00Z", "d", bootstrap_tokens.GROUP)
    assert made["metadata"]["name"] == "bootstrap-token-abcdef"
    assert made["stringData"]["token-secret"] == "0123456789abcdef"


def test_the_group_is_one_that_a_token_may_have() -> None:
    # kubernetes/kubernetes, staging/src/k8s.io/cluster-bootstrap/token/api: BootstrapGroupPattern
    assert re.fullmatch(r"system:bootstrappers:[a-z0-9:-]{0,255}[a-z0-9]", bootstrap_tokens.GROUP)


def test_nothing_binds_the_group_to_the_automatic_approval() -> None:
    found = bootstrap_tokens.bindings(kube_proxy=True)
    roles = {(one["kind"], one["roleRef"]["name"]) for one in found}
    assert roles == {
        ("ClusterRoleBinding", "system:node-bootstrapper"),
        ("ClusterRoleBinding", "kubeadm:get-nodes"),
        ("RoleBinding", "kubeadm:nodes-kubeadm-config"),
        ("RoleBinding", "kubeadm:kubelet-config"),
        ("RoleBinding", "kube-proxy"),
    }
    assert {one["subjects"][0]["name"] for one in found} == {bootstrap_tokens.GROUP}
    assert len({one["metadata"]["name"] for one in found}) == len(found)
    assert len(bootstrap_tokens.bindings(kube_proxy=False)) == len(found) - 1


def test_a_binding_is_changed_only_where_it_lacks_the_group() -> None:
    expected = bootstrap_tokens.bindings(kube_proxy=False)[0]
    other = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": "system:of:a:site"}
    kept: dict[str, t.Any] = {**expected, "subjects": [other, *expected["subjects"]]}
    assert bootstrap_tokens.changed_subjects(kept, expected) is None
    lacking = {**expected, "subjects": [other]}
    assert bootstrap_tokens.changed_subjects(lacking, expected) == [other, *expected["subjects"]]
    assert bootstrap_tokens.changed_subjects({**expected, "subjects": None}, expected) == expected["subjects"]


def test_a_binding_of_another_role_is_not_taken() -> None:
    requested = bootstrap_tokens.bindings(kube_proxy=False)[0]
    other = {**requested, "roleRef": {**requested["roleRef"], "name": "cluster-admin"}}
    with pytest.raises(ValueError, match=r"node-bootstrapper, got cluster-admin\. .*Delete the binding"):
        bootstrap_tokens.changed_subjects(other, requested)
