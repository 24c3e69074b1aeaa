# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Images of add-ons that clusters run on Windows nodes, with their tags, Windows builds and programs.

windows-exporter and the images with `-windows-hp` in their tags are built on the base image for HostProcess containers,
which is not tied to a version of Windows (see the projects' Dockerfiles). fluent-bit has one tag for each version of
Windows (see its .github/workflows/staging-release.yaml). csi-node-driver-registrar and azure-cloud-node-manager support
1809 and ltsc2022 (see release-tools/prow.sh in kubernetes-csi/node-driver-registrar and the Makefile in
kubernetes-sigs/cloud-provider-azure).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from simulator.kubernetes_node.images.upstream import Blobs

_OLD = ("2019", "2022")


def add(blobs: Blobs) -> None:
    """Add the images of the add-ons to a simulated registry."""
    exporter = {"windows_exporter.exe": "windows_exporter"}
    for host in ("ghcr.io/prometheus-community", "docker.io/prometheuscommunity", "quay.io/prometheuscommunity"):
        blobs.add(f"{host}/windows-exporter:0.31.8", [None], programs=exporter, config=_entry("windows_exporter.exe"))
    for tag, build in (("windows-2019-4.0.3", "2019"), ("windows-2022-5.1.1", "2022"), ("windows-2025-5.1.1", "2025")):
        programs = {"fluent-bit/bin/fluent-bit.exe": "fluent-bit"}
        for host in ("ghcr.io/fluent", "docker.io/fluent"):
            blobs.add(f"{host}/fluent-bit:{tag}", [build], programs=programs, config=_entry("fluent-bit.exe"))
    for repository in ("registry.k8s.io/sig-storage", "mcr.microsoft.com/oss/v2/kubernetes-csi"):
        programs = {"csi-node-driver-registrar.exe": "csi-node-driver-registrar"}
        blobs.add(f"{repository}/csi-node-driver-registrar:v2.17.0", _OLD, linux=True, programs=programs)
    for name, program in (
        ("registry.k8s.io/sig-storage/smbplugin:v1.20.3-windows-hp", "smbplugin"),
        ("mcr.microsoft.com/oss/v2/kubernetes-csi/azuredisk-csi:v1.34.5-windows-hp", "azurediskplugin"),
        ("mcr.microsoft.com/oss/v2/kubernetes-csi/azurefile-csi:v1.35.7-windows-hp", "azurefileplugin"),
    ):
        blobs.add(name, [None], programs={f"{program}.exe": program}, config=_entry(f"/{program}.exe"))
    for tag in ("v1.32.20", "v1.33.17", "v1.34.13", "v1.35.8", "v1.36.5"):
        name = f"mcr.microsoft.com/oss/v2/kubernetes/azure-cloud-node-manager:{tag}"
        programs = {"cloud-node-manager.exe": "cloud-node-manager"}
        blobs.add(name, _OLD, linux=True, programs=programs, config=_entry("/cloud-node-manager.exe"))


def _entry(program: str) -> dict[str, list[str]]:
    return {"Entrypoint": [program]}
