# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Check kubespray's Calico variables, without a cluster, for values that Windows nodes do not support (no I/O).

A problem is reported only if the inventory sets one of the variables that cause it. kubespray's defaults suit Windows
nodes, except the default of strict affinity. The cluster's actual settings are checked in calico.py.

Source: kubernetes-sigs/kubespray v2.31.0, roles/network_plugin/calico_defaults/defaults/main.yml.
"""

from __future__ import annotations

import ipaddress
import types
import typing as t

from ansible.plugins.filter.core import to_bool

from ..pod_networks.catalogue import network as known_network
from ..values.versions import Version
from .variables import Problem

Ask: t.TypeAlias = t.Callable[[str], object]
"""Function that returns the value of the cluster variable with a given name, or an empty value if it is not set."""

_TEXTS: t.Mapping[str, tuple[str, str]] = types.MappingProxyType(
    {
        "calico_ipip_mode": ("Never", "Windows nodes do not support IP in IP."),
        "calico_datastore": ("kdd", "Calico on Windows works only with the Kubernetes API as its datastore."),
    }
)
_SWITCHES: t.Mapping[str, str] = types.MappingProxyType(
    {
        "calico_bpf_enabled": "Windows nodes do not support eBPF, and could not reach services in such a cluster.",
        "calico_wireguard_enabled": "Calico does not support WireGuard on Windows nodes.",
        "calico_ipam_host_local": "Calico on Windows needs its own IPAM.",
    }
)


def problems(values: t.Mapping[str, t.Any], ask: Ask) -> list[Problem]:
    """Return a problem for each of kubespray's Calico settings that Windows nodes do not support.

    Args:
        values: templated values of all role options that are set.
        ask: function that returns a variable of the cluster.
    """
    if values.get("cni_plugin") != "calico":
        return []
    sets_affinity = to_bool(values.get("cni_calico_set_strict_affinity", False))
    different = [
        Problem(name, value, f"expected {expected}", hint)
        for name, (expected, hint) in _TEXTS.items()
        if (value := ask(name)) not in ("", None, expected)
    ]
    different += [
        Problem(name, True, "expected false", f"{hint} Otherwise set cni_plugin: none on the Windows hosts.")
        for name, hint in _SWITCHES.items()
        if to_bool(ask(name) or False)
    ]
    affinity = ask("calico_ipam_strictaffinity")
    if affinity not in ("", None) and not to_bool(affinity) and not sets_affinity:
        hint = (
            "Linux nodes would otherwise use addresses in the blocks of Windows nodes. You can also let this "
            "collection set it after each run of kubespray, with cni_calico_set_strict_affinity: true."
        )
        different.append(Problem("calico_ipam_strictaffinity", False, "expected true", hint))
    return [*different, *_pool(values, ask), *_mtu(values, ask), *_encapsulation(ask), *_fixed(ask), *_version(ask)]


def _pool(values: t.Mapping[str, t.Any], ask: Ask) -> list[Problem]:
    """Return the problem if Calico's IP pool is outside the pod network that kube-proxy uses."""
    given, pods = str(ask("calico_pool_cidr") or ""), str(values.get("cni_pods_subnet") or "")
    try:
        pool, network = ipaddress.ip_network(given, strict=False), ipaddress.ip_network(pods, strict=False)
    except ValueError:
        return []  # not set, or another check rejects the value
    if pool.version == network.version and pool.subnet_of(network):  # type: ignore[arg-type]
        return []
    hint = "Calico gives pods addresses of its pool. Change one of the two networks."
    return [Problem("calico_pool_cidr", given, f"expected a network inside {pods} (kube_pods_subnet)", hint)]


def _mtu(values: t.Mapping[str, t.Any], ask: Ask) -> list[Problem]:
    """Return the problem if kubespray's pod MTU differs from cni_mtu.

    Source: FELIX_VXLANMTU in kubespray's calico-node.yml.j2.
    """
    name = "calico_veth_mtu" if number(ask("calico_veth_mtu")) else "calico_mtu"
    expected, given = number(values.get("cni_mtu")), number(ask(name))
    # kubespray uses neither of the two if calico_mtu is not set.
    if not expected or not given or given == expected or number(ask("calico_mtu")) is None:
        return []
    hint = "Pods on Linux nodes use this MTU. Change one of the two, or remove cni_mtu."
    return [Problem(name, given, f"expected {expected} (cni_mtu)", hint)]


def _encapsulation(ask: Ask) -> list[Problem]:
    backend, mode = ask("calico_network_backend"), ask("calico_vxlan_mode")
    if mode not in ("", None, "Always", "Never"):
        hint = "Windows nodes encapsulate all packets or none."
        return [Problem("calico_vxlan_mode", mode, "expected Always, or Never with BGP", hint)]
    if backend == "none":
        hint = "Set vxlan for VXLAN, or bird for BGP without encapsulation."
        return [Problem("calico_network_backend", backend, "expected vxlan or bird", hint)]
    # kubespray's default of calico_vxlan_mode is Always.
    if backend == "bird" and mode != "Never":
        hint = "With BGP, Calico on Windows supports no encapsulation. You can also set calico_network_backend: vxlan."
        return [Problem("calico_vxlan_mode", mode or "Always", "expected Never, because of BGP", hint)]
    if mode == "Never" and backend != "bird":
        hint = "Without encapsulation, only BGP provides routes between nodes. Otherwise set calico_vxlan_mode: Always."
        return [Problem("calico_network_backend", backend or "vxlan", "expected bird", hint)]
    return []


def _fixed(ask: Ask) -> list[Problem]:
    fixed = known_network("calico").mode("vxlan").fixed
    vni, port = number(ask("calico_vxlan_vni")), number(ask("calico_vxlan_port"))
    different = []
    if vni is not None and vni < fixed["vni"]:
        expected = f"expected {fixed['vni']} or more, which Windows needs"
        different.append(Problem("calico_vxlan_vni", vni, expected))
    if port is not None and port != fixed["port"]:
        expected = f"expected {fixed['port']}, the only port that Windows supports"
        different.append(Problem("calico_vxlan_port", port, expected))
    return different


def number(value: object) -> int | None:
    """Return the number that a value such as 1450 or "1450" represents, or None for any other value.

    Args:
        value: a variable of kubespray.
    """
    text = str(value)
    return int(text) if text.isascii() and text.isdigit() else None


def _version(ask: Ask) -> list[Problem]:
    text, known = str(ask("calico_version") or ""), known_network("calico")
    mode = "bgp" if ask("calico_network_backend") == "bird" else "vxlan"
    try:
        version = Version.parse(text)
        broken = known.broken_release(text, mode)
    except ValueError:
        return []  # not set; or a form that only kubespray understands
    if version < Version.parse(known.oldest_version):
        hint = "In earlier versions, pods on Windows nodes fail after 24 hours."
        return [Problem("calico_version", text, f"expected {known.oldest_version} or later", hint)]
    if broken is None:
        return []
    expected = f"expected another version with BGP, such as {known.working_release(text, mode)}"
    return [
        Problem("calico_version", text, expected, f"In this version, {broken.reason} on Windows ({broken.source}).")
    ]
