# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The MTU of the pods' packets on Linux nodes, if the cluster's settings define an MTU.

Nothing sets an MTU on Windows nodes, because HNS endpoints have no field for it (microsoft/hcsshim hcn/hcnendpoint.go).
Pods use the MTU of the network adapter, from which overlays subtract their headers (flannel-io/flannel v0.28.9
pkg/backend/vxlan/vxlan_network_windows.go, MTU; Calico's "mtu": 0).
"""

from __future__ import annotations

import dataclasses
import typing as t

from .catalogue import KnownNetwork

ETHERNET = 1500
"""The usual MTU of a network adapter."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class LinuxMtu:
    """The MTU of the pods' packets on Linux nodes."""

    pods: int
    where: str
    """The setting that determines the MTU, and the Kubernetes object that contains the setting."""
    remedy: str
    """How to set the MTU on Linux nodes. `{mtu}` stands for the pods' MTU, and `{adapter}` for the network adapter's
    MTU."""


def linux_mtu(known: KnownNetwork, mode: str, cluster: t.Mapping[str, t.Any]) -> LinuxMtu | None:
    """Return the configured MTU of pods on Linux nodes, or None if it is unknown or the network is not an overlay.

    Without a setting, each Linux node derives the MTU from its own network adapter, about which the cluster has no
    information.

    Args:
        known: the network of the Windows nodes.
        mode: the network's mode.
        cluster: the result of cluster_info.
    """
    own = known.modes.get(mode)
    if own is None or not own.mtu_overhead:
        return None
    if own.flannel_backend:
        return _flannel(cluster.get("flannel") or {}, own.mtu_overhead)
    return _calico(cluster.get("calico") or {})


def _flannel(flannel: t.Mapping[str, t.Any], overhead: int) -> LinuxMtu | None:
    """Return the pods' MTU according to flannel's ConfigMap.

    The MTU there includes the encapsulation headers (flannel Documentation/backends.md), so they are subtracted.
    """
    backend = (flannel.get("net_conf") or {}).get("Backend") or {}
    # flannel ignores upper and lower case in the names of the ConfigMap (Go's encoding/json).
    value = next((value for name, value in backend.items() if name.lower() == "mtu"), None)
    if not isinstance(value, int) or isinstance(value, bool) or value <= overhead:
        return None
    where = f"Backend.MTU in ConfigMap {flannel.get('config_map')} (net-conf.json)"
    remedy = 'Set "MTU": {adapter} there and restart flannel on the Linux nodes.'
    return LinuxMtu(pods=value - overhead, where=where, remedy=remedy)


def _calico(calico: t.Mapping[str, t.Any]) -> LinuxMtu | None:
    mtu = (calico.get("vxlan") or {}).get("mtu") or (calico.get("installation") or {}).get("mtu")
    if not isinstance(mtu, int) or isinstance(mtu, bool) or mtu <= 0:
        return None
    if calico.get("installation"):
        where, remedy = "calicoNetwork.mtu of the Installation default", "Set it to {mtu}."
    else:
        where = (
            f"FELIX_VXLANMTU of the DaemonSet {calico.get('namespace')}/calico-node, or vxlanMTU of the "
            "FelixConfiguration default"
        )
        remedy = "Set calico_mtu: {mtu} in kubespray's inventory and run kubespray, or change the object."
    return LinuxMtu(pods=mtu, where=where, remedy=remedy)
