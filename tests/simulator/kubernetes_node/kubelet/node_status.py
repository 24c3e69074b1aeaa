# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A kubelet's reports about its node: the Node object, its conditions and its lease."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from simulator.kubernetes_node.cni.plugins import CniError
from simulator.kubernetes_node.cri.interface import CriRuntime
from simulator.kubernetes_node.kubelet.settings import KubeletSettings

if TYPE_CHECKING:
    from simulator.machine.machine import Machine

_HEALTHY = (
    ("MemoryPressure", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
    ("DiskPressure", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
    ("PIDPressure", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
)
_DEFAULT_LABELS = frozenset(
    [
        "kubernetes.io/hostname",
        *(f"{prefix}kubernetes.io/{name}" for prefix in ("", "beta.") for name in ("arch", "os")),
        *(f"topology.kubernetes.io/{name}" for name in ("region", "zone")),
        *(f"failure-domain.beta.kubernetes.io/{name}" for name in ("region", "zone")),
        "beta.kubernetes.io/instance-type",
        "node.kubernetes.io/instance-type",
        "node.kubernetes.io/windows-build",
    ]
)


def stamp(machine: Machine) -> str:
    """Return the machine's time in the format of most Kubernetes timestamps, such as 2026-01-31T08:15:00Z."""
    return machine.clock.now().strftime("%Y-%m-%dT%H:%M:%SZ")


def micro_stamp(machine: Machine) -> str:
    """Return the machine's time in the format of a Lease's timestamps, which includes microseconds."""
    return machine.clock.now().strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def host_name(machine: Machine) -> str:
    """Return the node name that kubelet and kubeadm use by default: the DNS host name, in lower case.

    The name may be longer than a NetBIOS name (15 characters), because Go uses ComputerNamePhysicalDnsHostname
    (golang/go src/os/sys_windows.go).
    """
    return machine.host_name.strip().lower()


def problems(runtime: CriRuntime | None) -> list[str]:
    """Return the reasons why the node is not ready, or an empty list if it is ready."""
    if runtime is None:
        return ["container runtime is down"]
    if problem := runtime.problem():
        message = f"RuntimeReady=false reason:DockerDaemonNotReady message:{problem}"
        return [f"container runtime not ready: {message}"]
    try:
        runtime.network()
    except CniError as error:
        message = (
            "container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady "
            f"message:{runtime.network_problem(error)}"
        )
        return [message]
    return []


def labels(machine: Machine, name: str, settings: KubeletSettings) -> dict[str, str]:
    """Return the labels with which a kubelet registers its node."""
    return {
        "beta.kubernetes.io/arch": "amd64",
        "beta.kubernetes.io/os": "windows",
        "kubernetes.io/arch": "amd64",
        "kubernetes.io/hostname": name,
        "kubernetes.io/os": "windows",
        "node.kubernetes.io/windows-build": f"10.0.{machine.windows.build}",
        **settings.labels,
    }


def default_labels(registered: Mapping[str, str]) -> dict[str, str]:
    """Return the labels that a kubelet sets at every start, even if its node already exists.

    Other labels of --node-labels are set only when the node registers (kubernetes pkg/kubelet/kubelet_node_status.go,
    updateDefaultLabels).
    """
    return {name: value for name, value in registered.items() if name in _DEFAULT_LABELS}


def node(machine: Machine, name: str, settings: KubeletSettings) -> dict[str, Any]:
    """Return the Node object that a kubelet creates when it registers its node."""
    spec: dict[str, Any] = {}
    if settings.taints:
        spec["taints"] = settings.taints
    annotations = {"volumes.kubernetes.io/controller-managed-attach-detach": "true"}
    if settings.has_cloud_provider and settings.node_ip:
        # The cloud provider checks that the machine has this address.
        annotations["alpha.kubernetes.io/provided-node-ip"] = settings.node_ip
    provider = settings.flags.text("provider-id") or settings.document.get("providerID")
    if provider:
        spec["providerID"] = provider
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "labels": labels(machine, name, settings),
            "annotations": annotations,
        },
        "spec": spec,
    }


def status(machine: Machine, name: str, settings: KubeletSettings, runtime: CriRuntime | None,
           known: Mapping[str, Any]) -> dict[str, Any]:  # fmt: skip
    """Return the status of a Node object.

    Args:
        known: the previous status. Conditions that have not changed since then keep their transition times.
    """
    moment = stamp(machine)
    reasons = problems(runtime)
    runtime = None if runtime is None or runtime.problem() else runtime
    requested = [(kind, "False", reason, message) for kind, reason, message in _HEALTHY]
    if reasons:
        requested.append(
            ("Ready", "False", "KubeletNotReady", "[" + ", ".join(reasons) + "]" if len(reasons) > 1 else reasons[0])
        )
    else:
        requested.append(("Ready", "True", "KubeletReady", "kubelet is posting ready status"))
    before = {item["type"]: item for item in known.get("conditions") or []}
    conditions = []
    for kind, state, reason, message in requested:
        old = before.get(kind, {})
        changed = old["lastTransitionTime"] if old.get("status") == state else moment
        conditions.append({"type": kind, "status": state, "reason": reason, "message": message,
                           "lastHeartbeatTime": moment, "lastTransitionTime": changed})  # fmt: skip
    capacity = {
        "cpu": str(machine.settings.processors),
        "memory": f"{machine.settings.memory_mb * 1024}Ki",
        "pods": str(settings.max_pods),
        "ephemeral-storage": f"{machine.files.capacity // 1024}Ki",
    }
    images = runtime.store.images() if runtime else []
    return {
        **_addresses(machine, name, settings, known),
        "capacity": capacity,
        "allocatable": capacity,
        "conditions": conditions,
        "daemonEndpoints": {"kubeletEndpoint": {"Port": 10250}},
        "images": [
            {"names": [image.name], "sizeBytes": int(image.target["size"])}
            for image in images
            if not image.name.startswith("sha256:")
        ],
        "nodeInfo": {
            "architecture": "amd64",
            "bootID": str(machine.power.boots),
            "containerRuntimeVersion": f"{runtime.kind}://{runtime.version}" if runtime else "containerd://Unknown",
            "kernelVersion": machine.windows.full,
            "kubeProxyVersion": "",
            "kubeletVersion": f"v{settings.version}",
            "machineID": machine.name,
            "operatingSystem": "windows",
            "osImage": machine.windows.product,
            "systemUUID": machine.sid,
        },
    }


def _addresses(machine: Machine, name: str, settings: KubeletSettings, known: Mapping[str, Any]) -> dict[str, Any]:
    """Return a dictionary with a Node's status field `addresses`, or an empty one if the kubelet must not set it.

    With an external cloud provider, a kubelet sets the addresses at most once (setters.go).
    """
    if settings.has_cloud_provider and (known.get("conditions") or not settings.reports_addresses):
        return {}
    internal = {"type": "InternalIP", "address": settings.node_ip or machine.address}
    return {"addresses": [internal, {"type": "Hostname", "address": name}]}


def lease(machine: Machine, name: str, seconds: int, uid: str) -> dict[str, Any]:
    """Return the Lease object with which a kubelet shows that its node is alive."""
    owner = {"apiVersion": "v1", "kind": "Node", "name": name, "uid": uid}
    return {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": name, "namespace": "kube-node-lease", "ownerReferences": [owner] if uid else []},
        "spec": {"holderIdentity": name, "leaseDurationSeconds": seconds, "renewTime": micro_stamp(machine)},
    }
