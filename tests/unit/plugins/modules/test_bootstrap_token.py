# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Bootstrap tokens with an API over HTTP: complete results, and the requests."""

from __future__ import annotations

import datetime
import re

import pytest
from unit.fake_cluster import Asked, FakeCluster, run_module

from ansible_collections.winkube.node.plugins.modules import (
    bootstrap_token,
)

RBAC = "apis/rbac.authorization.k8s.io/v1"
SECRETS = "api/v1/namespaces/kube-system/secrets"
OWN, KUBEADM = "system:bootstrappers:winkube:node-token", "system:bootstrappers:kubeadm:default-node-token"
pytestmark = pytest.mark.waits


def bindings(*roles: tuple[str, str, str]) -> list[Asked]:
    """Return the requests that create bindings: their kind, name and role."""
    found = []
    for kind, name, role in roles:
        place = f"{RBAC}/namespaces/kube-system/rolebindings" if kind == "Role" else f"{RBAC}/clusterrolebindings"
        metadata = {"name": name, **({"namespace": "kube-system"} if kind == "Role" else {})}
        body = {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": f"{kind}Binding",
            "metadata": metadata,
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": role},
            "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": OWN}],
        }
        found.append(Asked("POST", place, body))
    return found


BINDINGS = bindings(
    ("ClusterRole", "winkube:node-bootstrapper", "system:node-bootstrapper"),
    ("ClusterRole", "winkube:get-nodes", "kubeadm:get-nodes"),
    ("Role", "winkube:nodes-kubeadm-config", "kubeadm:nodes-kubeadm-config"),
    ("Role", "winkube:kubelet-config", "kubeadm:kubelet-config"),
)
KUBE_PROXY = bindings(("Role", "winkube:kube-proxy", "kube-proxy"))


def changes(cluster: FakeCluster) -> list[Asked]:
    return [one for one in cluster.asked if "reviews" not in one.path]


def secret(token: str, expires: str, description: str, group: str) -> Asked:
    """Return the request that creates a token."""
    token_id, _dot, rest = token.partition(".")
    body = {
        "apiVersion": "v1",
        "kind": "Secret",
        "type": "bootstrap.kubernetes.io/token",
        "metadata": {"name": f"bootstrap-token-{token_id}", "namespace": "kube-system"},
        "stringData": {
            "token-id": token_id,
            "token-secret": rest,
            "expiration": expires,
            "description": description,
            "usage-bootstrap-authentication": "true",
            "usage-bootstrap-signing": "true",
            "auth-extra-groups": group,
        },
    }
    return Asked("POST", SECRETS, body)


def test_each_node_gets_a_token_of_the_run_s_group(cluster: FakeCluster) -> None:
    before = datetime.datetime.now(datetime.UTC)
    found = run_module(bootstrap_token, cluster, nodes=["a", "b"], ttl=60)
    tokens, expires = found["tokens"], found["expires"]
    assert found == {
        "changed": True,
        "expires": expires,
        "tokens": tokens,
        "token_ids": {name: token.partition(".")[0] for name, token in tokens.items()},
    }
    assert list(tokens) == ["a", "b"]
    assert all(re.fullmatch(r"[a-z0-9]{6}\.[a-z0-9]{16}", token) for token in tokens.values())
    left = datetime.datetime.strptime(expires, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=datetime.UTC) - before
    assert 58 <= left.total_seconds() < 120
    assert changes(cluster) == [
        *BINDINGS,
        secret(tokens["a"], expires, "winkube.node run: a", OWN),
        secret(tokens["b"], expires, "winkube.node run: b", OWN),
    ]
    certificates, attributes = {"group": "certificates.k8s.io"}, "resourceAttributes"
    requests = {**certificates, "resource": "certificatesigningrequests"}
    assert [one.body["spec"] for one in cluster.asked if "reviews" in one.path] == [
        {
            attributes: {
                **certificates,
                "verb": "approve",
                "resource": "signers",
                "name": "kubernetes.io/kube-apiserver-client-kubelet",
            }
        },
        {attributes: {**requests, "verb": "update", "subresource": "approval"}},
        {
            attributes: {**requests, "verb": "create", "subresource": "nodeclient"},
            "user": "system:bootstrap:aaaaaa",
            "groups": ["system:bootstrappers", OWN, "system:authenticated"],
        },
    ]
    assert [one.path.rpartition("/")[2] for one in cluster.asked if "reviews" in one.path] == [
        "selfsubjectaccessreviews",
        "selfsubjectaccessreviews",
        "subjectaccessreviews",
    ]


def test_existing_bindings_are_only_completed(cluster: FakeCluster) -> None:
    cluster.add(f"{RBAC}/namespaces/kube-system/roles/kube-proxy")
    run_module(bootstrap_token, cluster)
    assert changes(cluster)[:-1] == [*BINDINGS, *KUBE_PROXY]
    own = BINDINGS[0].body["subjects"][0]
    other = {"kind": "Group", "name": "other"}
    cluster.objects[f"{RBAC}/clusterrolebindings/winkube:node-bootstrapper"]["subjects"] = [other]
    cluster.asked.clear()
    run_module(bootstrap_token, cluster)
    path = f"{RBAC}/clusterrolebindings/winkube:node-bootstrapper"
    assert changes(cluster)[0] == Asked("PATCH", path, {"subjects": [other, own]})
    assert len(changes(cluster)) == 2
    assert cluster.types == {"application/strategic-merge-patch+json"}
    # Another run may have created one in the meantime.
    del cluster.objects[path]
    cluster.fail("POST", f"{RBAC}/clusterrolebindings", 409)
    assert "failed" not in run_module(bootstrap_token, cluster)
    cluster.fail("POST", f"{RBAC}/clusterrolebindings", 403, {"message": "you may not"})
    assert run_module(bootstrap_token, cluster) == {
        "failed": True,
        "msg": f"the bootstrap tokens of the cluster at {cluster.url} cannot be changed: you may not",
    }


def test_a_binding_of_another_role_is_refused(cluster: FakeCluster) -> None:
    cluster.add(f"{RBAC}/clusterrolebindings/winkube:get-nodes", roleRef={"name": "cluster-admin"})
    assert run_module(bootstrap_token, cluster)["msg"] == (
        f"the bootstrap tokens of the cluster at {cluster.url} cannot be changed: ClusterRoleBinding "
        "winkube:get-nodes: expected the role kubeadm:get-nodes, got cluster-admin. The role of a binding cannot be "
        "changed. Delete the binding, and run again to create it"
    )


def test_one_token_may_serve_all_nodes_and_be_approved_by_the_cluster(cluster: FakeCluster) -> None:
    found = run_module(bootstrap_token, cluster, auto_approved=True, description="by hand")
    assert found == {
        "changed": True,
        "expires": found["expires"],
        "tokens": {},
        "token_ids": {},
        "token": found["token"],
        "token_id": found["token"][:6],
    }
    left = datetime.datetime.fromisoformat(found["expires"]) - datetime.datetime.now(datetime.UTC)
    assert 1790 < left.total_seconds() <= 1800
    assert cluster.asked == [secret(found["token"], found["expires"], "by hand", KUBEADM)]


def test_a_dry_run_makes_no_token(cluster: FakeCluster) -> None:
    empty = {"changed": True, "expires": ""}
    assert run_module(bootstrap_token, cluster, check_mode=True, nodes=["a"]) == {
        **empty,
        "tokens": {"a": ""},
        "token_ids": {"a": ""},
    }
    found = run_module(bootstrap_token, cluster, check_mode=True)
    assert found == {**empty, "tokens": {}, "token_ids": {}, "token": "", "token_id": ""}
    assert cluster.asked == []


@pytest.mark.parametrize("denied", ["signers", "certificatesigningrequests"])
def test_a_user_without_the_right_to_approve_gets_no_token(cluster: FakeCluster, denied: str) -> None:
    cluster.denied = lambda spec: spec["resourceAttributes"]["resource"] == denied
    assert run_module(bootstrap_token, cluster) == {
        "failed": True,
        "msg": "kubeconfig: expected an account that may approve certificates of kubelets, got one that may not; "
        "grant it the ClusterRole in docs/rbac.yaml, or let the cluster approve them (auto_approved: true; "
        "node_join_approval: cluster of the role node_join)",
    }
    assert changes(cluster) == []


def test_a_cluster_that_approves_everything_is_warned_of(cluster: FakeCluster) -> None:
    cluster.denied = lambda _spec: False
    (warning,) = run_module(bootstrap_token, cluster)["warnings"]
    assert warning.startswith("the cluster approves every certificate that is requested with a bootstrap token: ")
    # If the account may not query that, the result is unknown. Any other error is an error.
    reviews = "apis/authorization.k8s.io/v1/subjectaccessreviews"
    cluster.fail("POST", reviews, 403)
    assert "warnings" not in run_module(bootstrap_token, cluster)
    cluster.fail("POST", reviews, 500, b"no JSON")
    words = f"the bootstrap tokens of the cluster at {cluster.url} cannot be changed: 500 Internal Server Error"
    assert run_module(bootstrap_token, cluster) == {"failed": True, "msg": words}


def test_tokens_live_for_a_minute_at_least(cluster: FakeCluster) -> None:
    assert run_module(bootstrap_token, cluster, ttl=59)["msg"] == "ttl: expected at least 60 seconds, got 59"


@pytest.mark.parametrize("check_mode", [True, False])
def test_existing_tokens_are_deleted(cluster: FakeCluster, check_mode: bool) -> None:
    for one in ("aaaaaa", "bbbbbb"):
        cluster.add(f"{SECRETS}/bootstrap-token-{one}")
    options = {"state": "absent", "token_ids": ["aaaaaa", "", "cccccc"]}
    found = run_module(bootstrap_token, cluster, check_mode=check_mode, **options)
    assert found == {"changed": True, "deleted": ["aaaaaa"]}
    query = {"dryRun": "All"} if check_mode else {}
    assert cluster.asked == [
        Asked("DELETE", f"{SECRETS}/bootstrap-token-aaaaaa", None, query),
        Asked("DELETE", f"{SECRETS}/bootstrap-token-cccccc", None, query),
    ]
    assert (f"{SECRETS}/bootstrap-token-aaaaaa" in cluster.objects) is check_mode
    gone = {"changed": False, "deleted": []}
    assert run_module(bootstrap_token, cluster, state="absent", token_ids=["cccccc"]) == gone
    cluster.fail("DELETE", f"{SECRETS}/bootstrap-token-bbbbbb", 403, {"message": "no"})
    assert run_module(bootstrap_token, cluster, state="absent", token_ids=["bbbbbb"])["failed"] is True


def test_no_token_stays_if_one_of_them_cannot_be_created(cluster: FakeCluster) -> None:
    cluster.fail("POST", SECRETS, 201, {})
    cluster.fail("POST", SECRETS, 503, {"message": "etcd is busy"})
    found = run_module(bootstrap_token, cluster, nodes=["a", "b", "c"], auto_approved=True)
    assert "etcd is busy" in found["msg"]
    created = [one.body["metadata"]["name"] for one in cluster.asked if one.method == "POST"]
    assert len(created) == 2
    assert [one.path for one in cluster.asked if one.method == "DELETE"] == [f"{SECRETS}/{name}" for name in created]


def test_tokens_are_deleted_when_the_server_is_back(cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bootstrap_token, "POLL_SECONDS", 0.01)
    path = f"{SECRETS}/bootstrap-token-aaaaaa"
    cluster.add(path)
    cluster.fail("DELETE", path, 503)
    cluster.fail("DELETE", path, 500)
    assert run_module(bootstrap_token, cluster, state="absent", token_ids=["aaaaaa"])["deleted"] == ["aaaaaa"]
    assert path not in cluster.objects
    monkeypatch.setattr(bootstrap_token, "RETRY_SECONDS", 0.05)
    cluster.close()
    found = run_module(bootstrap_token, cluster, state="absent", token_ids=["aaaaaa"])
    assert "cannot be reached" in found["msg"]


def test_tokens_of_others_may_be_permitted_to_join(cluster: FakeCluster) -> None:
    assert run_module(bootstrap_token, cluster, check_mode=True, state="permitted") == {"changed": False}
    assert cluster.asked == []
    assert run_module(bootstrap_token, cluster, state="permitted") == {"changed": True}
    assert changes(cluster) == BINDINGS
