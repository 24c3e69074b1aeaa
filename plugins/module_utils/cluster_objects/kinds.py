# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Describe the supported kinds of Kubernetes objects, and build the paths of objects in the API (no I/O)."""

from __future__ import annotations

import types
import typing as t

Object = dict[str, t.Any]
_RBAC, _MONITORING = "rbac.authorization.k8s.io/v1", "monitoring.coreos.com/v1"

_PROMETHEUS = "the Prometheus operator"
_GMSA = "windows-gmsa (https://github.com/kubernetes-sigs/windows-gmsa)"


class KnownKind(t.NamedTuple):
    """A supported kind of Kubernetes object."""

    plural: str
    namespaced: bool = True
    custom: bool = False
    """Whether the kind is defined by a CustomResourceDefinition, which may be missing in a cluster."""
    provider: str = ""
    """The software that installs the CustomResourceDefinition of the kind."""


KINDS: t.Mapping[tuple[str, str], KnownKind] = types.MappingProxyType(
    {
        ("v1", "Namespace"): KnownKind("namespaces", namespaced=False),
        ("v1", "ServiceAccount"): KnownKind("serviceaccounts"),
        ("v1", "ConfigMap"): KnownKind("configmaps"),
        ("v1", "Secret"): KnownKind("secrets"),
        ("v1", "Service"): KnownKind("services"),
        ("apps/v1", "DaemonSet"): KnownKind("daemonsets"),
        ("apps/v1", "Deployment"): KnownKind("deployments"),
        (_RBAC, "ClusterRole"): KnownKind("clusterroles", namespaced=False),
        (_RBAC, "ClusterRoleBinding"): KnownKind("clusterrolebindings", namespaced=False),
        (_RBAC, "Role"): KnownKind("roles"),
        (_RBAC, "RoleBinding"): KnownKind("rolebindings"),
        ("node.k8s.io/v1", "RuntimeClass"): KnownKind("runtimeclasses", namespaced=False),
        ("storage.k8s.io/v1", "CSIDriver"): KnownKind("csidrivers", namespaced=False),
        (_MONITORING, "PodMonitor"): KnownKind("podmonitors", custom=True, provider=_PROMETHEUS),
        (_MONITORING, "PrometheusRule"): KnownKind("prometheusrules", custom=True, provider=_PROMETHEUS),
        ("windows.k8s.io/v1", "GMSACredentialSpec"): KnownKind(
            "gmsacredentialspecs", namespaced=False, custom=True, provider=_GMSA
        ),
    }
)


class Reference(t.NamedTuple):
    """The API version, kind, namespace and name of an object. For messages, `str()` omits the API version."""

    api_version: str
    kind: str
    namespace: str
    name: str

    def __str__(self) -> str:
        place = f"{self.namespace}/{self.name}" if self.namespace else self.name
        return f"{self.kind} {place}"

    @property
    def known(self) -> KnownKind:
        """The description of the object's kind.

        Raises:
            ValueError: the kind is not supported.
        """
        kind = KINDS.get((self.api_version, self.kind))
        if kind is None:
            names = ", ".join(sorted(f"{name} ({version})" for version, name in KINDS))
            raise ValueError(f"{self}: expected one of {names}, got {self.kind} ({self.api_version})")
        return kind

    @property
    def path(self) -> tuple[str, ...]:
        """The path of the object in the API, in parts that `Cluster.ask` accepts."""
        group = f"apis/{self.api_version}" if "/" in self.api_version else f"api/{self.api_version}"
        if self.known.namespaced:
            return (f"{group}/namespaces", self.namespace, self.known.plural, self.name)
        return (f"{group}/{self.known.plural}", self.name)


def reference(item: t.Mapping[str, t.Any]) -> Reference:
    """Return the reference to an object.

    Args:
        item: the object.

    Raises:
        ValueError: the object has no name, its kind is not supported, it has a namespace although its kind is not
            namespaced, or it has no namespace although its kind is namespaced.
    """
    about = item.get("metadata") or {}
    identity = Reference(
        str(item.get("apiVersion") or ""),
        str(item.get("kind") or ""),
        str(about.get("namespace") or ""),
        str(about.get("name") or ""),
    )
    if not identity.name:
        raise ValueError(f"{identity.kind or 'an object'}: expected metadata.name, got nothing")
    if identity.known.namespaced != bool(identity.namespace):
        expected = "metadata.namespace" if identity.known.namespaced else "no metadata.namespace"
        raise ValueError(f"{identity}: expected {expected}, got {identity.namespace or 'nothing'}")
    return identity
