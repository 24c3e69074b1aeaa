# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Check whether Windows nodes can use a cluster's Calico network (no I/O).

Calico's limits on Windows are listed under "Limitations and known issues" in the documentation of Calico for Windows
(docs.tigera.io, Calico Open Source 3.32). data/networks/calico.yml names further sources.
"""

from __future__ import annotations

import ipaddress
import typing as t

from ..pod_networks.calico import host_path, mode_of, runs_elsewhere
from ..pod_networks.catalogue import network
from ..role_decisions.calico import is_unreachable, windows_objects
from ..values.shown import AsItIs
from ..values.versions import Version
from .host import HostVariables
from .variables import Problem, RequestedChange

_PLUGIN = "cni_plugin (from kube_network_plugin)"
_VXLAN_SETTINGS = (
    "Set calico_network_backend: vxlan, calico_vxlan_mode: Always and calico_ipip_mode: Never in kubespray's "
    "inventory, or change the IPPool."
)
_UNSUPPORTED = (
    "Windows nodes do not support this value. Change the Installation, or set cni_plugin: none on the Windows hosts."
)
_LOGS = "C:\\var\\log\\calico\\cni"
"""Folder of the Calico CNI plugin's logs. When Calico is removed, this folder is also removed, because
data/networks/calico.yml lists its parent folder."""
Facts: t.TypeAlias = t.Mapping[str, t.Any]
"""The part `calico` of the result of cluster_info."""


def problems(node: HostVariables, calico: Facts) -> list[Problem]:
    """Return the reasons why a Windows node cannot use the cluster's Calico.

    Args:
        node: the host.
        calico: how Calico is installed; empty if Calico is not installed.
    """
    if not calico:
        return [
            Problem(
                _PLUGIN,
                AsItIs("no DaemonSet calico-node in kube-system or calico-system"),
                "expected Calico in the cluster",
                "Install Calico on the Linux nodes first, or set cni_plugin: none on the Windows hosts.",
            )
        ]
    if calico["has_etcd"]:
        return [
            Problem(
                "the datastore of Calico (calico_datastore)",
                "etcd",
                "expected kdd",
                "Calico on Windows works only with the Kubernetes API as its datastore.",
            )
        ]
    return [
        *_version(node, calico),
        *_strict_affinity(node, calico),
        *_pools(node, calico),
        *_encapsulation(node, calico),
        *_felix(calico),
        *_typha(calico),
        *_operator(node, calico),
    ]


def requested_changes(node: HostVariables, calico: Facts) -> list[RequestedChange]:
    """Return the changes to Calico that the run makes because variables request them.

    Args:
        node: the host.
        calico: how Calico is installed; empty if Calico is not installed.
    """
    changes = []
    if calico and node.set_strict_affinity and not calico["strict_affinity"]:
        reset = "kubespray's next run resets it, unless its inventory has calico_ipam_strictaffinity: true."
        where = "strictAffinity of the IPAMConfig default"
        changes.append(RequestedChange("cni_calico_set_strict_affinity", where, "false", "true", reset))
    objects = windows_objects(calico, node.services, node.api_server) if node.enable_calico_windows else []
    for one in objects:
        name = "/".join(filter(None, (one["metadata"].get("namespace"), one["metadata"]["name"])))
        values = ("no Calico on Windows nodes", "settings with which the Tigera operator runs Calico on Windows nodes")
        changes.append(RequestedChange("cni_calico_enable_windows", f"{one['kind']} {name}", *values))
    if calico and calico["installation"] and calico["has_former_daemon_set"]:
        more = "This run removes them. This collection applied them before the operator was installed."
        both = "the DaemonSet kube-system/calico-node-windows and the ConfigMap kube-system/cni-config-windows"
        values = ("these objects and the operator's DaemonSet", "only the Tigera operator's DaemonSet on Windows nodes")
        changes.append(RequestedChange("cni_plugin", both, *values, more))
    return changes


def windows_nodes(node: HostVariables, cluster: t.Mapping[str, t.Any]) -> list[Problem]:
    """Return a problem if the Tigera operator's DaemonSet would replace the networks of Windows nodes.

    This DaemonSet runs on all Windows nodes, including nodes that are not drained. When it starts, it removes the HNS
    networks of other CNI plugins (projectcalico/calico v3.31.5 node/windows-packaging/CalicoWindows/node,
    node-service.ps1).

    Args:
        node: the host.
        cluster: the result of cluster_info.
    """
    installation = (cluster.get("calico") or {}).get("installation") or {}
    if not installation or not node.enable_calico_windows or installation["windows_dataplane"] == "HNS":
        return []
    nodes = cluster.get("nodes") or {}
    others = sorted(name for name, one in nodes.items() if one["os"] == "windows" and not one.get("overlay_address"))
    if not others:
        return []
    expected = "expected false while the cluster has Windows nodes with another network"
    hint = (
        "The operator would immediately start Calico on them, and Calico would remove their networks: "
        f"{', '.join(others[:8])}. Drain and reset these nodes first."
    )
    return [Problem("cni_calico_enable_windows", True, expected, hint)]


def _version(node: HostVariables, calico: Facts) -> list[Problem]:
    """Return a problem if the cluster's version of Calico does not work on Windows."""
    text, known = str(calico["version"]), network("calico")
    oldest = known.oldest_version
    try:
        is_usable = Version.parse(text) >= Version.parse(oldest)
    except ValueError:
        is_usable = False
    where = "Calico's version in the image of the DaemonSet calico-node (calico_version)"
    if is_usable:
        own = node.calico_mode or mode_of(calico)
        broken = known.broken_release(text, own)
        if broken is None:
            return []
        expected = f"expected another version with BGP, such as {known.working_release(text, own)}"
        return [Problem(where, text, expected, f"In this version, {broken.reason} on Windows ({broken.source}).")]
    return [
        Problem(
            where,
            text,
            f"expected {oldest} or later",
            "In earlier versions, pods on Windows nodes fail after 24 hours. Upgrade Calico on the Linux nodes.",
        )
    ]


def _strict_affinity(node: HostVariables, calico: Facts) -> list[Problem]:
    if calico["strict_affinity"] or node.set_strict_affinity:
        return []
    return [
        Problem(
            "strictAffinity of the IPAMConfig default",
            False,
            "expected true, because Linux nodes would otherwise use addresses in the blocks of Windows nodes",
            "Set calico_ipam_strictaffinity: true in kubespray's inventory and run kubespray, or let this collection "
            "set it with cni_calico_set_strict_affinity: true.",
        )
    ]


def _pools(node: HostVariables, calico: Facts) -> list[Problem]:
    """Return problems with Calico's IP pools, from which pods get their addresses."""
    different = []
    for pool in calico["pools"]:
        where = f"the IPPool {pool['name']}"
        if pool["disabled"]:
            continue
        if ipaddress.ip_network(pool["cidr"], strict=False).version != 4:
            hint = (
                "Calico on Windows supports neither IPv6 nor dual stack. Set ipv6_stack: false in kubespray's "
                "inventory, and disable or remove the IPPool."
            )
            different.append(Problem(f"cidr of {where}", pool["cidr"], "expected an IPv4 network", hint))
            continue
        different += _inside(node, pool)
        if pool["ipip"] != "Never":
            different.append(
                Problem(f"ipipMode of {where} (calico_ipip_mode)", pool["ipip"], "expected Never", _VXLAN_SETTINGS)
            )
        if pool["vxlan"] not in ("Always", "Never"):
            expected = "expected Always, because Windows nodes encapsulate all packets or none"
            different.append(
                Problem(f"vxlanMode of {where} (calico_vxlan_mode)", pool["vxlan"], expected, _VXLAN_SETTINGS)
            )
    modes = sorted({pool["vxlan"] for pool in calico["pools"] if not pool["disabled"]} & {"Always", "Never"})
    if len(modes) > 1:
        expected = "expected one value in all IPPools, because Windows nodes encapsulate all packets or none"
        different.append(Problem("vxlanMode of the cluster's IPPools", " and ".join(modes), expected, _VXLAN_SETTINGS))
    if not any(not pool["disabled"] for pool in calico["pools"]):
        hint = "Calico has no addresses for pods. Create an IPPool."
        different.append(
            Problem("the cluster's IPPools", "none that is enabled", "expected at least one enabled IPPool", hint)
        )
    return different


def _inside(node: HostVariables, pool: t.Mapping[str, t.Any]) -> list[Problem]:
    """Return a problem if a Calico IP pool is outside the pod network that the host's variables define."""
    try:
        pods = ipaddress.ip_network(node.pods, strict=False)
    except ValueError:
        return []  # another check rejects this value
    own = ipaddress.ip_network(pool["cidr"], strict=False)
    if own.version == pods.version and own.subnet_of(pods):  # type: ignore[arg-type]
        return []
    hint = f"The IPPool {pool['name']} (calico_pool_cidr) gives addresses to pods."
    where = "cni_pods_subnet (from kube_pods_subnet)"
    return [Problem(where, node.pods, f"expected a network that contains {pool['cidr']}", hint)]


def _encapsulation(node: HostVariables, calico: Facts) -> list[Problem]:
    """Return problems with Calico's mode, and with related settings that do not suit Windows nodes."""
    own, backend = mode_of(calico), str(calico["backend"])
    different = []
    if node.calico_mode and own and node.calico_mode != own:
        hint = "All nodes need the same mode. If the variable is not set, the cluster's mode is used."
        different.append(Problem("cni_calico_mode", node.calico_mode, f"expected {own}, as on the Linux nodes", hint))
    expected = {"vxlan": "vxlan", "bgp": "bird"}.get(own, "")
    if backend and expected and backend != expected:
        config_map = f"calico_backend of the ConfigMap {calico['namespace']}/calico-config (calico_network_backend)"
        bgp = "the backend that calicoNetwork.bgp of the Installation default selects"
        different.append(
            Problem(
                bgp if calico["installation"] else config_map,
                backend,
                f"expected {expected}, because the IPPools {'use' if own == 'vxlan' else 'do not use'} VXLAN",
                "Calico on Windows supports VXLAN without BGP, or BGP without encapsulation.",
            )
        )
    if calico["uses_host_local"]:
        hint = "Set calico_ipam_host_local: false in kubespray's inventory."
        different.append(Problem("the IPAM of Calico's CNI plugin", "host-local", "expected calico-ipam", hint))
    return different + (_fixed(calico) if own == "vxlan" else [])


def _fixed(calico: Facts) -> list[Problem]:
    fixed = network("calico").mode("vxlan").fixed
    vni, port = calico["vxlan"]["vni"], calico["vxlan"]["port"]
    different = []
    if vni is not None and vni < fixed["vni"]:
        expected = f"expected {fixed['vni']} or more, which Windows needs"
        different.append(Problem("the VNI of Calico (calico_vxlan_vni)", vni, expected, _linux("vni", fixed["vni"])))
    if port is not None and port != fixed["port"]:
        expected = f"expected {fixed['port']}, the only port that Windows supports"
        different.append(
            Problem("the VXLAN port of Calico (calico_vxlan_port)", port, expected, _linux("port", fixed["port"]))
        )
    return different


def _linux(setting: t.Literal["vni", "port"], value: int) -> str:
    """Return advice on how to change a VXLAN setting of the Linux nodes."""
    field = {"vni": "vxlanVNI", "port": "vxlanPort"}[setting]
    return (
        f"Set calico_vxlan_{setting}: {value} in kubespray's inventory, or {field}: {value} in the FelixConfiguration "
        "default."
    )


def _felix(calico: Facts) -> list[Problem]:
    """Return problems with cluster-wide Calico settings that Windows nodes do not support."""
    fields = (
        (
            "bpfEnabled",
            "calico_bpf_enabled",
            "Windows nodes do not support eBPF, and could not reach services in such a cluster",
        ),
        ("wireguardEnabled", "calico_wireguard_enabled", "Calico does not support WireGuard on Windows nodes"),
        ("wireguardEnabledV6", "calico_wireguard_enabled", "Calico does not support WireGuard on Windows nodes"),
    )
    return [
        Problem(
            f"{field} of the FelixConfiguration default ({variable})",
            True,
            f"expected false, because {reason}",
            f"Set {variable}: false in kubespray's inventory, or set cni_plugin: none on the Windows hosts.",
        )
        for field, variable, reason in fields
        if calico["felix"].get(field)
    ]


def _typha(calico: Facts) -> list[Problem]:
    """Return a problem if this collection's Calico DaemonSet would need certificates for Typha."""
    if not calico["typha"] or not calico["typha_secure"] or runs_elsewhere(calico):
        return []
    expected = "expected false, because the DaemonSet for Windows has no certificates for Typha"
    hint = "Set typha_secure: false in kubespray's inventory, or apply a DaemonSet calico-node-windows yourself."
    return [Problem("FELIX_TYPHACAFILE of the DaemonSet calico-node (typha_secure)", True, expected, hint)]


def _operator(node: HostVariables, calico: Facts) -> list[Problem]:
    """Return the problems that keep the Tigera operator from running Calico on Windows nodes."""
    installation = calico["installation"]
    if not installation:
        return []
    where = "of the Installation default"
    different = [
        Problem(f"{field} {where}", installation[key], f"expected {accepted}", _UNSUPPORTED)
        for field, key, accepted, is_wrong in (
            ("cni.type", "cni_type", "Calico", installation["cni_type"] != "Calico"),
            ("calicoNetwork.linuxDataplane", "linux_dataplane", "Iptables", installation["linux_dataplane"] == "BPF"),
        )
        if is_wrong
    ]
    different += _folders(node, installation.get("windows_folders") or {})
    if node.enable_calico_windows:
        return different
    enable = "Set cni_calico_enable_windows: true to let this collection change it."
    if installation["windows_dataplane"] != "HNS":
        different.append(
            Problem(
                f"calicoNetwork.windowsDataplane {where}",
                installation["windows_dataplane"],
                "expected HNS, so that the operator runs Calico on Windows nodes",
                enable,
            )
        )
    if not installation["service_cidrs"]:
        different.append(Problem(f"serviceCIDRs {where}", [], f"expected [{node.services}]", enable))
    if is_unreachable(installation["api_server"], node.address):
        different.append(
            Problem(
                "the ConfigMap tigera-operator/kubernetes-services-endpoint",
                installation["api_server"],
                "expected an address at which Windows nodes can reach the API server",
                enable,
            )
        )
    return different


def _folders(node: HostVariables, folders: t.Mapping[str, str]) -> list[Problem]:
    """Return a problem for each folder in the Tigera operator's Installation that differs from the node's folder.

    Args:
        node: the host.
        folders: the `windowsNodes` field of the Installation.
    """
    own = {"cniBinDir": node.cni_bin_dir, "cniConfigDir": node.cni_conf_dir, "cniLogDir": _LOGS}
    change = "Change the Installation"
    hints = {
        "cniBinDir": f"{change}, or set container_runtime_cni_bin_dir on the Windows hosts.",
        "cniConfigDir": f"{change}, or set container_runtime_cni_conf_dir on the Windows hosts.",
        "cniLogDir": f"{change}. The expected folder is removed when a node leaves Calico.",
    }
    return [
        Problem(
            f"windowsNodes.{field} of the Installation default",
            folders[field],
            f"expected {host_path(path)}",
            hints[field],
        )
        for field, path in own.items()
        if field in folders and path and _folder(folders[field]) != _folder(path)
    ]


def _folder(path: str) -> str:
    """Return the path of a Windows node's folder in a form that can be compared."""
    return host_path(path).rstrip("/").casefold()
