# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""kube-proxy's settings for a network: its configuration, its feature gates, and its source address on an overlay."""

from __future__ import annotations

import ipaddress
import typing as t

from ..values.merged import merged
from ..values.versions import Version
from ..values.yaml_text import to_yaml
from ..windows import node_paths
from .catalogue import Mode

_DSR_BY_DEFAULT = (1, 33)
"""The first minor version of Kubernetes in which the WinDSR feature gate is on by default."""

RESERVATION = "kube-proxy-source-vip\r\neth0"
"""Content of the file that reserves kube-proxy's address, in the format of the host-local CNI plugin. The first line is
not a real container's ID; the second is the name of an interface."""


def source_vip(pod_cidr: str) -> str:
    """Return kube-proxy's source address on an overlay: the last usable address of the node's pod CIDR.

    host-local assigns addresses in ascending order. The first two addresses belong to the gateway and the host's own
    endpoint.

    Args:
        pod_cidr: the node's pod CIDR.

    Raises:
        ValueError: the pod CIDR is not a network, or too small for a Windows node.
    """
    try:
        network = ipaddress.ip_network(str(pod_cidr))
    except ValueError as error:
        raise ValueError(f"pod CIDR {pod_cidr!r} is not a network: {error}") from error
    if network.num_addresses < 8:
        raise ValueError(f"pod CIDR {pod_cidr} is too small for a Windows node, which needs a /29 or larger")
    return str(network.broadcast_address - 1)


def endpoint_address(overlay_address: str) -> str:
    """Return kube-proxy's source address on Calico's overlay: the address of calico-node's HNS endpoint.

    calico-node publishes the first address of the node's block, and gives the second address to the endpoint
    (projectcalico/calico v3.31.5, node/pkg/lifecycle/startup/startup_windows.go).

    Args:
        overlay_address: the published address.

    Raises:
        ValueError: the published address is not an IP address.
    """
    return str(ipaddress.ip_address(overlay_address) + 1)


def winkernel(mode: Mode, pod_cidr: str, overlay_address: str = "") -> dict[str, t.Any]:
    """Return kube-proxy's `winkernel` configuration section, or an empty mapping if another tool runs kube-proxy.

    Args:
        mode: the network's mode.
        pod_cidr: the node's pod CIDR.
        overlay_address: the node's address in the network's overlay; empty if unknown.

    Raises:
        ValueError: the pod CIDR is not a network, or too small for a Windows node, or `overlay_address` is not an IP
            address.
    """
    rules = mode.kube_proxy
    if rules is None:
        return {}
    overlay: dict[str, str] = {}
    if rules.source_vip == "host-local":
        overlay = {"sourceVip": source_vip(pod_cidr)}
    elif rules.source_vip == "network-endpoint" and overlay_address:
        overlay = {"sourceVip": endpoint_address(overlay_address)}
    return {**winkernel_of_cluster(mode), **overlay}


def winkernel_of_cluster(mode: Mode) -> dict[str, t.Any]:
    """Return the part of the `winkernel` section of kube-proxy's configuration that is the same on all nodes.

    Args:
        mode: the network's mode.
    """
    return {"networkName": mode.hns_network, "enableDSR": mode.kube_proxy is not None and mode.kube_proxy.dsr}


def configuration(
    *,
    name: str,
    kubeconfig: str,
    cluster_cidr: str,
    gates: t.Mapping[str, bool],
    winkernel: t.Mapping[str, t.Any],
    given: t.Mapping[str, t.Any],
) -> dict[str, t.Any]:
    """Return kube-proxy's configuration.

    Args:
        name: name of the node.
        kubeconfig: path of the kubeconfig.
        cluster_cidr: network of all pods.
        gates: maps names of feature gates to whether they are on.
        winkernel: the `winkernel` section.
        given: the user's settings, which override the collection's settings key by key.
    """
    own = {
        "apiVersion": "kubeproxy.config.k8s.io/v1alpha1",
        "kind": "KubeProxyConfiguration",
        "mode": "kernelspace",
        "clientConnection": {"kubeconfig": kubeconfig},
        "clusterCIDR": cluster_cidr,
        "hostnameOverride": name,
        **({"featureGates": dict(gates)} if gates else {}),
        "winkernel": dict(winkernel),
    }
    return merged(own, given)


def to_text(document: t.Mapping[str, t.Any]) -> str:
    """Return kube-proxy's configuration as YAML.

    The node's name is always in quotes, as in the file that kube-proxy's pod writes. A name may look like a number,
    and the pod's batch file cannot tell which names do.
    """
    return to_yaml(document, quoted=("hostnameOverride",))


def feature_gates(mode: Mode, kubernetes: str) -> dict[str, bool]:
    """Return the feature gates that kube-proxy needs.

    Direct server return needs the WinDSR gate, which is off by default through 1.32, on by default in 1.33, and
    generally available since 1.34 (kubernetes test/compatibility_lifecycle/reference/versioned_feature_list.yaml). A
    later version no longer has this gate (kubernetes/kubernetes#142125), and kube-proxy rejects unknown gates.
    WinOverlay is on by default in all supported versions.

    Args:
        mode: the network's mode.
        kubernetes: version of Kubernetes; empty if unknown.
    """
    if mode.kube_proxy is None or not mode.kube_proxy.dsr or not kubernetes:
        return {}
    return {"WinDSR": True} if Version.parse(kubernetes)[:2] < _DSR_BY_DEFAULT else {}


def reservation(mode: Mode, pod_cidr: str) -> tuple[str, str] | None:
    r"""Return the file that reserves kube-proxy's source address in host-local, or None if no reservation is needed.

    host-local stores each reserved address as a file whose name is the address (containernetworking/plugins,
    plugins/ipam/host-local/backend/disk/backend.go), in a folder with the network's name. host-local never assigns an
    address whose file exists, and removes a file only when the container named in the file is removed. This file
    names no container. It is in C:\var\lib\cni, which is on the disk, so the reservation survives a reboot. It is
    written before kube-proxy's configuration, because kube-proxy cannot start without its configuration.

    Args:
        mode: the network's mode.
        pod_cidr: the node's pod CIDR.

    Returns:
        Path and content of the file.

    Raises:
        ValueError: the pod CIDR is not a network, or too small for a Windows node.
    """
    if mode.kube_proxy is None or mode.kube_proxy.source_vip != "host-local":
        return None
    return f"{node_paths.HOST_LOCAL_ADDRESSES}\\{mode.hns_network}\\{source_vip(pod_cidr)}", RESERVATION
