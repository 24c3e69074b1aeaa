# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""How Calico is installed in a cluster, as cluster_info returns it."""

from __future__ import annotations

import typing as t


def pool(**given: t.Any) -> dict[str, t.Any]:
    """Return the IPPool of a default kubespray cluster, after changes."""
    found = {"name": "default-pool", "cidr": "10.233.64.0/18", "ipip": "Never", "vxlan": "Always", "disabled": False}
    return {**found, **given}


def facts(**given: t.Any) -> dict[str, t.Any]:
    """Return the facts of a kubespray cluster with strict affinity, after changes."""
    found: dict[str, t.Any] = {
        "namespace": "kube-system",
        "version": "v3.31.5",
        "cluster_type": "kubespray",
        "backend": "vxlan",
        "typha": "",
        "typha_secure": False,
        "has_etcd": False,
        "strict_affinity": True,
        "has_ipam_configuration": True,
        "pools": [pool()],
        "felix": {"bpfEnabled": False, "wireguardEnabled": False, "wireguardEnabledV6": False},
        "vxlan": {"vni": 4096, "port": 4789, "mtu": None},
        "uses_host_local": False,
        "installation": {},
        "windows_daemon_set": "",
        "has_former_daemon_set": False,
    }
    return {**found, **given}


def bgp(**given: t.Any) -> dict[str, t.Any]:
    """Return the facts of a cluster with BGP and no encapsulation, after changes."""
    return facts(**{"backend": "bird", "pools": [pool(vxlan="Never")], **given})


def installation(**given: t.Any) -> dict[str, t.Any]:
    """Return what the Tigera operator's Installation says if it runs Calico on Windows nodes, after changes."""
    found = {
        "windows_dataplane": "HNS",
        "linux_dataplane": "Iptables",
        "bgp": "Disabled",
        "service_cidrs": ["10.233.0.0/18"],
        "cni_type": "Calico",
        "ipam_type": "Calico",
        "mtu": None,
        "api_server": "10.3.0.1:6443",
        "windows_folders": {
            "cniBinDir": "/opt/cni/bin",
            "cniConfigDir": "/etc/cni/net.d",
            "cniLogDir": "/var/log/calico/cni",
        },
    }
    return {**found, **given}
