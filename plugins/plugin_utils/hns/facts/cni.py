# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Recognize the HNS networks that CNIs create, and the files that CNIs leave on a node (no I/O).

Sources of the network names: flannel pkg/backend/{hostgw,vxlan}; microsoft/SDN Kubernetes/flannel; projectcalico
node/windows-packaging; Azure/azure-container-networking cni/scripts; WMCO pkg/windows (OVNKubernetesHNSNetwork);
antrea pkg/agent/util (antrea-hnsnetwork); aws/amazon-vpc-cni-plugins (vpcbr…).

Sources of the paths: AgentBaker staging/cse/windows/provisioningscripts/cleanupnetwork.ps1; kubernetes-for-windows
kube-cleanup.ps1; containernetworking plugins/ipam/host-local.
"""

from __future__ import annotations

import dataclasses
import ipaddress
import json
import re
import typing as t

from ...wire.calls import query
from ...wire.messages import Call, CallResult, Input
from .objects import HnsNetwork

CONF_DIRS = ("C:\\etc\\cni\\net.d", "C:\\k\\azurecni\\netconf", "C:\\k\\cni\\config", "C:\\k\\cni\\conf")
HOST_LOCAL = "C:\\var\\lib\\cni\\networks"
SUBNET_ENV = "C:\\run\\flannel\\subnet.env"
_OLD_SUBNET_ENV = "C:\\var\\run\\flannel\\subnet.env"
_NAMES = re.compile(
    r"cbr0|l2bridge|vxlan\d+|flannel\.\d+|azure.*|calico|external|vpcbr.*"
    r"|(base)?ovnkubernetes.*|antrea-hnsnetwork",
    re.IGNORECASE,
)
"""Names that CNIs give their networks. A network with such a name counts as a CNI's network even if no CNI
configuration mentions it, unless its type is in `_NEVER`."""
_NEVER = ("nat", "ics", "internal", "private")
"""Network types. A network of one of these types counts as a CNI's network only if a CNI configuration mentions it."""
_AZURE_STATE = (
    "C:\\k\\azurecns\\azure-endpoints.json",
    *(
        f"{folder}\\{name}.json{suffix}"
        for folder in ("C:\\k", "C:\\Windows\\System32")
        for name in ("azure-vnet", "azure-vnet-ipam", "azure-vnet-ipamv6")
        for suffix in ("", ".lock")
    ),
)
_CALICO_STATE = ("C:\\var\\run\\calico\\nodename",)
"""The file from which Calico's CNI plugin reads the node's name (projectcalico/calico v3.31.5,
cni-plugin/pkg/install/install_windows.go)."""
AZURE_PROGRAMS = ("azure-vnet.exe", "azure-vnet-ipam.exe")
"""Programs of azure-cni. Leftover processes of these programs keep azure-cni's state files locked (AgentBaker
cleanupnetwork.ps1)."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Cni:
    """The node's CNI configuration and state files."""

    names: frozenset[str] = frozenset()
    """Names of networks in the configuration, in lower case."""
    overlay: bool = False
    """Whether the configuration is for an overlay (vxlan). If so, kube-proxy cannot start until flannel's network
    exists."""
    state_files: tuple[str, ...] = ()
    """Existing state files and folders."""
    pods_subnet: str = ""
    """Address range of the cluster's pods, from flannel's subnet.env; empty if unknown."""

    def made(self, network: HnsNetwork) -> bool:
        """Return whether a CNI created the network."""
        if network.name.lower() in self.names:
            return True
        return network.type.lower() not in _NEVER and _NAMES.fullmatch(network.name) is not None


def calls(conf_dirs: t.Sequence[str] = CONF_DIRS) -> tuple[Call, ...]:
    """Return the calls that read CNI configurations and find CNI state files. Missing files are not errors."""
    listing = query(
        "cni-files",
        "Get-ChildItem",
        {
            "Path": [f"{folder}\\*.{kind}" for folder in conf_dirs for kind in ("conf", "conflist", "json")],
            "ErrorAction": "SilentlyContinue",
        },
        select=("FullName",),
    )
    content = query(
        "cni-content",
        "@read-file",
        {"content": True},
        input=Input(calls=("cni-files",), parameter="paths", property="FullName"),
        needs=("cni-files",),
    )
    folders = query(
        "cni-folders",
        "Get-ChildItem",
        # Use no wildcard, because a wildcard would also list the content of subfolders.
        {"LiteralPath": HOST_LOCAL, "Directory": True, "ErrorAction": "SilentlyContinue"},
        select=("FullName",),
    )
    state = query(
        "cni-state",
        "@read-file",
        {"paths": [*_AZURE_STATE, *_CALICO_STATE, SUBNET_ENV, _OLD_SUBNET_ENV], "content": True, "limit": 4096},
    )
    return listing, content, folders, state


def read(seen: t.Mapping[str, CallResult]) -> Cni:
    """Return the node's CNI configuration and state files, as read from the results of `calls`."""
    names: set[str] = set()
    overlay = False
    for file in _output(seen, "cni-content"):
        for name, types in _configured(file.get("content") or ""):
            names.add(name.lower())
            overlay = overlay or bool(types & {"win-overlay", "sdnoverlay"})
    state = [file for file in _output(seen, "cni-state") if file.get("exists")]
    folders = [str(item.get("FullName")) for item in _output(seen, "cni-folders")]
    subnet = ""
    for file in state:
        if str(file.get("path")).endswith("subnet.env"):
            match = re.search(r"^FLANNEL_NETWORK=(\S+)", file.get("content") or "", re.MULTILINE)
            subnet = match[1] if match else subnet
    return Cni(
        names=frozenset(names),
        overlay=overlay,
        state_files=tuple([str(file["path"]) for file in state] + folders),
        pods_subnet=subnet,
    )


def _output(seen: t.Mapping[str, CallResult], call_id: str) -> list[t.Mapping[str, t.Any]]:
    result = seen.get(call_id)
    return [item for item in result.output if isinstance(item, dict)] if result is not None and result.ok else []


def _configured(text: str) -> t.Iterator[tuple[str, set[str]]]:
    """Yield the name and the plugin types of a CNI configuration; yield nothing for any other text."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return
    if not isinstance(document, dict) or not document.get("name"):
        return
    plugins = document.get("plugins") or [document]
    types = {
        str(part.get("type"))
        for plugin in plugins
        if isinstance(plugin, dict)
        for part in (plugin, plugin.get("delegate"))
        if isinstance(part, dict)
    }
    yield str(document["name"]), types


def state_of(cni: Cni, names: t.Collection[str], everything: bool) -> tuple[str, ...]:
    """Return the paths of the state files that CNIs keep for removed networks.

    Args:
        cni: the node's CNI configuration and state files.
        names: names of the removed networks, in lower case.
        everything: whether to return the state files of all networks.
    """
    azure = any(name.startswith("azure") for name in names)
    flannel = any(name.startswith(("cbr0", "vxlan", "flannel")) for name in names)
    calico = any(name.startswith("calico") for name in names)

    def goes(path: str) -> bool:
        lower = path.lower()
        if lower.startswith(HOST_LOCAL.lower()):
            return lower.rpartition("\\")[2] in names
        if lower.endswith("subnet.env"):
            return flannel
        return calico if path in _CALICO_STATE else azure

    return tuple(path for path in cni.state_files if everything or goes(path))


def inside(prefix: str, subnets: t.Iterable[str]) -> bool:
    """Return whether the destination of a route is inside one of the subnets."""
    try:
        destination = ipaddress.ip_network(prefix, strict=False)
    except ValueError:
        return False
    for subnet in subnets:
        try:
            wide = ipaddress.ip_network(subnet, strict=False)
        except ValueError:
            continue
        if wide.version == destination.version and destination.subnet_of(wide):  # type: ignore[arg-type]
            return True
    return False
