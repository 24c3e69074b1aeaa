# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Create the Secrets of bootstrap tokens, and the role bindings that let nodes join with these tokens (no I/O).

Sources: kubernetes.io, Authenticating with Bootstrap Tokens, and TLS bootstrapping.
"""

from __future__ import annotations

import secrets
import string
import typing as t

NAMESPACE = "kube-system"
GROUP = "system:bootstrappers:winkube:node-token"
"""A group of bootstrap tokens. If a node requests a certificate with such a token, the cluster does not approve the
request automatically. The run approves it."""
AUTO_APPROVED_GROUP = "system:bootstrappers:kubeadm:default-node-token"
"""kubeadm's own group of bootstrap tokens. These tokens have all permissions for a join, and the cluster automatically
approves any certificate request that is made with one of them, whatever node name the request contains."""
_ALPHABET = string.ascii_lowercase + string.digits
_RBAC = "rbac.authorization.k8s.io"
CLUSTER_ROLES = {"winkube:node-bootstrapper": "system:node-bootstrapper", "winkube:get-nodes": "kubeadm:get-nodes"}
"""The names of the ClusterRoleBindings that bootstrap tokens need, each mapped to the name of its ClusterRole."""
ROLES = ("kubeadm:nodes-kubeadm-config", "kubeadm:kubelet-config")
"""Roles in the kube-system namespace that bootstrap tokens need and that every kubeadm cluster has.

Bootstrap tokens also need the Role `kube-proxy`, which exists only if kubeadm installed kube-proxy.
"""


def new_token() -> str:
    """Return a new random bootstrap token in the form `ID.SECRET`."""
    return ".".join("".join(secrets.choice(_ALPHABET) for dummy in range(length)) for length in (6, 16))


def secret_name(token_id: str) -> str:
    """Return the name of the Secret of a bootstrap token."""
    return f"bootstrap-token-{token_id}"


def secret(token: str, expires: str, description: str, group: str) -> dict[str, t.Any]:
    """Return the Secret of a bootstrap token.

    Args:
        token: `ID.SECRET`.
        expires: time when the token expires (UTC, ISO 8601).
        description: text that `kubeadm token list` shows.
        group: the group to which a client with this token belongs, in addition to `system:bootstrappers`.
    """
    token_id, dummy, token_secret = token.partition(".")
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "type": "bootstrap.kubernetes.io/token",
        "metadata": {"name": secret_name(token_id), "namespace": NAMESPACE},
        "stringData": {
            "token-id": token_id,
            "token-secret": token_secret,
            "expiration": expires,
            "description": description,
            "usage-bootstrap-authentication": "true",
            "usage-bootstrap-signing": "true",
            "auth-extra-groups": group,
        },
    }


def bindings(*, kube_proxy: bool) -> list[dict[str, t.Any]]:
    """Return the role bindings that `kubeadm join` needs with a token of GROUP.

    kubeadm creates the same bindings for its own group, and one more for automatic approval. Source:
    kubernetes/kubernetes, cmd/kubeadm/app/phases/bootstraptoken/node/tlsbootstrap.go, phases/uploadconfig and
    phases/kubelet/config.go.

    Args:
        kube_proxy: whether the Role `kube-proxy` exists. kubeadm creates it only if it installs kube-proxy.
    """
    roles = [*ROLES, *(["kube-proxy"] if kube_proxy else [])]
    return [
        *(_binding("ClusterRole", role, {"name": name}) for name, role in CLUSTER_ROLES.items()),
        *(
            _binding("Role", role, {"name": f"winkube:{role.rpartition(':')[2]}", "namespace": NAMESPACE})
            for role in roles
        ),
    ]


def _binding(kind: str, role: str, metadata: t.Mapping[str, str]) -> dict[str, t.Any]:
    return {
        "apiVersion": f"{_RBAC}/v1",
        "kind": f"{kind}Binding",
        "metadata": dict(metadata),
        "roleRef": {"apiGroup": _RBAC, "kind": kind, "name": role},
        "subjects": [{"apiGroup": _RBAC, "kind": "Group", "name": GROUP}],
    }


def changed_subjects(existing: t.Mapping[str, t.Any], expected: t.Mapping[str, t.Any]) -> list[t.Any] | None:
    """Return the subjects to set in an existing role binding, or None if it already has all expected subjects.

    Args:
        existing: the binding as the API returned it.
        expected: the expected binding, one of the results of `bindings`.

    Raises:
        ValueError: the binding refers to a different role. A binding's role cannot be changed.
    """
    role, other = expected["roleRef"]["name"], (existing.get("roleRef") or {}).get("name")
    if role != other:
        name = expected["metadata"]["name"]
        raise ValueError(
            f"{expected['kind']} {name}: expected the role {role}, got {other}. The role of a binding cannot be "
            "changed. Delete the binding, and run again to create it"
        )
    subjects = [dict(one) for one in existing.get("subjects") or ()]
    missing = [one for one in expected["subjects"] if one not in subjects]
    return [*subjects, *missing] if missing else None
