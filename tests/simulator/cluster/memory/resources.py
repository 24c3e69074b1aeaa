# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The resource types of the simulated API server, and the discovery documents that list them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

Object = dict[str, Any]

_ALL_VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")
_SUBRESOURCE_KINDS = {
    "pods/eviction": ("Eviction", "policy", "v1", ("create",)),
    "pods/binding": ("Binding", "", "v1", ("create",)),
    "serviceaccounts/token": ("TokenRequest", "authentication.k8s.io", "v1", ("create",)),
    "scale": ("Scale", "autoscaling", "v1", ("get", "patch", "update")),
}


@dataclass(frozen=True)
class ResourceType:
    """A resource type of the API, with its path and its verbs."""

    group: str
    version: str
    plural: str
    kind: str
    namespaced: bool = True
    short_names: tuple[str, ...] = ()
    subresources: tuple[str, ...] = ()
    verbs: tuple[str, ...] = _ALL_VERBS
    fields: tuple[str, ...] = ()
    """Fields that field selectors support in addition to metadata.name and metadata.namespace."""
    custom: bool = False
    """Whether a CustomResourceDefinition defines the resource type."""

    @property
    def key(self) -> str:
        """The type's key in the store of objects. For custom resources, it includes the group."""
        return f"{self.plural}.{self.group}" if self.custom else self.plural

    @property
    def group_version(self) -> str:
        """The type's `apiVersion`, such as "v1" or "apps/v1"."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def has_status(self) -> bool:
        """Whether the status of the type's objects can be written only through a subresource."""
        return "status" in self.subresources


_POD_FIELDS = (
    "spec.nodeName", "spec.restartPolicy", "spec.schedulerName", "spec.serviceAccountName", "spec.hostNetwork",
    "status.phase", "status.podIP", "status.nominatedNodeName",
)  # fmt: skip
_EVENT_FIELDS = (
    "involvedObject.kind", "involvedObject.namespace", "involvedObject.name", "involvedObject.uid",
    "involvedObject.apiVersion", "involvedObject.fieldPath", "reason", "source", "type", "reportingComponent",
)  # fmt: skip
_CREATE = ("create",)
_CATEGORY_ALL = {
    "pods", "services", "replicationcontrollers", "daemonsets", "deployments", "replicasets", "statefulsets", "jobs",
    "cronjobs",
}  # fmt: skip


def _types() -> tuple[ResourceType, ...]:
    rt, status = ResourceType, ("status",)
    rbac, apps, storage = "rbac.authorization.k8s.io", "apps", "storage.k8s.io"
    authn, authz = "authentication.k8s.io", "authorization.k8s.io"
    return (
        rt("", "v1", "namespaces", "Namespace", False, ("ns",), ("status", "finalize"), fields=("status.phase",)),
        rt("", "v1", "nodes", "Node", False, ("no",), status, fields=("spec.unschedulable",)),
        rt("", "v1", "pods", "Pod", True, ("po",), ("status", "eviction", "binding"), fields=_POD_FIELDS),
        rt("", "v1", "services", "Service", True, ("svc",), status, fields=("spec.clusterIP", "spec.type")),
        rt("", "v1", "endpoints", "Endpoints", True, ("ep",)),
        rt("", "v1", "configmaps", "ConfigMap", True, ("cm",)),
        rt("", "v1", "secrets", "Secret", fields=("type",)),
        rt("", "v1", "serviceaccounts", "ServiceAccount", True, ("sa",), ("token",)),
        rt("", "v1", "events", "Event", True, ("ev",), fields=_EVENT_FIELDS),
        rt("", "v1", "persistentvolumes", "PersistentVolume", False, ("pv",), status),
        rt("", "v1", "persistentvolumeclaims", "PersistentVolumeClaim", True, ("pvc",), status),
        rt("", "v1", "podtemplates", "PodTemplate"),
        rt("", "v1", "replicationcontrollers", "ReplicationController", True, ("rc",), status),
        rt("", "v1", "limitranges", "LimitRange", True, ("limits",)),
        rt("", "v1", "resourcequotas", "ResourceQuota", True, ("quota",), status),
        rt("apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition", False,
           ("crd", "crds"), status),
        rt(apps, "v1", "controllerrevisions", "ControllerRevision"),
        rt(apps, "v1", "daemonsets", "DaemonSet", True, ("ds",), status),
        rt(apps, "v1", "deployments", "Deployment", True, ("deploy",), ("status", "scale")),
        rt(apps, "v1", "replicasets", "ReplicaSet", True, ("rs",), ("status", "scale")),
        rt(apps, "v1", "statefulsets", "StatefulSet", True, ("sts",), ("status", "scale")),
        rt("batch", "v1", "cronjobs", "CronJob", True, ("cj",), status),
        rt("batch", "v1", "jobs", "Job", True, (), status),
        rt("certificates.k8s.io", "v1", "certificatesigningrequests", "CertificateSigningRequest", False, ("csr",),
           ("approval", "status"), fields=("spec.signerName",)),
        rt("coordination.k8s.io", "v1", "leases", "Lease"),
        rt("discovery.k8s.io", "v1", "endpointslices", "EndpointSlice"),
        rt("networking.k8s.io", "v1", "ingresses", "Ingress", True, ("ing",), status),
        rt("networking.k8s.io", "v1", "networkpolicies", "NetworkPolicy", True, ("netpol",)),
        rt("node.k8s.io", "v1", "runtimeclasses", "RuntimeClass", False),
        rt("policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget", True, ("pdb",), status),
        rt(rbac, "v1", "clusterrolebindings", "ClusterRoleBinding", False),
        rt(rbac, "v1", "clusterroles", "ClusterRole", False),
        rt(rbac, "v1", "rolebindings", "RoleBinding"),
        rt(rbac, "v1", "roles", "Role"),
        rt("scheduling.k8s.io", "v1", "priorityclasses", "PriorityClass", False, ("pc",)),
        rt(storage, "v1", "csidrivers", "CSIDriver", False),
        rt(storage, "v1", "csinodes", "CSINode", False),
        rt(storage, "v1", "storageclasses", "StorageClass", False, ("sc",)),
        rt(storage, "v1", "volumeattachments", "VolumeAttachment", False, (), status),
        rt(authn, "v1", "selfsubjectreviews", "SelfSubjectReview", False, verbs=_CREATE),
        rt(authn, "v1", "tokenreviews", "TokenReview", False, verbs=_CREATE),
        rt(authz, "v1", "selfsubjectaccessreviews", "SelfSubjectAccessReview", False, verbs=_CREATE),
        rt(authz, "v1", "subjectaccessreviews", "SubjectAccessReview", False, verbs=_CREATE),
    )  # fmt: skip


TYPES = _types()


def type_of(plural: str) -> ResourceType:
    """Return a built-in resource type by its plural name, which is unique among these types.

    Raises:
        KeyError: there is no such type.
    """
    for one in TYPES:
        if one.plural == plural:
            return one
    raise KeyError(plural)


def type_of_kind(api_version: str, kind: str) -> ResourceType | None:
    """Return a built-in resource type by an object's apiVersion and kind, or None if there is no such type."""
    return next((one for one in TYPES if (one.group_version, one.kind) == (api_version, kind)), None)


def api_versions(server: str) -> Object:
    """Return the response to GET /api for a server with the address HOST:PORT."""
    addresses = [{"clientCIDR": "0.0.0.0/0", "serverAddress": server}]
    return {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": addresses}


def api_groups(types: Iterable[ResourceType]) -> Object:
    """Return the response to GET /apis."""
    known: dict[str, dict[str, None]] = {}
    for one in types:
        if one.group:
            known.setdefault(one.group, {})[one.version] = None
    groups = [_group(name, list(versions)) for name, versions in known.items()]
    return {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}


def api_group(types: Iterable[ResourceType], name: str) -> Object | None:
    """Return the response to GET /apis/NAME, or None if the group does not exist."""
    versions = list(dict.fromkeys(one.version for one in types if one.group == name and name))
    return {"kind": "APIGroup", "apiVersion": "v1"} | _group(name, versions) if versions else None


def _group(name: str, versions: list[str]) -> Object:
    listed = [{"groupVersion": f"{name}/{version}", "version": version} for version in versions]
    return {"name": name, "versions": listed, "preferredVersion": listed[0]}


def api_resources(types: Iterable[ResourceType], group: str, version: str) -> Object | None:
    """Return the response to GET /api/v1 or /apis/GROUP/VERSION, or None if the group or version does not exist."""
    found = [one for one in types if (one.group, one.version) == (group, version)]
    if not found:
        return None
    return {
        "kind": "APIResourceList",
        "apiVersion": "v1",
        "groupVersion": found[0].group_version,
        "resources": [entry for one in found for entry in _entries(one)],
    }


def _entries(one: ResourceType) -> Iterable[Object]:
    entry = {
        "name": one.plural,
        "singularName": one.kind.lower(),
        "namespaced": one.namespaced,
        "kind": one.kind,
        "verbs": list(one.verbs),
    }
    optional = {"shortNames": list(one.short_names), "categories": ["all"] if one.plural in _CATEGORY_ALL else []}
    yield entry | {key: value for key, value in optional.items() if value}
    for sub in one.subresources:
        name = f"{one.plural}/{sub}"
        known = _SUBRESOURCE_KINDS.get(name) or _SUBRESOURCE_KINDS.get(sub)
        entry = {"name": name, "singularName": "", "namespaced": one.namespaced}
        if known:
            kind, group, version, verbs = known
            yield entry | {"group": group, "version": version, "kind": kind, "verbs": list(verbs)}
        else:
            yield entry | {"kind": one.kind, "verbs": ["get", "patch", "update"]}
