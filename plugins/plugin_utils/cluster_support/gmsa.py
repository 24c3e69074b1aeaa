# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Build the cluster objects of gMSA credential specs, and the permissions to use them.

The webhook of kubernetes-sigs/windows-gmsa copies a credential spec into each pod that names it, if the pod's service
account may `use` the credential spec. Source: kubernetes.io, "Configure GMSA for Windows Pods and containers".
"""

from __future__ import annotations

import typing as t

from ..active_directory.credential_spec import ClusterCredentialSpec
from ..pod_networks.settings import KubernetesObject
from .parts import cluster_role

KIND = "GMSACredentialSpec"
_GROUP = "windows.k8s.io"
_RBAC = "rbac.authorization.k8s.io"


def credential_specs(specs: t.Iterable[ClusterCredentialSpec]) -> list[KubernetesObject]:
    """Return the objects of credential specs, each with the ClusterRole and RoleBindings for its service accounts.

    Args:
        specs: the credential specs.
    """
    return [one for spec in specs for one in (_spec(spec), *_rights(spec))]


def _spec(spec: ClusterCredentialSpec) -> KubernetesObject:
    return {
        "apiVersion": f"{_GROUP}/v1",
        "kind": KIND,
        "metadata": {"name": spec.name},
        "credspec": dict(spec.credspec),
    }


def _rights(spec: ClusterCredentialSpec) -> t.Iterator[KubernetesObject]:
    if not spec.service_accounts:
        return
    role = f"winkube:gmsa:{spec.name}"
    rule = {
        "apiGroups": [_GROUP],
        "resources": ["gmsacredentialspecs"],
        "resourceNames": [spec.name],
        "verbs": ["use"],
    }
    yield cluster_role(role, [rule])
    accounts = [account.split("/") for account in dict.fromkeys(spec.service_accounts)]
    for namespace in dict.fromkeys(namespace for namespace, _name in accounts):
        yield {
            "apiVersion": f"{_RBAC}/v1",
            "kind": "RoleBinding",
            "metadata": {"name": role, "namespace": namespace},
            "roleRef": {"apiGroup": _RBAC, "kind": "ClusterRole", "name": role},
            "subjects": [
                {"kind": "ServiceAccount", "name": name, "namespace": namespace}
                for place, name in accounts
                if place == namespace
            ],
        }
