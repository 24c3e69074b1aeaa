# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Functions that return the Kubernetes objects of pod networks and kube-proxy, such as DaemonSets, or parts of them."""

from __future__ import annotations

import hashlib
import json
import typing as t

from ...module_utils.node_labels import NETWORK_LABEL, REVISION_LABEL, RUN_AS_LABEL
from .settings import KubernetesObject

POD_VOLUME = "C:\\var\\lib\\kubelet\\pods\\$(POD_UID)\\volumes\\kubernetes.io~projected\\access"
"""Path of a pod's projected volume in the host's file system. HostProcess containers use this file system. On Windows
Server 2019 and with containerd 1.6, their volumes are not mounted at the mount paths. Source: kubernetes.io, Create a
Windows HostProcess Pod."""
MOUNTS: t.Sequence[t.Mapping[str, t.Any]] = ({"name": "access", "mountPath": "/var/run/winkube", "readOnly": True},)
"""Mounts of a pod's projected volume."""
_FIELDS = {
    "POD_UID": "metadata.uid",
    "POD_NAME": "metadata.name",
    "POD_NAMESPACE": "metadata.namespace",
    "NODE_NAME": "spec.nodeName",
    "HOST_IP": "status.hostIP",
}


def environment(*names: str) -> list[dict[str, t.Any]]:
    """Return environment variables that contain fields of the pod.

    Args:
        names: names of the variables. If none are given, all known variables are returned.
    """
    return [
        {"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}}
        for name, path in _FIELDS.items()
        if name in names or not names
    ]


def container(name: str, image: str, **properties: t.Any) -> dict[str, t.Any]:
    """Return a container that mounts the pod's projected volume.

    Args:
        name: name of the container.
        image: image of the container.
        properties: further properties, such as `command`, `args` and `env`.
    """
    return {"name": name, "image": image, **properties, "volumeMounts": [dict(mount) for mount in MOUNTS]}


def host_process_pod(
    account: str,
    containers: t.Sequence[t.Mapping[str, t.Any]],
    *,
    config_map: str,
    init_containers: t.Sequence[t.Mapping[str, t.Any]] = (),
) -> dict[str, t.Any]:
    """Return the specification of a HostProcess pod for all Windows nodes except those whose network runs as services.

    Docker cannot run HostProcess containers, so the network of a node with Docker runs as services instead.

    Args:
        account: name of the service account.
        containers: specifications of the pod's containers.
        config_map: name of the ConfigMap whose files the pod's projected volume contains, together with a token and the
            CA certificate.
        init_containers: specifications of the containers that run first.
    """
    return {
        "serviceAccountName": account,
        "hostNetwork": True,
        "securityContext": {"windowsOptions": {"hostProcess": True, "runAsUserName": "NT AUTHORITY\\SYSTEM"}},
        "nodeSelector": {"kubernetes.io/os": "windows"},
        "affinity": node_affinity(),
        "priorityClassName": "system-node-critical",
        "tolerations": [{"operator": "Exists"}],
        **({"initContainers": [dict(one) for one in init_containers]} if init_containers else {}),
        "containers": [dict(one) for one in containers],
        "volumes": [
            {
                "name": "access",
                "projected": {
                    "sources": [
                        {"serviceAccountToken": {"path": "token"}},
                        {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
                        {"configMap": {"name": config_map}},
                    ]
                },
            }
        ],
    }


def node_affinity(network: str = "") -> dict[str, t.Any]:
    """Return the node affinity of a pod network's own pods.

    Args:
        network: the network that a node's label must name; empty if the pods also run on nodes without such a label.
    """
    terms = [{"key": RUN_AS_LABEL, "operator": "NotIn", "values": ["service"]}]
    if network:
        terms.append({"key": NETWORK_LABEL, "operator": "In", "values": [network]})
    required = {"nodeSelectorTerms": [{"matchExpressions": terms}]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}


def daemon_set(
    name: str, labels: t.Mapping[str, str], pod: t.Mapping[str, t.Any], *configuration: t.Any
) -> KubernetesObject:
    """Return a DaemonSet.

    A new network or a restart of kube-proxy disrupts the node's pods. So the DaemonSet replaces only pods that a run
    deletes on a drained node (roles/cni/tasks/pods.yml).

    Args:
        name: `NAMESPACE/NAME`.
        labels: labels of the DaemonSet and its pods.
        pod: specification of the pods.
        configuration: plain data that the pods read from elsewhere. A change to this data makes existing pods outdated,
            as does a change to their specification.
    """
    namespace, short = name.split("/")
    read = json.dumps([pod, *configuration], sort_keys=True)
    revision = hashlib.sha256(read.encode()).hexdigest()[:16]
    return {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": short, "namespace": namespace, "labels": dict(labels)},
        "spec": {
            "selector": {"matchLabels": dict(labels)},
            "updateStrategy": {"type": "OnDelete"},
            "template": {"metadata": {"labels": {**labels, REVISION_LABEL: revision}}, "spec": dict(pod)},
        },
    }


def config_map(name: str, files: t.Mapping[str, str]) -> KubernetesObject:
    """Return a ConfigMap.

    Args:
        name: `NAMESPACE/NAME`.
        files: maps the name of each file to its content.
    """
    namespace, short = name.split("/")
    metadata = {"name": short, "namespace": namespace}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": dict(files)}


def pod_kubeconfig(api_server: str) -> str:
    """Return the kubeconfig of a pod, which refers to a token and a CA certificate in the kubeconfig's folder.

    Args:
        api_server: the API server as `host:port`.
    """
    server = {"server": f"https://{api_server}", "certificate-authority": "ca.crt"}
    return json.dumps(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "default", "cluster": server}],
            "contexts": [{"name": "default", "context": {"cluster": "default", "user": "default"}}],
            "current-context": "default",
            "users": [{"name": "default", "user": {"tokenFile": "token"}}],
        }
    )


def service_account(name: str) -> KubernetesObject:
    """Return a service account.

    Args:
        name: `NAMESPACE/NAME`.
    """
    namespace, short = name.split("/")
    return {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": short, "namespace": namespace}}


def token_secret(account: str) -> KubernetesObject:
    """Return the Secret in which the cluster stores a long-lived token of a service account.

    Args:
        account: `NAMESPACE/NAME` of the account.
    """
    namespace, name = account.split("/")
    owner = {"kubernetes.io/service-account.name": name}
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "type": "kubernetes.io/service-account-token",
        "metadata": {"name": name, "namespace": namespace, "annotations": owner},
    }


def cluster_role_binding(role: str, account: str) -> KubernetesObject:
    """Return the binding of a ClusterRole to a service account. The binding has the account's name.

    Args:
        role: name of the ClusterRole.
        account: `NAMESPACE/NAME` of the account.
    """
    namespace, name = account.split("/")
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": name},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
        "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": namespace}],
    }
