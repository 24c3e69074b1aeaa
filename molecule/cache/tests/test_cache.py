# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Tests, over WinRM, of what the caches contain. Each test runs once for each host in the inventory."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

PowerShell = Callable[[str], str]
CACHE = r"C:\ProgramData\winkube\cache"


def files(powershell: PowerShell, folder: str, pattern: str) -> list[str]:
    found = powershell(
        f"Get-ChildItem -Path '{folder}' -Filter '{pattern}' -Recurse | ForEach-Object {{ $_.FullName }}"
    )
    return found.splitlines()


def test_each_version_lies_in_its_folder(powershell: PowerShell, variables: dict[str, Any]) -> None:
    for kind, name in {"kubernetes": "kube_node_versions", "containerd": "containerd_versions"}.items():
        for version in variables[name]:
            assert files(powershell, rf"{CACHE}\{kind}\{version}", "*.tar.gz"), (kind, version)


def test_each_file_is_the_one_of_its_manifest(powershell: PowerShell) -> None:
    manifests = files(powershell, CACHE, "*.manifest.json")
    # Two versions of Kubernetes, two of containerd, Azure CNI, and crictl, which the role container_runtime installs.
    assert len(manifests) == 6
    for path in manifests:
        manifest = json.loads(powershell(f"Get-Content -Raw -LiteralPath '{path}'"))
        artifact = path.removesuffix(".manifest.json")
        digest = powershell(f"(Get-FileHash -Algorithm SHA256 -LiteralPath '{artifact}').Hash")
        assert digest.lower() == manifest["sha256"], path
        assert manifest["source"].startswith("http://127.82.0.1:8081/"), path


def test_no_download_is_left_half_way(powershell: PowerShell) -> None:
    assert files(powershell, CACHE, "*.part") == []


def test_the_container_images_are_in_the_kubelet_s_namespace(powershell: PowerShell, variables: dict[str, Any]) -> None:
    listed = powershell(r"& 'C:\Program Files\containerd\bin\ctr.exe' -n k8s.io images list").splitlines()
    pinned = [line.split()[0] for line in listed if "io.cri-containerd.pinned=pinned" in line]
    assert "registry.k8s.io/pause:3.10.2" in pinned
    names = {line.split()[0] for line in listed}
    release = "ltsc20" + str(variables["ansible_host"])[-2:]
    assert {"registry.k8s.io/pause:3.9", f"mcr.microsoft.com/windows/nanoserver:{release}"} <= names
