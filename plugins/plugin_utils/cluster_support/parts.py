# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Build the parts of Kubernetes objects that several components share, without any I/O."""

from __future__ import annotations

import typing as t

from ..pod_networks.manifests import node_affinity
from ..pod_networks.settings import KubernetesObject

MOUNT = "%CONTAINER_SANDBOX_MOUNT_POINT%"
"""Environment variable with the folder that contains the image and the volumes of a HostProcess container. containerd
replaces the variable in commands and arguments. On Windows Server 2019, and with containerd 1.6 on any version of
Windows, volumes are mounted only below this folder. Source: kubernetes.io, "Create a Windows HostProcess Pod"."""
SYSTEM = {"windowsOptions": {"hostProcess": True, "runAsUserName": "NT AUTHORITY\\SYSTEM"}}
ALL_TOLERATIONS: t.Sequence[t.Mapping[str, t.Any]] = ({"operator": "Exists"},)
_RBAC = "rbac.authorization.k8s.io"


def host_process(containers: t.Sequence[KubernetesObject], **more: t.Any) -> KubernetesObject:
    """Return the specification of a HostProcess pod that runs on Windows nodes.

    The pod does not run on nodes with Docker, which cannot run HostProcess containers, or on nodes whose network
    plugin runs as Windows services. Both kinds of nodes have a label that excludes them (`manifests.node_affinity`).

    Args:
        containers: the pod's containers.
        more: further fields of the specification. `nodeSelector` narrows down the selection of Windows nodes.
    """
    selector = {"kubernetes.io/os": "windows", **more.pop("nodeSelector", {})}
    return {
        "hostNetwork": True,
        "securityContext": SYSTEM,
        "nodeSelector": selector,
        "affinity": node_affinity(),
        "priorityClassName": "system-node-critical",
        "tolerations": [dict(one) for one in ALL_TOLERATIONS],
        **more,
        "containers": list(containers),
    }


def rolling_daemon_set(namespace: str, name: str, pod: KubernetesObject, **annotations: str) -> KubernetesObject:
    """Return a DaemonSet that replaces its pods on one node after another when its specification changes.

    Args:
        namespace: the DaemonSet's namespace.
        name: the DaemonSet's name, which is also the value of the `app` label.
        pod: specification of the pods.
        annotations: annotations of the pods, such as a hash of their configuration. The prefix `winkube.node/` is
            added to their names.
    """
    labels = {"app": name}
    marks = {f"winkube.node/{key}": value for key, value in annotations.items()}
    template = {"metadata": {"labels": labels, **({"annotations": marks} if marks else {})}, "spec": pod}
    return {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": name, "namespace": namespace, "labels": labels},
        "spec": {
            "selector": {"matchLabels": labels},
            "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 1}},
            "template": template,
        },
    }


def resources(cpu: str, memory: str, limit: str) -> KubernetesObject:
    """Return the resource requests of a container, and a memory limit that protects the node from memory leaks.

    Args:
        cpu: requested CPU.
        memory: requested memory.
        limit: memory limit.
    """
    return {"requests": {"cpu": cpu, "memory": memory}, "limits": {"memory": limit}}


def cluster_role(name: str, rules: t.Iterable[t.Mapping[str, t.Any]]) -> KubernetesObject:
    """Return a ClusterRole.

    Args:
        name: the ClusterRole's name.
        rules: the ClusterRole's rules.
    """
    return {
        "apiVersion": f"{_RBAC}/v1",
        "kind": "ClusterRole",
        "metadata": {"name": name},
        "rules": [{key: list(values) for key, values in rule.items()} for rule in rules],
    }


def binding(name: str, role: str, namespace: str, account: str) -> KubernetesObject:
    """Return a ClusterRoleBinding.

    Args:
        name: the ClusterRoleBinding's name.
        role: name of the ClusterRole.
        namespace: namespace of the service account.
        account: name of the service account.
    """
    return {
        "apiVersion": f"{_RBAC}/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": name},
        "roleRef": {"apiGroup": _RBAC, "kind": "ClusterRole", "name": role},
        "subjects": [{"kind": "ServiceAccount", "name": account, "namespace": namespace}],
    }


def namespace(name: str, level: str) -> KubernetesObject:
    """Return a Namespace object.

    Args:
        name: the namespace's name.
        level: the level of the Pod Security Standards that pods in the namespace need.
    """
    labels = {"pod-security.kubernetes.io/enforce": level}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}


def field_variable(name: str, path: str) -> KubernetesObject:
    """Return an environment variable whose value is a field of the pod.

    Args:
        name: the variable's name.
        path: path of the pod's field, such as `spec.nodeName`.
    """
    return {"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}}
