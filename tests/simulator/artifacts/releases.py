# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Create release files that have the same names and members as the real ones.

Sources, read in November 2026: kubernetes/kubernetes `hack/lib/golang.sh` (node targets) and `build/lib/release.sh`
(`package_node_tarballs`: `kubernetes/node/bin`, `kubernetes/LICENSES`, `kubernetes/kubernetes-src.tar.gz`);
containerd/containerd `Makefile` (`bin/`) and `.github/workflows/release.yml`; kubernetes-sigs/cri-tools
`hack/release.sh`; containernetworking/plugins `scripts/release.sh` (`tar -C bin .`) and `plugins/windows_only.txt`;
flannel-io/flannel `Makefile` (`tar.gz`); flannel-io/cni-plugin `scripts/package.sh` (the member is
`flannel-amd64.exe`); containerd/nerdctl `Makefile` (one member, without a folder). The files are much smaller than the
real ones, but large enough to make transfers visible.
"""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from typing import Literal

from simulator.artifacts.archives import tar_gz, zip_archive
from simulator.machine.executables import make
from simulator.windows.updates import update_catalogue, update_package

KB = 1024
SIZES: Mapping[str, int] = {
    "kubelet": 2048 * KB,
    "kubeadm": 1536 * KB,
    "kubectl": 1536 * KB,
    "kube-proxy": 1024 * KB,
    "kube-log-runner": 64 * KB,
    "containerd": 1536 * KB,
    "containerd-shim-runhcs-v1": 512 * KB,
    "containerd-stress": 256 * KB,
    "ctr": 768 * KB,
    "crictl": 768 * KB,
    "flanneld": 768 * KB,
}
SMALL = 128 * KB

_LICENSE = b"Apache License\nVersion 2.0, January 2004\nhttp://www.apache.org/licenses/\n"


def program(name: str, version: str) -> bytes:
    """Return the executable of a version of a program, such as kubelet 1.37.1. Its bytes are the same each time."""
    head = make(name, version)
    # The padding hardly compresses, like real code.
    return head + random.Random(f"{name} {version}").randbytes(SIZES.get(name, SMALL) - len(head))


def kubernetes_node(version: str) -> bytes:
    """Return kubernetes-node-windows-amd64.tar.gz."""
    programs = ("kube-log-runner", "kube-proxy", "kubeadm", "kubectl", "kubelet")
    members = {f"kubernetes/node/bin/{name}.exe": program(name, version) for name in programs}
    members["kubernetes/LICENSES/LICENSE"] = _LICENSE
    members["kubernetes/kubernetes-src.tar.gz"] = tar_gz({"LICENSES/LICENSE": _LICENSE})
    return tar_gz(members)


def kubernetes_windows_zip(version: str) -> bytes:
    """Return the zip file (such as v1.37.1-1int.zip) that AKS builds from `kubernetes/node/bin` of the node archive."""
    programs = ("kube-proxy", "kubeadm", "kubectl", "kubelet")
    return zip_archive({f"kubernetes/node/bin/{name}.exe": program(name, version) for name in programs})


def containerd(version: str) -> bytes:
    """Return containerd-VERSION-windows-amd64.tar.gz."""
    programs = ("containerd", "containerd-shim-runhcs-v1", "containerd-stress", "ctr")
    return tar_gz({f"bin/{name}.exe": program(name, version) for name in programs})


def crictl(version: str) -> bytes:
    """Return crictl-vVERSION-windows-amd64.tar.gz."""
    return tar_gz({"crictl.exe": program("crictl", version)})


def cni_plugins(version: str) -> bytes:
    """Return cni-plugins-windows-amd64-vVERSION.tgz, in which every path begins with `./`, as in the real archive."""
    plugins = ("host-local", "win-bridge", "win-overlay")
    members = {f"{name}.exe": program(name, version) for name in plugins}
    members |= {"LICENSE": _LICENSE, "README.md": b"# Plugins\n"}
    return tar_gz(members, top="./")


def microsoft_cni(version: str) -> bytes:
    """Return windows-container-networking-cni-amd64-vVERSION.zip of microsoft/windows-container-networking."""
    return zip_archive({f"{name}.exe": program(name, version) for name in ("nat", "sdnbridge", "sdnoverlay")})


def flannel(version: str) -> bytes:
    """Return flannel-vVERSION-windows-amd64.tar.gz."""
    return tar_gz(
        {"flanneld.exe": program("flanneld", version), "mk-docker-opts.sh": b"#!/bin/sh\n", "README.md": b"# flannel\n"}
    )


def flannel_cni(version: str) -> bytes:
    """Return cni-plugin-flannel-windows-amd64-vVERSION.tgz."""
    return tar_gz({"flannel-amd64.exe": program("flannel", version)})


def azure_cni(name: str, version: str) -> bytes:
    """Return azure-vnet-cni-windows-amd64-vVERSION.zip.

    Source: Azure/azure-container-networking `Makefile` (`cni-archive`).

    Args:
        name: `azure-vnet-cni`. Up to version 1.4, it can be followed by `-singletenancy`, `-swift` or `-overlay`.
        version: the version in the name of the archive.
    """
    programs = ("azure-vnet", "azure-vnet-ipam", "azure-vnet-telemetry")
    members = {f"{item}.exe": program(item, version) for item in programs}
    ipam = "azure-cns" if name.endswith(("-swift", "-overlay")) else "azure-vnet-ipam"
    members["10-azure.conflist"] = (json.dumps(_azure_conflist(ipam), indent=2) + "\n").encode()
    members["azure-vnet-telemetry.config"] = b'{"reportToHostIntervalInSeconds": 30}\n'
    return zip_archive(members)


def _azure_conflist(ipam: str) -> dict[str, object]:
    """Return the CNI configuration in Azure CNI's archive. Installers edit this configuration.

    Source: Azure/azure-container-networking `cni/azure-windows.conflist`.
    """
    policies = (
        {"Type": "OutBoundNAT", "ExceptionList": ["10.240.0.0/16", "10.0.0.0/8"]},
        {"Type": "ROUTE", "DestinationPrefix": "10.0.0.0/8", "NeedEncap": True},
    )
    plugin = {
        "type": "azure-vnet",
        "mode": "bridge",
        "bridge": "azure0",
        "capabilities": {"portMappings": True, "dns": True},
        "ipam": {"type": ipam},
        "dns": {"Nameservers": ["10.0.0.10", "168.63.129.16"], "Search": ["svc.cluster.local"]},
        "AdditionalArgs": [{"Name": "EndpointPolicy", "Value": policy} for policy in policies],
    }
    return {"cniVersion": "0.3.0", "name": "azure", "plugins": [plugin]}


def csi_proxy(version: str) -> bytes:
    """Return csi-proxy-vVERSION.tar.gz."""
    return tar_gz({"bin/csi-proxy.exe": program("csi-proxy", version), "LICENSE": _LICENSE})


def cri_dockerd(version: str) -> bytes:
    """Return cri-dockerd-VERSION.win.amd64.zip. Source: Mirantis/cri-dockerd `packaging/static/Makefile`."""
    return zip_archive({"cri-dockerd/cri-dockerd.exe": program("cri-dockerd", version)})


def docker(version: str) -> bytes:
    """Return docker-VERSION.zip."""
    return zip_archive({f"docker/{name}.exe": program(name, version) for name in ("docker", "dockerd", "docker-proxy")})


def nerdctl(version: str) -> bytes:
    """Return nerdctl-VERSION-windows-amd64.tar.gz."""
    return tar_gz({"nerdctl.exe": program("nerdctl", version)})


def buildkit(version: str) -> bytes:
    """Return buildkit-vVERSION.windows-amd64.tar.gz."""
    return tar_gz({f"bin/{name}.exe": program(name, version) for name in ("buildctl", "buildkitd")})


def sdn_archive(version: str) -> bytes:
    """Return GitHub's archive of microsoft/SDN, with all files in a folder such as `SDN-master`."""
    names = ("hns.psm1", "hns.v2.psm1", "helper.psm1", "debug/collectlogs.ps1", "debug/starthnstrace.cmd",
             "debug/startpacketcapture.cmd", "debug/stoppacketcapture.cmd", "debug/dumpVfpPolicies.ps1",
             "debug/portReservationTest.ps1", "debug/VFP.psm1", "debug/networkhealth.ps1")  # fmt: skip
    return tar_gz({f"SDN-{version}/Kubernetes/windows/{name}": sdn_script(name, version) for name in names})


def sdn_script(name: str, version: str) -> bytes:
    """Return a script from the Kubernetes/windows folder of microsoft/SDN, such as `debug/collectlogs.ps1`."""
    return f"# {name} ({version})\r\n".encode()


def nssm(version: str) -> bytes:
    """Return nssm-VERSION.zip."""
    members = {f"nssm-{version}/{place}/nssm.exe": program("nssm", version) for place in ("win32", "win64")}
    return zip_archive({**members, f"nssm-{version}/README.txt": b"NSSM: The Non-Sucking Service Manager\r\n"})


def calico(version: str) -> bytes:
    """Return calico-windows-vVERSION.zip."""
    programs = ("calico-node.exe", "cni/calico.exe", "cni/calico-ipam.exe")
    members = {f"CalicoWindows/{path}": program(path.split("/")[-1][:-4], version) for path in programs}
    return zip_archive({**members, "CalicoWindows/config.ps1": b"$env:CALICO_NETWORKING_BACKEND = 'vxlan'\r\n"})


def windows_update(article: str, container: Literal["msu", "cab"]) -> bytes | None:
    """Return the file of the Windows update with a KB number (`kb5048654`), or None if the number is unknown."""
    update = update_catalogue.find(article.upper())
    return None if update is None else update_package.make(update, container, size=256 * KB)
