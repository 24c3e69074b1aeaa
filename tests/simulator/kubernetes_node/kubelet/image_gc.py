# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Simulate the `image_gc` fault, in which the kubelet deletes container images because the disk is almost full.

All unused images are deleted, except pinned ones (`io.cri-containerd.pinned=pinned`). The real kubelet also keeps
pinned images regardless of disk usage (kubernetes/kubernetes pkg/kubelet/images/image_gc_manager.go).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from simulator.kubernetes_node.cri import crictl_views
from simulator.kubernetes_node.cri.interface import CriRuntime
from simulator.machine import listeners

if TYPE_CHECKING:
    from simulator.machine.machine import Machine


def collect(machine: Machine) -> list[str]:
    """Delete all images that no container uses, except pinned ones. Return the names of the deleted images.

    The real kubelet stops as soon as disk usage is below `imageGCLowThresholdPercent`.
    """
    gone: list[str] = []
    pipes = machine.part(listeners.Listeners).pipes
    for runtime in [server for server in list(pipes.values()) if isinstance(server, CriRuntime)]:
        used = {item.image_id for item in runtime.containers()}
        for item in crictl_views.all_images(runtime):
            if item["id"] in used or item["pinned"]:
                continue
            names = [image.name for image in runtime.store.images() if runtime.image_id(image) == item["id"]]
            for name in names:
                runtime.remove_image(name)
            gone += names
    return gone


def _fault(machine: Machine, options: Mapping[str, object]) -> None:
    collect(machine)


FAULTS: Mapping[str, Callable[[Machine, Mapping[str, object]], None]] = {"image_gc": _fault}
