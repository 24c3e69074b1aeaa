# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Check whether the pod network works with the host's Kubernetes version, runtime and other variables (no I/O)."""

from __future__ import annotations

import typing as t

from ..node_resources.services import DOCKER_RUNTIMES
from ..pod_networks.catalogue import KnownNetwork, catalogue
from ..values.version_support import kubernetes_problems
from ..values.versions import Version
from .networks import parsed_networks
from .variables import Problem

_PLUGIN = "cni_plugin (from kube_network_plugin)"
_RUN_AS = "cni_run_as"
_SMALLEST_MTU = 576
"""The lowest MTU that is accepted. Every IPv4 host must accept packets of this size (RFC 791)."""


def problems(values: t.Mapping[str, t.Any]) -> list[Problem]:
    """Return the reasons why the host cannot use the selected network.

    Args:
        values: templated values of all role options that are set.
    """
    plugin = str(values.get("cni_plugin", ""))
    known = catalogue().get(plugin)
    if known is None:  # a value of the wrong type, or a play without the role cni
        return []
    runtime = str(values.get("container_runtime", "containerd"))
    docker = runtime in DOCKER_RUNTIMES
    unsupported = supported_versions(known, str(values.get("kubernetes_node_version") or ""), runtime)
    return [
        # With a supported runtime, another value of cni_run_as is expected.
        *(unsupported or _run_as(known, values, docker=docker)),
        *_policy(known, values),
        *_metadata_service(known, values),
        *_folders(known, values),
        *_subnets(values),
        *_mtu(values),
        *_daemon_sets(values),
    ]


def supported_versions(known: KnownNetwork, kubernetes: str, runtime: str) -> list[Problem]:
    """Return the problem if a network does not work with a version of Kubernetes or a container runtime.

    Args:
        known: the network.
        kubernetes: version of Kubernetes; empty if unknown.
        runtime: value of `container_runtime`.
    """
    try:
        # Another check rejects an unsupported version, unless users allow it.
        kubernetes = "" if kubernetes_problems(Version.parse(kubernetes)) else kubernetes
    except ValueError:
        kubernetes = ""  # unknown yet, or rejected by another check
    kind = "docker" if runtime in DOCKER_RUNTIMES else "containerd"
    expected = known.support_problem(kubernetes=kubernetes, windows="", runtime=kind)
    return [] if expected is None else [Problem(_PLUGIN, known.name, expected, known.supported.reason)]


def _run_as(known: KnownNetwork, values: t.Mapping[str, t.Any], *, docker: bool) -> list[Problem]:
    run_as = values.get("cni_run_as")
    if run_as is None or not known.is_managed:
        return []
    if run_as not in known.run_as:
        expected = f"expected {' or '.join(known.run_as)} with {known.title}"
        return [Problem(_RUN_AS, run_as, expected)]
    if docker and run_as != "service":
        hint = "The pods of the DaemonSets are HostProcess containers, which Docker cannot run."
        return [
            Problem(_RUN_AS, run_as, f"expected service with container_runtime: {values['container_runtime']}", hint)
        ]
    return []


def _metadata_service(known: KnownNetwork, values: t.Mapping[str, t.Any]) -> list[Problem]:
    """Return the problem if the instance metadata service must be blocked, but the pod network has no access lists."""
    if values.get("cni_block_imds") is not True or known.has_access_lists:
        return []
    expected = f"expected false with cni_plugin: {known.name}, whose CNI configuration another program writes"
    hint = "Block 169.254.169.254 with a network policy, such as Calico's GlobalNetworkPolicy."
    return [Problem("cni_block_imds", True, expected, hint)]


def _folders(known: KnownNetwork, values: t.Mapping[str, t.Any]) -> list[Problem]:
    """Return a problem for each CNI folder that is not on the drive that the pod network needs."""
    if not known.drive:
        return []
    expected = f"expected a folder on {known.drive} with cni_plugin: {known.name}"
    hint = f"{known.title}'s own files refer to folders on this drive."
    folders = {name: values.get(name) for name in ("cni_bin_dir", "cni_conf_dir")}
    return [
        Problem(name, path, expected, hint)
        for name, path in folders.items()
        # Other checks reject what is not a path.
        if isinstance(path, str) and path[1:2] == ":" and path[:2].upper() != known.drive
    ]


def _subnets(values: t.Mapping[str, t.Any]) -> list[Problem]:
    """Return a problem for each malformed entry of `cni_azure_vnet_subnets`."""
    given = values.get("cni_azure_vnet_subnets")
    networks = given if isinstance(given, list) else []  # another check rejects other values
    expected = "expected a network in CIDR notation such as 10.240.0.0/12"
    return [
        Problem(f"cni_azure_vnet_subnets[{number}]", one, expected)
        for number, one in enumerate(networks)
        if "/" not in str(one) or not parsed_networks(str(one))
    ]


def _policy(known: KnownNetwork, values: t.Mapping[str, t.Any]) -> list[Problem]:
    """Return the problem if the selected network policy engine does not work with the pod network."""
    engine = str(values.get("cni_network_policy") or "")
    # Another check rejects values that are not engines.
    if engine in known.policy or engine not in known.refused_policies:
        return []
    expected = f"expected {' or '.join([*known.policy, 'an empty value'])} with {known.title}"
    return [Problem("cni_network_policy", engine, expected, known.refused_policies[engine])]


def different_networks(hosts: t.Mapping[str, str]) -> list[Problem]:
    """Return the problem if the DaemonSets of different pod networks would run on the same nodes.

    The DaemonSets are applied once, for all hosts. flannel's DaemonSet has only one configuration, and runs on all
    nodes except those whose pod network runs as services.

    Args:
        hosts: maps each host whose node can run these DaemonSets to its pod network (`cni_plugin`, with the mode).
    """
    first: dict[str, str] = {}
    for host, network in hosts.items():
        first.setdefault(network, host)
    if len(first) < 2:
        return []
    shown = ", ".join(f"{network} ({host})" for network, host in first.items())
    hint = "Set cni_run_as: service on the hosts with the other networks, or use the same network on all hosts."
    expected = "expected one network for all hosts whose network runs as pods (cni_run_as: daemonset)"
    return [Problem("cni_plugin", shown, expected, hint)]


def _mtu(values: t.Mapping[str, t.Any]) -> list[Problem]:
    mtu = values.get("cni_mtu")
    if not isinstance(mtu, int) or isinstance(mtu, bool) or mtu == 0 or mtu >= _SMALLEST_MTU:
        return []  # another check rejects other values
    expected = f"expected at least {_SMALLEST_MTU}, or 0 for the network adapter's MTU minus the overlay's headers"
    return [Problem("cni_mtu", mtu, expected)]


def _daemon_sets(values: t.Mapping[str, t.Any]) -> list[Problem]:
    """Return a problem for each entry of `cni_linux_daemon_sets` that lacks a namespace or a name."""
    given = values.get("cni_linux_daemon_sets")
    patterns = given if isinstance(given, list) else []  # another check rejects other values
    expected = "expected NAMESPACE/NAME, such as monitoring/node-exporter or monitoring/*"
    return [
        Problem(f"cni_linux_daemon_sets[{number}]", one, expected)
        for number, one in enumerate(patterns)
        if isinstance(one, str) and not all(one.partition("/"))
    ]
