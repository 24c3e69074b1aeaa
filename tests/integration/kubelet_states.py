# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What runs on a node: the kubelet's service, the processes, and the pods."""

from __future__ import annotations

from integration.playbooks import Site, cluster_api
from kubernetes import client

from simulator.machine.machine import Machine


def kubelet_state(machine: Machine) -> str:
    service = machine.services.get("kubelet")
    return service.state if service else ""


def process_names(machine: Machine) -> set[str]:
    return {process.name for process in machine.processes.all()}


def pods_of(site: Site, name: str) -> list[tuple[str, str, bool]]:
    """Return the DaemonSets of a node's pods, with the phase of the pod and whether it is ready."""
    found = (
        client.CoreV1Api(cluster_api(site)).list_pod_for_all_namespaces(field_selector=f"spec.nodeName={name}").items
    )
    return sorted(
        (
            pod.metadata.owner_references[0].name,
            pod.status.phase,
            all(one.ready for one in pod.status.container_statuses or ()),
        )
        for pod in found
    )
