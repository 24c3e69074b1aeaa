# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The files of the artifact server: their names, layouts and checksum files."""

from __future__ import annotations

import hashlib
import io
import json
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from simulator.artifacts import catalog
from simulator.machine.executables import identify
from simulator.windows.software import installer_package
from simulator.windows.updates import update_package

TESTS = Path(__file__).parents[2]
NODE = "dl.k8s.io/v1.37.1/kubernetes-node-windows-amd64.tar.gz"
CONTAINERD = "github.com/containerd/containerd/releases/download/v2.4.2/containerd-2.4.2-windows-amd64.tar.gz"
CRICTL = "github.com/kubernetes-sigs/cri-tools/releases/download/v1.37.0/crictl-v1.37.0-windows-amd64.tar.gz"
PLUGINS = "github.com/containernetworking/plugins/releases/download/v1.9.0/cni-plugins-windows-amd64-v1.9.0.tgz"
NERDCTL = "github.com/containerd/nerdctl/releases/download/v2.1.6/nerdctl-2.1.6-windows-amd64.tar.gz"
FLANNELD = "github.com/flannel-io/flannel/releases/download/v0.28.0/flanneld.exe"
FLANNEL = "github.com/flannel-io/flannel/releases/download/v0.28.0/flannel-v0.28.0-windows-amd64.tar.gz"
FLANNEL_CNI = (
    "github.com/flannel-io/cni-plugin/releases/download/v1.9.1-flannel1/"
    "cni-plugin-flannel-windows-amd64-v1.9.1-flannel1.tgz"
)


UPDATE = (
    "catalog.s.download.windowsupdate.com/c/msdownload/update/software/secu/2024/12/"
    "windows10.0-kb5048654-x64_0123456789abcdef0123456789abcdef01234567.msu"
)


def file(url: str) -> bytes:
    found = catalog.content(url)
    assert found is not None, url
    return found


def test_updates_of_windows() -> None:
    package = update_package.parse(file(UPDATE))
    assert (package.update.kb, package.update.ubr, package.container) == ("KB5048654", 2966, "msu")
    assert len(file(UPDATE)) > 200_000
    assert catalog.content(UPDATE.replace("kb5048654", "kb1")) is None


def members(url: str) -> dict[str, bytes]:
    if url.endswith(".zip"):
        with zipfile.ZipFile(io.BytesIO(file(url))) as archive:
            return {name: archive.read(name) for name in archive.namelist()}
    with tarfile.open(fileobj=io.BytesIO(file(url))) as archive:
        return {entry.name: archive.extractfile(entry).read() for entry in archive if entry.isfile()}  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("url", "path", "program", "version"),
    [
        (NODE, "kubernetes/node/bin/kubelet.exe", "kubelet", "1.37.1"),
        (NODE, "kubernetes/node/bin/kubeadm.exe", "kubeadm", "1.37.1"),
        (CONTAINERD, "bin/containerd.exe", "containerd", "2.4.2"),
        (CONTAINERD, "bin/containerd-shim-runhcs-v1.exe", "containerd-shim-runhcs-v1", "2.4.2"),
        (CRICTL, "crictl.exe", "crictl", "1.37.0"),
        (PLUGINS, "./win-overlay.exe", "win-overlay", "1.9.0"),
        (FLANNEL, "flanneld.exe", "flanneld", "0.28.0"),
        (FLANNEL_CNI, "flannel-amd64.exe", "flannel", "1.9.1-flannel1"),
        (NERDCTL, "nerdctl.exe", "nerdctl", "2.1.6"),
        ("nssm.cc/release/nssm-2.24.zip", "nssm-2.24/win64/nssm.exe", "nssm", "2.24"),
    ],
)
def test_an_archive_holds_the_programs_of_its_version(url: str, path: str, program: str, version: str) -> None:
    assert identify(members(url)[path]) == (program, version)


def test_a_single_executable_equals_that_in_the_archive() -> None:
    assert file(FLANNELD) == members(FLANNEL)["flanneld.exe"]
    assert file("dl.k8s.io/v1.37.1/bin/windows/amd64/kubelet.exe") == members(NODE)["kubernetes/node/bin/kubelet.exe"]


@pytest.mark.parametrize(
    ("url", "suffix", "text"),
    [
        (NODE, ".sha256", "{hash}"),
        (NODE, ".sha512", "{hash}"),
        (CONTAINERD, ".sha256sum", "{hash}  {name}\n"),
        (CRICTL, ".sha256", "{hash}\n"),
        (PLUGINS, ".sha512", "{hash}  {name}\n"),
    ],
)
def test_checksum_files_have_their_publishers_form(url: str, suffix: str, text: str) -> None:
    digest = hashlib.new("sha512" if "512" in suffix else "sha256", file(url)).hexdigest()
    assert file(url + suffix).decode() == text.format(hash=digest, name=url.rpartition("/")[2])


def test_one_file_of_checksums_for_all_archives_of_a_release() -> None:
    lines = file(NERDCTL.rpartition("/")[0] + "/SHA256SUMS").decode().splitlines()
    assert len(lines) == 3
    assert f"{hashlib.sha256(file(NERDCTL)).hexdigest()}  {NERDCTL.rpartition('/')[2]}" in lines


@pytest.mark.parametrize(
    ("url", "head"),
    [
        ("github.com/microsoft/SDN/raw/master/Kubernetes/windows/debug/collectlogs.ps1", b"# debug/collectlogs.ps1"),
        ("raw.githubusercontent.com/microsoft/SDN/master/Kubernetes/windows/hns.v2.psm1", b"# hns.v2.psm1"),
        ("github.com/cloudbase/cloudbase-init/releases/download/1.1.6/CloudbaseInitSetup_1_1_6_x64.msi", b"\xd0\xcf"),
        ("www.cloudbase.it/downloads/CloudbaseInitSetup_Stable_x64.msi", b"\xd0\xcf"),
    ],
)
def test_files_that_are_not_archives(url: str, head: bytes) -> None:
    assert file(url).startswith(head)


@pytest.mark.parametrize("name", ["CloudbaseInitSetup_Stable_x64.msi", "CloudbaseInitSetup_x64.msi"])
def test_the_newest_installer_of_cloudbase_init(name: str) -> None:
    package = installer_package.read(file(f"www.cloudbase.it/downloads/{name}"))
    assert package is not None
    assert (package.name, package.version) == ("Cloudbase-Init 1.1.8", "1.1.8")


@pytest.mark.parametrize(
    "url",
    [
        NODE.replace("1.37.1", "latest"),
        FLANNEL + ".sha256",
        CONTAINERD.replace("containerd-2.4.2", "containerd-2.4.1"),
        "dl.k8s.io/v1.37.1/kubernetes-node-linux-arm64.tar.gz",
        "example.com/file.zip",
        "",
    ],
)
def test_files_that_upstream_lacks_do_not_exist(url: str) -> None:
    assert catalog.content(url) is None


def test_another_process_makes_the_same_bytes() -> None:
    code = "import hashlib; from simulator.artifacts import catalog; "
    code += f"print(hashlib.sha256(catalog.content({NODE!r})).hexdigest())"
    other = subprocess.run([sys.executable, "-c", code], cwd=TESTS, capture_output=True, text=True, check=True)
    assert other.stdout.strip() == hashlib.sha256(file(NODE)).hexdigest()


def test_another_version_has_other_bytes() -> None:
    assert file(NODE) != file(NODE.replace("1.37.1", "1.37.0"))


MICROSOFT_CNI = (
    "github.com/microsoft/windows-container-networking/releases/download/v{0}/windows-container-networking-cni-amd64-"
)


def test_microsofts_plugins_have_checksum_files_since_0_3_2() -> None:
    old, new = MICROSOFT_CNI.format("0.3.1"), MICROSOFT_CNI.format("0.3.3")
    assert set(members(f"{old}v0.3.1.zip")) == {"nat.exe", "sdnbridge.exe", "sdnoverlay.exe"}
    assert file(f"{old}0.3.1.zip") == file(f"{old}v0.3.1.zip")
    assert catalog.content(f"{old}v0.3.1.zip.sha256") is None
    for kind in ("sha256", "sha512"):
        text = file(f"{new}v0.3.3.zip.{kind}").decode()
        digest = hashlib.new(kind, file(f"{new}v0.3.3.zip")).hexdigest()
        assert text == f"{digest}  ./release/windows-container-networking-cni-amd64-v0.3.3.zip\n"


@pytest.mark.parametrize(
    ("name", "ipam"), [("", "azure-vnet-ipam"), ("-singletenancy", "azure-vnet-ipam"), ("-swift", "azure-cns")]
)
def test_azure_cni(name: str, ipam: str) -> None:
    url = f"packages.aks.azure.com/azure-cni/v1.6.21/binaries/azure-vnet-cni{name}-windows-amd64-v1.6.21.zip"
    found = members(url)
    assert set(found) == {"azure-vnet.exe", "azure-vnet-ipam.exe", "azure-vnet-telemetry.exe",
                          "azure-vnet-telemetry.config", "10-azure.conflist"}  # fmt: skip
    document = json.loads(found["10-azure.conflist"])
    assert (document["cniVersion"], document["plugins"][0]["ipam"]["type"]) == ("0.3.0", ipam)
    assert identify(found["azure-vnet.exe"]) == ("azure-vnet", "1.6.21")
    assert catalog.content(f"{url}.sha256") is None, "AKS publishes no checksums"
