# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Compare a host's variables with flannel on the cluster's Linux nodes (no I/O)."""

from __future__ import annotations

import typing as t

from ..pod_networks.catalogue import catalogue, network
from .host import HostVariables
from .variables import Problem

_BACKEND = "cni_flannel_backend (from flannel_backend_type)"
_PLUGIN = "cni_plugin (from kube_network_plugin)"
_VXLAN_DEFAULTS = {"VNI": 1, "Port": 8472}
"""Default VNI and port of flannel's vxlan backend on Linux (Documentation/backends.md). The Linux kernel has the same
default port."""


def problems(node: HostVariables, flannel: t.Mapping[str, t.Any]) -> list[Problem]:
    """Return problems with flannel's settings on the host and on the Linux nodes.

    A setting is a problem if it differs between them, or if Windows does not support it.

    Args:
        node: the host.
        flannel: what cluster_info reports about flannel; empty if the Linux nodes do not use flannel.
    """
    if not flannel:
        return []
    where = f"ConfigMap {flannel.get('config_map')} (net-conf.json)"
    conf = flannel.get("net_conf") or {}
    backend = conf.get("Backend") or {}
    kind = str(backend.get("Type") or "")
    if kind not in network("flannel").modes:
        return [
            Problem(
                f"Backend.Type in {where}",
                kind,
                "expected host-gw or vxlan",
                "flannel on Windows supports no other backend. Change the ConfigMap and flannel_backend_type.",
            )
        ]
    reason = f"flannel's Linux nodes use {kind} ({where}), and all nodes need the same backend."
    known = network(node.cni_plugin)
    own = node.backend if known.mode_variable else next(iter(known.modes.values())).flannel_backend
    if kind != own and known.mode_variable:
        return [Problem(_BACKEND, own, f"expected {kind}", f"{reason} Set flannel_backend_type: {kind}.")]
    if kind != own:
        hint = f"{reason} Set cni_plugin to {_plugins(kind)} on the Windows hosts."
        return [Problem(_PLUGIN, known.name, f"expected flannel's backend {own} on Linux nodes", hint)]
    return (_vxlan(backend, where) if kind == "vxlan" else []) + _pod_network(node, conf, where)


def _plugins(backend: str) -> str:
    """Return the values of cni_plugin that work with the given flannel backend of the Linux nodes."""
    return " or ".join(
        name
        for name, known in catalogue().items()
        if any(mode.flannel_backend == backend for mode in known.modes.values())
    )


def _vxlan(backend: t.Mapping[str, t.Any], where: str) -> list[Problem]:
    """Return problems with vxlan settings that Windows nodes do not support."""
    fixed = network("flannel").mode("vxlan").fixed
    needed = {"VNI": fixed["vni"], "Port": fixed["port"]}
    wrong = {name: backend.get(name) or default for name, default in _VXLAN_DEFAULTS.items()}
    if wrong == needed:
        return []
    required = ", ".join(f'"{name}": {value}' for name, value in needed.items())
    shown = ", ".join(f"{name} {value}" for name, value in wrong.items())
    expected = f'expected "Backend": {{"Type": "vxlan", {required}}}, which Windows nodes need'
    hint = (
        "Change the ConfigMap and restart flannel on the Linux nodes (kubespray: flannel_vxlan_vni: 4096, "
        "flannel_vxlan_port: 4789)."
    )
    return [Problem(f"Backend in {where}", shown, expected, hint)]


def _pod_network(node: HostVariables, conf: t.Mapping[str, t.Any], where: str) -> list[Problem]:
    """Return a problem if flannel's pod network differs from the node's pod network."""
    pods = str(conf.get("Network") or "")
    if not pods or pods == node.pods:
        return []
    hint = f"flannel uses {pods} on the Linux nodes ({where}). Set kube_pods_subnet: {pods}."
    return [Problem("cni_pods_subnet (from kube_pods_subnet)", node.pods, f"expected {pods}", hint)]
