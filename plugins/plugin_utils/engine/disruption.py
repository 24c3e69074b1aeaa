# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Decide which changes disrupt the pods of a node (no I/O).

A change disrupts pods if it reboots the node, stops or restarts a service that the pods need, or changes their network.
This follows from the change and from the services in the resource's `restarts` property. The resource's `disrupts`
property overrules the result, except for reboots and for changes that affect nothing that runs (`Change.harmless`).
"""

from __future__ import annotations

from .resource import Change, Resource

SERVICES = frozenset(
    {
        # Container runtimes, and the services that start pods and connect them to the network.
        "containerd",
        "docker",
        "cri-dockerd",
        "kubelet",
        "kube-proxy",
        "flanneld",
        # Services of Windows. A restart of the Host Networking Service removes the endpoints of running pods
        # (projectcalico/calico#5164). A restart of the Host Compute Service ends the containers that it runs.
        "hns",
        "vmcompute",
    }
)
"""Windows services that pods need, in lower case. Stopping or restarting them disrupts pods; starting them does not."""


def disruption(resource: Resource, change: Change) -> str:
    """Return how a change disrupts the pods of the node.

    Args:
        resource: the resource that changes.
        change: the change of the resource.

    Returns:
        A short reason for the user, such as `restarts kubelet`, or an empty string if pods are not disrupted.
    """
    if change.reboot == "always":
        return "reboots the node"
    if change.reboot == "if_reported" or change.reboot_codes:
        return "may reboot the node"
    if change.harmless:
        return ""
    if resource.disrupts is None:
        return _by_services(resource, change)
    return (_by_services(resource, change) or "changes what pods use") if resource.disrupts else ""


def _by_services(resource: Resource, change: Change) -> str:
    stopped = [*(one.service for one in change.interruptions), *resource.restarts]
    needed = sorted({name.lower() for name in stopped} & SERVICES)
    if needed:
        stays_stopped = change.service is not None and change.service.effect == "stops"
        return f"{'stops' if stays_stopped else 'restarts'} {', '.join(needed)}"
    return "changes the network" if change.changes_network else ""
