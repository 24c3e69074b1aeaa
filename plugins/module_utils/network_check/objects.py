# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Build the Kubernetes objects of a network check: namespace, pods, Services and NetworkPolicy (no I/O).

The pods run agnhost, the program that the network tests of Kubernetes use on Linux and Windows. Its command `netexec`
serves HTTP. Its command `connect` opens one TCP connection, and either exits with 0, or prints why it could not connect
and exits with 1. The status of a container therefore contains the result of a check. The network check executes no
command in a running container, and reads no logs. Source: kubernetes/kubernetes, test/images/agnhost.
"""

from __future__ import annotations

import typing as t

from .nodes import LINUX, WINDOWS, CheckedNode

MANAGED_BY = {"app.kubernetes.io/managed-by": "winkube.node"}
PURPOSE_LABEL = "winkube.node/purpose"
LABELS = {**MANAGED_BY, PURPOSE_LABEL: "network-check"}
RUN_ANNOTATION = "winkube.node/network-check"
ROLE_LABEL, NAME_LABEL = "winkube.node/network-check-role", "winkube.node/network-check-name"
SERVER_PORT = 8080
_UNPRIVILEGED = 65534
"""The user ID of `nobody` in container images for Linux."""

Object = dict[str, t.Any]


class Images(t.NamedTuple):
    """The container images and the tolerations of the pods that a network check creates."""

    windows: str
    linux: str
    tolerations: t.Sequence[t.Mapping[str, t.Any]]

    def of(self, system: str) -> str:
        """Return the container image for an operating system."""
        return self.windows if system == WINDOWS else self.linux


class Probe(t.NamedTuple):
    """A container that opens one connection."""

    name: str
    host: str
    port: int
    seconds: int
    """Time limit for the connection."""

    @property
    def address(self) -> str:
        """What the container connects to, as HOST:PORT."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"


def namespace(name: str, mark: str) -> Object:
    """Return the namespace that a run creates.

    It enforces the strictest of the Pod Security Standards, `restricted`. The pods of a run satisfy this standard, so
    they are admitted even if the cluster enforces it in all namespaces.

    Args:
        name: the name of the namespace.
        mark: the value of RUN_ANNOTATION, which names the run.
    """
    levels = {f"pod-security.kubernetes.io/{mode}": "restricted" for mode in ("enforce", "warn", "audit")}
    metadata = {"name": name, "labels": {**LABELS, **levels}, "annotations": {RUN_ANNOTATION: mark}}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}


def server_pod(name: str, node: CheckedNode, images: Images) -> Object:
    """Return a pod that runs on a node and accepts connections."""
    container = {"name": "server", "args": ["netexec", f"--http-port={SERVER_PORT}"], **_container(node, images)}
    container["ports"] = [{"containerPort": SERVER_PORT}]
    return _pod(name, "server", node, images, [container], "Always")


def probe_pod(name: str, node: CheckedNode, probes: t.Iterable[Probe], images: Images) -> Object:
    """Return a pod that runs on a node and opens several connections at the same time, each from its own container."""
    containers = [
        {
            "name": probe.name,
            "args": ["connect", f"--timeout={probe.seconds}s", probe.address],
            # If the program fails, the end of its output becomes the termination message.
            "terminationMessagePolicy": "FallbackToLogsOnError",
            **_container(node, images),
        }
        for probe in probes
    ]
    return _pod(name, "probe", node, images, containers, "Never")


def service(name: str, pod: str) -> Object:
    """Return the Service for one server pod. Its NodePort makes the pod reachable through every node as well."""
    port = {"name": "http", "port": SERVER_PORT, "targetPort": SERVER_PORT, "protocol": "TCP"}
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name, "labels": LABELS},
        "spec": {"type": "NodePort", "selector": {NAME_LABEL: pod}, "ports": [port]},
    }


def deny_policy(name: str) -> Object:
    """Return a NetworkPolicy that denies every connection to the server pods."""
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": {"name": name, "labels": LABELS},
        "spec": {"podSelector": {"matchLabels": {ROLE_LABEL: "server"}}, "policyTypes": ["Ingress"]},
    }


def _pod(
    name: str, role: str, node: CheckedNode, images: Images, containers: t.Sequence[Object], restart: str
) -> Object:
    # The scheduler binds the pod, as it binds the pods of a DaemonSet to their nodes (kubernetes.io: DaemonSet, "How
    # Daemon Pods are scheduled"). A label such as kubernetes.io/hostname may differ from the node's name.
    field = {"key": "metadata.name", "operator": "In", "values": [node.name]}
    required = {"nodeSelectorTerms": [{"matchFields": [field]}]}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": {**LABELS, ROLE_LABEL: role, NAME_LABEL: name}},
        "spec": {
            "restartPolicy": restart,
            "terminationGracePeriodSeconds": 1,
            "automountServiceAccountToken": False,
            "enableServiceLinks": False,
            "os": {"name": node.os},
            "nodeSelector": {"kubernetes.io/os": node.os},
            "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}},
            "tolerations": list(images.tolerations),
            "securityContext": _pod_security(node.os),
            "containers": list(containers),
        },
    }


def _container(node: CheckedNode, images: Images) -> Object:
    container: Object = {
        "image": images.of(node.os),
        "imagePullPolicy": "IfNotPresent",
        "resources": {"requests": {"cpu": "10m", "memory": "32Mi"}},
    }
    if node.os == LINUX:
        # The API server refuses these settings for Windows (kubernetes.io: Pod Security Standards, "Restricted").
        container["securityContext"] = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
    return container


def _pod_security(system: str) -> Object:
    if system == WINDOWS:
        return {"runAsNonRoot": True, "windowsOptions": {"runAsUserName": "ContainerUser"}}
    profile = {"type": "RuntimeDefault"}
    return {"runAsNonRoot": True, "runAsUser": _UNPRIVILEGED, "runAsGroup": _UNPRIVILEGED, "seccompProfile": profile}
