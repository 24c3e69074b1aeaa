# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The calico/cni-windows and calico/node-windows images: their tags, Windows builds, programs and entry points.

Each image has a manifest list, and one tag for each version of Windows. Calico publishes no images for Windows Server
2025 (projectcalico/calico#11691). Sources: release-windows-with-tag in lib.Makefile, cni-plugin/Dockerfile-windows and
node/Dockerfile-windows of projectcalico/calico.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from simulator.kubernetes_node.cni.calico.releases import CalicoRelease, all_releases, registries

if TYPE_CHECKING:
    from simulator.kubernetes_node.images.upstream import Blobs

_SIZE = 1024
_SCRIPTS = {
    "uninstall-calico.ps1": "calico-uninstall",
    "CalicoWindows/node-service.ps1": "calico-node-service",
    "CalicoWindows/felix-service.ps1": "calico-felix-service",
    "CalicoWindows/confd/confd-service.ps1": "calico-confd-service",
}


def _cni(release: CalicoRelease) -> Mapping[str, str]:
    if release.has("single_binary"):
        return {"opt/cni/bin/calico.exe": "calico", "opt/cni/bin/calico-ipam.exe": "calico-ipam"}
    names = {"install": "calico-cni-install", "calico": "calico", "calico-ipam": "calico-ipam"}
    others = {name: name for name in ("host-local", "flannel", "win-bridge", "win-overlay")}
    return {f"opt/cni/bin/{name}.exe": program for name, program in {**names, **others}.items()}


def _node(release: CalicoRelease) -> Mapping[str, str]:
    program = "calico" if release.has("single_binary") else "calico-node"
    return {**_SCRIPTS, f"CalicoWindows/{program}.exe": program}


def add(blobs: Blobs) -> None:
    """Add the images of all Calico releases to a simulated registry."""
    for release in all_releases():
        cni: dict[str, Any] = {"Cmd": ["install.exe"], "WorkingDir": "/opt/cni/bin"}
        node: dict[str, Any] = {"Entrypoint": ["powershell"], "WorkingDir": "/CalicoWindows"}
        for name, programs, config in (
            ("cni-windows", _cni(release), cni),
            ("node-windows", _node(release), node),
        ):
            _add(blobs, name, release, programs, config)


def _add(
    blobs: Blobs, name: str, release: CalicoRelease, programs: Mapping[str, str], config: Mapping[str, Any]
) -> None:
    tag = f"v{release.version}"
    first, *others = [f"{host}/calico/{name}" for host in registries()]
    builds = list(release.windows.values())
    blobs.add(f"{first}:{tag}", builds, size=_SIZE, programs=programs, version=release.version, config=config)
    index = blobs.document(f"{first}:{tag}")
    tags = {tag: blobs.tags[f"{first}:{tag}"]}
    for suffix, entry in zip(release.windows, index["manifests"], strict=True):
        tags[f"{tag}-windows-{suffix}"] = entry["digest"]
    for each, digest in tags.items():
        for place in (first, *others):
            blobs.tags[f"{place}:{each}"] = digest
