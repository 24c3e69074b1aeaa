# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Bootstrap tokens as Secrets, their groups, and the role bindings that let a group's tokens join (no I/O).

kubernetes.io: Authenticating with Bootstrap Tokens; TLS bootstrapping.
"""

from __future__ import annotations

import secrets
import string
import typing as t

NAMESPACE = "kube-system"
GROUP = "system:bootstrappers:winkube:node-token"
"""The group of the tokens whose certificate requests the run approves itself, because the cluster does not."""
AUTO_APPROVED_GROUP = "system:bootstrappers:kubeadm:default-node-token"
"""kubeadm's own group. It has all permissions for a join, and the cluster approves its certificate requests for
any node name."""
_ALPHABET = string.ascii_lowercase + string.digits
_RBAC = "rbac.authorization.k8s.io"
CLUSTER_ROLES = {"winkube:node-bootstrapper": "system:node-bootstrapper", "winkube:get-nodes": "kubeadm:get-nodes"}
"""The ClusterRoles that bootstrap tokens need, by the names of their bindings (see `bindings`)."""
ROLES = ("kubeadm:nodes-kubeadm-config", "kubeadm:kubelet-config")
"""Roles in the namespace kube-system of every kubeadm cluster. The Role `kube-proxy` exists only if kubeadm installed
kube-proxy.
"""


def new_token() -> str:
    """Return a new random token in the form `ID.SECRET`."""
    return ".".join("".join(secrets.choice(_ALPHABET) for dummy in range(length)) for length in (6, 16))


def secret_name(token_id: str) -> str:
    """Return the name of a token's Secret."""
    return f"bootstrap-token-{token_id}"


def secret(token: str, expires: str, description: str, group: str) -> dict[str, t.Any]:
    """Return the Secret of a bootstrap token.

    Args:
        token: `ID.SECRET`.
        expires: when the cluster deletes the token (UTC, ISO 8601).
        description: text that `kubeadm token list` shows.
        group: the group of a client that authenticates with the token, in addition to `system:bootstrappers`.
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
    """Return the bindings that GROUP needs for `kubeadm join`.

    They are the bindings that kubeadm gives its own group, except the binding for automatic approval. The roles come
    from kubernetes/kubernetes, cmd/kubeadm/app/phases/bootstraptoken/node/tlsbootstrap.go, phases/uploadconfig and
    phases/kubelet/config.go.

    Args:
        kube_proxy: whether the Role `kube-proxy` exists; kubeadm creates it only if it installs kube-proxy.
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
    """Return all subjects that a binding must have, or None if it already has all expected subjects.

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
            "changed: delete the binding, and run again to create it"
        )
    subjects = [dict(one) for one in existing.get("subjects") or ()]
    missing = [one for one in expected["subjects"] if one not in subjects]
    return [*subjects, *missing] if missing else None
