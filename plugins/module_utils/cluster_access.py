# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Determine the permissions that a run needs in the cluster, and check that the current credentials have them.

The check sends SelfSubjectAccessReviews, which every authenticated user may create. Source: kubernetes.io,
Authorization Overview, "Checking API access".
"""

from __future__ import annotations

import typing as t

from ansible.module_utils.basic import AnsibleModule

from . import access_reviews
from .bootstrap_tokens import CLUSTER_ROLES, ROLES
from .cluster_client import Cluster
from .node_csr import SIGNER

CALICO = "crd.projectcalico.org"
RBAC = "rbac.authorization.k8s.io"
CERTIFICATES = "certificates.k8s.io"
AUTHORIZATION = "authorization.k8s.io"
APPLY = ("get", "create", "patch")
"""The verbs that the `kubernetes.core.k8s` module needs if its option `apply` is true."""


class RequiredAccess(t.NamedTuple):
    """The permission for one kind of API request that a run sends."""

    why: str
    """The purpose of the request, as messages show it, such as `label nodes`."""
    verbs: tuple[str, ...]
    resource: str
    """The resource with its subresource, if any, such as `pods/eviction`."""
    namespace: str = ""
    group: str = ""
    name: str = ""
    """Name of the object, if the run needs only one. It is ignored for `create`, which RBAC cannot limit to a name."""


_NAMESPACE = RequiredAccess("run flannel on Windows nodes", APPLY, "namespaces", name="kube-flannel")
_KUBE_PROXY = (
    RequiredAccess("run kube-proxy on Windows nodes", APPLY, "configmaps", "kube-system", name="kube-proxy-windows"),
    RequiredAccess("run kube-proxy on Windows nodes", APPLY, "daemonsets", "kube-system", "apps", "kube-proxy-windows"),
    RequiredAccess("let the DaemonSets recreate their pods", ("get", "delete"), "pods", "kube-system"),
)
_WHY_CALICO = "compare Calico's settings"
_CALICO_READ = (
    *(
        RequiredAccess(_WHY_CALICO, ("get",), resource, group=CALICO, name="default")
        for resource in ("clusterinformations", "felixconfigurations", "ipamconfigs")
    ),
    RequiredAccess(_WHY_CALICO, ("list",), "ippools", group=CALICO),
    RequiredAccess(_WHY_CALICO, ("get",), "installations", group="operator.tigera.io", name="default"),
    RequiredAccess(_WHY_CALICO, ("get",), "configmaps", "kube-system", name="calico-config"),
    RequiredAccess(_WHY_CALICO, ("get",), "configmaps", "calico-system", name="calico-config"),
    RequiredAccess(_WHY_CALICO, ("get",), "configmaps", "tigera-operator", name="kubernetes-services-endpoint"),
    *(
        RequiredAccess("find Calico's DaemonSets", ("get",), "daemonsets", namespace, "apps", name)
        for name in ("calico-node", "calico-node-windows")
        for namespace in ("kube-system", "calico-system")
    ),
)
_CALICO = (
    RequiredAccess("run Calico on Windows nodes", APPLY, "configmaps", "kube-system", name="cni-config-windows"),
    RequiredAccess("run Calico on Windows nodes", APPLY, "daemonsets", "kube-system", "apps", "calico-node-windows"),
    *_KUBE_PROXY,
)


def _removal(title: str, namespace: str, daemon_set: str, config_map: str) -> tuple[RequiredAccess, ...]:
    """Return the permissions that are needed to remove the DaemonSet of a pod network and its ConfigMap."""
    why = f"remove {title} when the network of Windows nodes changes"
    return (
        RequiredAccess(why, ("get", "delete"), "daemonsets", namespace, "apps", daemon_set),
        RequiredAccess(why, ("get", "delete"), "configmaps", namespace, name=config_map),
    )


_FLANNEL_ACCOUNT_REMOVAL = tuple(
    RequiredAccess(
        "remove flannel when the network of Windows nodes changes",
        ("get", "delete"),
        resource,
        namespace,
        group,
        "flannel-windows",
    )
    for resource, namespace, group in (
        ("clusterroles", "", RBAC),
        ("clusterrolebindings", "", RBAC),
        ("secrets", "kube-flannel", ""),
        ("serviceaccounts", "kube-flannel", ""),
    )
)

NEEDS: t.Mapping[str, tuple[RequiredAccess, ...]] = {
    "read": (
        RequiredAccess("find the control plane", ("get",), "configmaps", "kube-public", name="cluster-info"),
        RequiredAccess("read the cluster's networks", ("get",), "configmaps", "kube-system", name="kubeadm-config"),
        RequiredAccess(
            "read the kubelets' configuration", ("get",), "configmaps", "kube-system", name="kubelet-config"
        ),
        RequiredAccess("find the cluster's DNS", ("get",), "services", "kube-system", name="kube-dns"),
        RequiredAccess("find the cluster's DNS", ("get",), "services", "kube-system", name="coredns"),
        RequiredAccess("compare flannel's settings", ("get",), "configmaps", "kube-flannel", name="kube-flannel-cfg"),
        RequiredAccess("compare flannel's settings", ("get",), "configmaps", "kube-system", name="kube-flannel-cfg"),
        RequiredAccess("see which nodes are Ready", ("list",), "nodes"),
        RequiredAccess("find DaemonSets that would run on Windows", ("list",), "daemonsets", group="apps"),
        RequiredAccess("find flannel's pods on Windows nodes", ("list",), "pods", "kube-flannel"),
        RequiredAccess("find kube-proxy's pods on Windows nodes", ("list",), "pods", "kube-system"),
    ),
    "calico_read": _CALICO_READ,
    "join": (
        RequiredAccess("label nodes", ("get", "patch"), "nodes"),
        RequiredAccess(
            "keep DaemonSets for Linux off Windows nodes", ("get", "patch"), "daemonsets", "kube-system", "apps"
        ),
    ),
    "tokens": (RequiredAccess("create and delete bootstrap tokens", ("create", "delete"), "secrets", "kube-system"),),
    "delete_tokens": (
        RequiredAccess("delete bootstrap tokens that are no longer needed", ("delete",), "secrets", "kube-system"),
    ),
    "approve": (
        RequiredAccess(
            "find the nodes' certificate requests", ("get", "list"), "certificatesigningrequests", group=CERTIFICATES
        ),
        RequiredAccess(
            "approve certificate requests", ("update",), "certificatesigningrequests/approval", group=CERTIFICATES
        ),
        RequiredAccess("approve certificate requests", ("approve",), "signers", group=CERTIFICATES, name=SIGNER),
        RequiredAccess(
            "check whether the cluster itself approves certificate requests",
            ("create",),
            "subjectaccessreviews",
            group=AUTHORIZATION,
        ),
        RequiredAccess("let nodes join with bootstrap tokens", APPLY, "clusterrolebindings", group=RBAC),
        RequiredAccess("let nodes join with bootstrap tokens", APPLY, "rolebindings", "kube-system", RBAC),
        *(
            RequiredAccess("let nodes join with bootstrap tokens", ("bind",), "clusterroles", group=RBAC, name=name)
            for name in CLUSTER_ROLES.values()
        ),
        *(
            RequiredAccess("let nodes join with bootstrap tokens", ("bind",), "roles", "kube-system", RBAC, name)
            for name in ROLES
        ),
    ),
    "rejoin": (RequiredAccess("delete the nodes of machines that join again", ("delete",), "nodes"),),
    "reset": (RequiredAccess("delete the nodes of machines that are reset", ("get", "list", "delete"), "nodes"),),
    "flannel": (
        _NAMESPACE,
        RequiredAccess(
            "run flannel on Windows nodes", APPLY, "serviceaccounts", "kube-flannel", name="flannel-windows"
        ),
        RequiredAccess("run flannel on Windows nodes", APPLY, "clusterroles", group=RBAC, name="flannel-windows"),
        RequiredAccess(
            "run flannel on Windows nodes", APPLY, "clusterrolebindings", group=RBAC, name="flannel-windows"
        ),
        RequiredAccess(
            "run flannel on Windows nodes", APPLY, "configmaps", "kube-flannel", name="kube-flannel-windows"
        ),
        RequiredAccess(
            "run flannel on Windows nodes", APPLY, "daemonsets", "kube-flannel", "apps", "kube-flannel-windows"
        ),
        *_KUBE_PROXY,
        RequiredAccess("let the DaemonSets recreate their pods", ("get", "delete"), "pods", "kube-flannel"),
    ),
    "kube_proxy": _KUBE_PROXY,
    "calico": _CALICO,
    "change_network": (),
    "flannel_removal": (
        *_removal("flannel", "kube-flannel", "kube-flannel-windows", "kube-flannel-windows"),
        *_FLANNEL_ACCOUNT_REMOVAL,
    ),
    "calico_removal": _removal("Calico", "kube-system", "calico-node-windows", "cni-config-windows"),
    "calico_affinity": (
        RequiredAccess("set Calico's strict affinity", APPLY, "ipamconfigs", group=CALICO, name="default"),
    ),
    "calico_windows": (
        RequiredAccess(
            "enable Windows in the Tigera operator",
            ("get", "patch"),
            "installations",
            group="operator.tigera.io",
            name="default",
        ),
        RequiredAccess(
            "enable Windows in the Tigera operator",
            APPLY,
            "configmaps",
            "tigera-operator",
            name="kubernetes-services-endpoint",
        ),
    ),
    "services_read": (
        RequiredAccess("read flannel's token", ("get",), "secrets", "kube-flannel", name="flannel-windows"),
        RequiredAccess("read kube-proxy's token", ("get",), "secrets", "kube-system", name="kube-proxy-windows"),
    ),
    "services": (
        _NAMESPACE,
        RequiredAccess("run flannel as a service", APPLY, "serviceaccounts", "kube-flannel", name="flannel-windows"),
        RequiredAccess("run flannel as a service", APPLY, "clusterroles", group=RBAC, name="flannel-windows"),
        RequiredAccess("run flannel as a service", APPLY, "clusterrolebindings", group=RBAC, name="flannel-windows"),
        RequiredAccess("run flannel as a service", APPLY, "secrets", "kube-flannel", name="flannel-windows"),
        RequiredAccess(
            "run kube-proxy as a service", APPLY, "serviceaccounts", "kube-system", name="kube-proxy-windows"
        ),
        RequiredAccess(
            "run kube-proxy as a service", APPLY, "clusterrolebindings", group=RBAC, name="kube-proxy-windows"
        ),
        RequiredAccess("run kube-proxy as a service", APPLY, "secrets", "kube-system", name="kube-proxy-windows"),
    ),
    "network_check": (
        RequiredAccess("see which nodes are Ready", ("list",), "nodes"),
        RequiredAccess("find the program that enforces network policies", ("list",), "daemonsets", group="apps"),
        RequiredAccess("read the cluster's DNS domain", ("get",), "configmaps", "kube-system", name="kubeadm-config"),
        RequiredAccess(
            "create and delete the namespace of the checks", ("list", "get", "create", "delete"), "namespaces"
        ),
        RequiredAccess("run pods that connect to each other", ("list", "create", "delete"), "pods"),
        RequiredAccess("connect to services", ("create",), "services"),
        RequiredAccess(
            "check that a network policy blocks connections", ("create",), "networkpolicies", group="networking.k8s.io"
        ),
    ),
    "drain": (
        RequiredAccess("cordon and uncordon nodes", ("get", "list", "patch"), "nodes"),
        RequiredAccess("find a node's pods", ("get", "list"), "pods"),
        RequiredAccess("evict pods", ("create",), "pods/eviction"),
        RequiredAccess("recognize the pods of DaemonSets", ("get",), "daemonsets", group="apps"),
    ),
}
"""Maps each purpose of a run to the permissions that it needs. The permissions for pod networks must cover the objects
that plugin_utils/pod_networks builds. The permissions for `change_network` depend on the cluster (see `removals`)."""

FLANNEL_DAEMON_SET = "kube-flannel/kube-flannel-windows"
REMOVALS: t.Mapping[str, tuple[str, tuple[str, ...]]] = {
    "flannel_removal": (FLANNEL_DAEMON_SET, ("flannel", "sdnbridge", "sdnoverlay")),
    "calico_removal": ("kube-system/calico-node-windows", ("calico",)),
}
"""Maps each key of NEEDS for removing a pod network to the removed DaemonSet and to the CNI plugins that use it."""
NETWORK_DAEMON_SETS = frozenset(daemon_set for daemon_set, _networks in REMOVALS.values())
"""The DaemonSets (`NAMESPACE/NAME`) of pod networks that this collection creates and removes."""


def removals(purposes: t.Collection[str], existing: t.Collection[str], networks: t.Collection[str]) -> list[str]:
    """Return the purposes (keys of NEEDS) for which a run may remove DaemonSets because the pod network changes.

    Args:
        purposes: the keys of NEEDS for the run. Without `change_network`, nothing is removed.
        existing: the cluster's DaemonSets (`NAMESPACE/NAME`) that this collection applied. If flannel runs as a service
            on Windows nodes, FLANNEL_DAEMON_SET is included, although it does not exist.
        networks: the CNI plugins (`cni_plugin`) of the run's hosts.
    """
    return [
        purpose
        for purpose, (daemon_set, users) in REMOVALS.items()
        if "change_network" in purposes and daemon_set in existing and not set(users) & set(networks)
    ]


def require_access(module: AnsibleModule, cluster: Cluster, purposes: t.Iterable[str]) -> None:
    """Fail the module if the current credentials lack a permission that the run will need.

    Args:
        module: the running module.
        cluster: the cluster.
        purposes: the purposes of the run (keys of NEEDS).

    Raises:
        ApiError: a request failed.
    """
    denied = missing(cluster, purposes)
    if denied:
        lines = "\n".join(f"- {line}" for line in denied)
        module.fail_json(
            msg=f"{cluster.account} lacks permissions that this run needs in the cluster at {cluster.server}. "
            f"Grant these permissions:\n{lines}",
            missing_access=denied,
        )


def missing(cluster: Cluster, purposes: t.Iterable[str]) -> list[str]:
    """Return one line for each permission that the current credentials lack.

    Args:
        cluster: the cluster.
        purposes: the purposes of the run (keys of NEEDS).
    """
    results: dict[tuple[str, ...], bool] = {}
    denied: dict[str, list[str]] = {}
    for need in dict.fromkeys(need for purpose in purposes for need in NEEDS[purpose]):
        for verb in need.verbs:
            key = (verb, *need[2:])
            if key not in results:
                results[key] = allowed(cluster, need, verb)
            if not results[key]:
                denied.setdefault(describe(need), []).append(verb)
    return [f"{', '.join(dict.fromkeys(verbs))} {what}" for what, verbs in denied.items()]


def describe(need: RequiredAccess) -> str:
    """Return the resource and the purpose of a permission as text for messages."""
    resource = f"{need.resource}.{need.group}" if need.group else need.resource
    name = f" {need.name}" if need.name else ""
    where = f" in namespace {need.namespace}" if need.namespace else ""
    return f"{resource}{name}{where} (to {need.why})"


def allowed(cluster: Cluster, need: RequiredAccess, verb: str) -> bool:
    """Return whether the current credentials include a permission for a given verb, for example `create`.

    Args:
        cluster: the cluster.
        need: the permission.
        verb: one of the permission's verbs.
    """
    resource, dummy, subresource = need.resource.partition("/")
    place = {"group": need.group, "resource": resource, "subresource": subresource, "namespace": need.namespace}
    name = need.name if verb != "create" else ""
    return access_reviews.allowed(cluster, {"verb": verb, **place, "name": name})
