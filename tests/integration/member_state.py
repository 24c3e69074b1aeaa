# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The state of a node, on the server and in the cluster, in a form that is comparable between nodes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from integration.playbooks import Site, cluster_api
from integration.states import configured
from kubernetes import client
from simulator_tests.waiting import wait_for

from simulator.machine.machine import Machine

FOLDERS = (r"C:\Program Files\containerd", r"C:\ProgramData\winkube", r"C:\var\lib\kubelet")
# The node's keys, what the kubelet writes for its pods, and the results of remote commands.
_OWN = (r"c:\var\lib\kubelet\pki", r"c:\var\lib\kubelet\pods", r"c:\programdata\winkube\batches")
_PODS = "10.244.0.0/16"
# The cache's manifests contain the times of downloads.
_TIME = re.compile(r'"time": "[^"]*"')


def member_state(site: Site, host: str, name: str) -> Mapping[str, Any]:
    """Return the state of a server and of its node, with placeholders for values that are unique to it.

    Args:
        site: a site with a cluster.
        host: the server.
        name: the name of the node.
    """
    machine = site.machine(host)
    node = wait_for(lambda: _settled(site, name), f"the pods of {name} run", 300)
    more = {
        entry.path: content(machine, entry.path) if entry.size < 2**20 else entry.size
        for folder in FOLDERS
        for entry in machine.files.walk(folder)
        if not entry.is_directory and not entry.path.casefold().startswith(_OWN)
    }
    ours = [process.name for process in machine.processes.all() if process.name.startswith(("powershell", "kubeadm"))]
    # The order matters, because the first node's subnet begins like the network of all pods.
    own = {_PODS: "PODS", name: "NAME", machine.address: "ADDRESS"}
    if cidr := node["spec"].get("pod_cidr"):
        own[cidr.partition("/")[0].removesuffix("0")] = "SUBNET."
    pending = machine.power.pending_reasons()
    state = {"server": configured(machine), "more": more, "processes": ours, "pending": pending, "node": node}
    return dict(_neutral(state, own))


def content(machine: Machine, path: str) -> bytes:
    """Return the contents of a file, or nothing if it no longer exists, as with the runtime's temporary files."""
    try:
        return machine.files.read_bytes(path)
    except FileNotFoundError:
        return b""


def _settled(site: Site, name: str) -> dict[str, Any]:
    """Return the cluster's data about a node when it is Ready and all its pods run; before that, nothing."""
    api = client.CoreV1Api(cluster_api(site))
    node = next((item for item in api.list_node().items if item.metadata.name == name), None)
    if node is None:
        return {}
    ready = [one.status for one in node.status.conditions or () if one.type == "Ready"]
    pods = api.list_pod_for_all_namespaces(field_selector=f"spec.nodeName={name}").items
    if ready != ["True"] or not all(pod.status.phase == "Running" for pod in pods):
        return {}
    spec = {key: value for key, value in node.spec.to_dict().items() if value is not None}
    return {
        "labels": dict(node.metadata.labels),
        "annotations": dict(node.metadata.annotations or {}),
        "spec": spec,
        "kubelet": node.status.node_info.kubelet_version,
        "runtime": node.status.node_info.container_runtime_version,
        "pods": sorted(f"{pod.metadata.namespace}/{pod.metadata.owner_references[0].name}" for pod in pods),
    }


def _neutral(value: Any, own: Mapping[str, str]) -> Any:
    """Return a value with placeholders for texts, which also replace parts of bytes and keys."""
    if isinstance(value, Mapping):
        return {_neutral(key, own): _neutral(item, own) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_neutral(item, own) for item in value]
    if isinstance(value, bytes):
        value = value.decode("utf-8", "surrogateescape")
    if isinstance(value, str):
        for text, placeholder in own.items():
            value = value.replace(text, placeholder)
        return _TIME.sub("TIME", value)
    return value
