# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The output of crictl: tables, and images, sandboxes and containers in CRI's JSON format."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from simulator.kubernetes_node.cri.interface import CriRuntime
from simulator.kubernetes_node.cri.shims import Container, Sandbox
from simulator.kubernetes_node.images.store import StoredImage


def image_view(server: CriRuntime, image: StoredImage) -> dict[str, Any]:
    """Return an image in CRI's format.

    The result lists the names of all images with the same configuration. If any of these images is pinned, the result
    is marked as pinned.
    """
    identity = server.image_id(image)
    same = [item for item in server.store.images() if server.image_id(item) == identity]
    names = [item.name for item in same]
    return {
        "id": identity,
        "repoTags": [name for name in names if "@" not in name and not name.startswith("sha256:")],
        "repoDigests": [name for name in names if "@" in name],
        "size": str(server.image_size(image)),
        "uid": None,
        "username": "",
        "spec": None,
        "pinned": any(item.labels.get("io.cri-containerd.pinned") == "pinned" for item in same),
    }


def all_images(server: CriRuntime) -> list[dict[str, Any]]:
    """Return the images in the store that have a manifest for the machine's Windows build.

    Images with the same configuration are combined into one entry.
    """
    found: dict[str, dict[str, Any]] = {}
    for image in server.store.images():
        identity = server.image_id(image)
        if identity and identity not in found:
            found[identity] = image_view(server, image)
    return list(found.values())


def nanos(moment: datetime | None) -> str:
    """Return a time in CRI's format: nanoseconds since 1970."""
    return str(int(moment.timestamp() * 1e9)) if moment else "0"


def sandbox_view(item: Sandbox) -> dict[str, Any]:
    """Return a sandbox in CRI's format."""
    return {
        "id": item.id,
        "metadata": {"name": item.pod, "uid": item.uid, "namespace": item.namespace, "attempt": item.attempt},
        "state": "SANDBOX_READY" if item.ready else "SANDBOX_NOTREADY",
        "createdAt": nanos(item.created),
        "labels": {
            "io.kubernetes.pod.name": item.pod,
            "io.kubernetes.pod.namespace": item.namespace,
            "io.kubernetes.pod.uid": item.uid,
        },
        "annotations": {},
        "runtimeHandler": "",
    }


def sandbox_status(item: Sandbox) -> dict[str, Any]:
    """Return a sandbox's status for `inspectp`. A sandbox on the host's network has no network namespace."""
    windows = {"network": {"networkNamespace": item.netns.lower()}} if item.netns else {}
    return {
        "status": {**sandbox_view(item), "network": {"additionalIps": [], "ip": item.address}},
        "info": {
            "sandboxID": item.id,
            "netNsClosed": not item.ready,
            "runtimeHandler": "",
            "runtimeType": "io.containerd.runhcs.v1",
            "runtimeSpec": {"ociVersion": "1.2.1", "windows": windows},
        },
    }


def container_view(item: Container, sandbox: Sandbox | None) -> dict[str, Any]:
    """Return a container in CRI's format."""
    state = "CONTAINER_EXITED" if item.state == "RUNNING" and not item.alive else f"CONTAINER_{item.state}"
    labels = {"io.kubernetes.container.name": item.name}
    if sandbox:
        labels |= {
            "io.kubernetes.pod.name": sandbox.pod,
            "io.kubernetes.pod.namespace": sandbox.namespace,
            "io.kubernetes.pod.uid": sandbox.uid,
        }
    return {
        "id": item.id,
        "podSandboxId": item.sandbox,
        "metadata": {"name": item.name, "attempt": item.attempt},
        "image": {"image": item.image_id, "annotations": {}, "userSpecifiedImage": item.image, "runtimeHandler": ""},
        "imageRef": item.image_id,
        "state": state,
        "createdAt": nanos(item.created),
        "labels": labels,
        "annotations": {},
        "imageId": item.image_id,
    }


def table(rows: list[list[str]]) -> str:
    """Format a table as crictl does."""
    widths = [max(len(row[index]) for row in rows) for index in range(len(rows[0]))]
    return "".join(
        "   ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() + "\n" for row in rows
    )
