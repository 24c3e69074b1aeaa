# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Everything that a pod network leaves on a node and in the cluster, in a form that is comparable between points in time."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping
from typing import Any, TypeAlias

from integration.joined_nodes import wait_for
from integration.playbooks import Site, cluster_api
from kubernetes import client

from simulator.machine.machine import Machine

Traces: TypeAlias = Mapping[str, Any]


def traces_at_rest(site: Site, host: str, name: str, seconds: float = 60.0) -> Traces:
    """Return the traces when nothing changes by itself any more: pods start after a node is Ready."""
    deadline = time.monotonic() + seconds
    before = traces(site, host, name)
    while time.monotonic() < deadline:
        time.sleep(1)
        after = traces(site, host, name)
        if after == before:
            return after
        before = after
    raise AssertionError(f"{host} did not come to rest within {seconds:g} s")


def traces(site: Site, host: str, name: str) -> Traces:
    machine = site.machine(host)
    return {**_machine(machine), **_cluster(site, name)}


def _machine(machine: Machine) -> dict[str, Any]:
    status: dict[str, Any] = {key: read(machine) for key, read in machine.families.status.items()}
    services = {
        name: (found.state, found.start_mode, found.image_path, found.account, found.dependencies, dict(found.environment))
        for name in machine.services.names()
        if (found := machine.services.get(name))
    }
    registry = {f"{path}:{name}": value for path, name, value in machine.registry.walk("HKLM")}
    return {
        "files": {entry.path: _file(machine, entry) for entry in machine.files.walk("C:\\")},
        "registry": registry,
        "services": services,
        "status": status,
        "boots": machine.power.boots,
        "processes": sorted(process.name for process in machine.processes.all()),
        "pending": machine.power.pending_reasons(),
    }


def _file(machine: Machine, entry: Any) -> Any:
    if entry.is_directory:
        return ("folder", machine.files.sddl(entry.path))
    data = b""
    try:
        data = machine.files.read_bytes(entry.path) if entry.size < 2**20 else str(entry.size).encode()
        return (entry.size, hashlib.sha256(data).hexdigest(), machine.files.sddl(entry.path))
    except FileNotFoundError:
        return None


def _cluster(site: Site, name: str) -> dict[str, Any]:
    api = cluster_api(site)
    node = client.CoreV1Api(api).read_node(name)
    return {
        "labels": dict(node.metadata.labels),
        "annotations": dict(node.metadata.annotations or {}),
        "spec": node.spec.to_dict(),
        "daemon_sets": sorted(
            f"{one.metadata.namespace}/{one.metadata.name}"
            for one in client.AppsV1Api(api).list_daemon_set_for_all_namespaces().items
        ),
        "config_maps": sorted(
            f"{one.metadata.namespace}/{one.metadata.name}"
            for one in client.CoreV1Api(api).list_config_map_for_all_namespaces().items
        ),
        "pods": {f"{one.metadata.owner_references[0].name if one.metadata.owner_references else one.metadata.name}": one.status.phase for one in client.CoreV1Api(api).list_pod_for_all_namespaces(field_selector=f"spec.nodeName={name}").items},
    }
