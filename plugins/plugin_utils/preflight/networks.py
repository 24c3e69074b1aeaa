# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Check the pod and service networks in a host's variables (no I/O)."""

from __future__ import annotations

import contextlib
import ipaddress
import typing as t

from ..pod_networks.catalogue import catalogue
from .variables import Problem, Role

_Network = ipaddress.IPv4Network | ipaddress.IPv6Network

NETWORKS = ("cni_pods_subnet", "cni_services_subnet")


def networks_given(
    variables: t.Mapping[str, object], known_roles: t.Sequence[Role], ask: t.Callable[[str], object]
) -> set[str]:
    """Return the names of the network variables that the inventory defines.

    If the inventory does not define a network variable, the network is read from the cluster later.

    Args:
        variables: all variables of a host, not templated.
        known_roles: the roles.
        ask: function that returns a variable of the cluster, or an empty value if the variable is not defined.
    """
    given = set()
    for role in known_roles:
        for name in (name for name in NETWORKS if name in role.defaults and name in variables):
            if variables[name] != role.defaults[name] or (name in role.sources and ask(role.sources[name])):
                given.add(name)
    return given


def network_problems(
    values: t.Mapping[str, t.Any],
    known_roles: t.Sequence[Role],
    given: t.Collection[str] = NETWORKS,
    address: str = "",
) -> list[Problem]:
    """Return problems with pod and service networks that are malformed, overlap, or contain the node's address.

    Args:
        values: templated values of all role options that are set.
        known_roles: the roles, which show where a value comes from.
        given: names of the variables whose networks are already known. Overlaps of the other networks are not checked,
            because their values are only defaults.
        address: the address or name at which Ansible reaches the node.
    """
    sources = {name: f" (from {source})" for role in known_roles for name, source in role.sources.items()}
    parsed: dict[str, list[_Network]] = {}
    problems = []
    for name in (name for name in NETWORKS if name in values):
        try:
            parsed[name] = [_network(part.strip()) for part in str(values[name]).split(",")]
        except ValueError:
            expected = f"expected a network in CIDR notation{_nearest(str(values[name]))}"
            problems.append(Problem(name + sources.get(name, ""), str(values[name]), expected))
    pods, services = (parsed.get(name, []) if name in given else [] for name in NETWORKS)
    return problems + overlaps(str(values.get("cni_plugin", "")), pods, services, address)


def parsed_networks(text: str) -> list[_Network]:
    """Return the networks in a string such as `10.244.0.0/16,fd00::/56`; malformed networks are left out.

    Args:
        text: networks in CIDR notation, separated by commas.
    """
    networks = []
    for part in text.split(","):
        with contextlib.suppress(ValueError):
            networks.append(_network(part.strip()))
    return networks


def overlaps(plugin: str, pods: t.Sequence[_Network], services: t.Sequence[_Network], address: str) -> list[Problem]:
    """Return the problems if the pod, service and node networks overlap.

    Args:
        plugin: value of `cni_plugin`. If another tool installs the pod network, nothing is checked.
        pods: pod networks, as far as they are known.
        services: service networks, as far as they are known.
        address: the address or name at which Ansible reaches the node. A name is not checked.
    """
    known = catalogue().get(plugin)
    if known is not None and not known.is_managed:
        return []
    problems = []
    if any(one.overlaps(other) for one in pods for other in services):
        both = f"{_joined(pods)} and {_joined(services)}"
        problems.append(Problem(", ".join(NETWORKS), both, "expected networks that do not overlap"))
    in_nodes = known is not None and known.pods_in_node_network
    for name, what, networks in (
        (NETWORKS[0], "the pods", () if in_nodes else pods),
        (NETWORKS[1], "the services", services),
    ):
        around = [network for network in networks if _contains(network, address)]
        if around:
            expected = f"expected an address outside the network of {what}, {_joined(around)} ({name})"
            hint = "The node could not reach other machines of its own network. Choose another network in the cluster."
            problems.append(Problem("ansible_host", address, expected, hint))
    return problems


def _joined(networks: t.Sequence[_Network]) -> str:
    return ",".join(map(str, networks))


def _contains(network: _Network, address: str) -> bool:
    try:
        return ipaddress.ip_address(address) in network
    except ValueError:
        return False


def _network(text: str) -> _Network:
    """Parse a network in CIDR notation.

    Raises:
        ValueError: the text is malformed or has no prefix length. Without a prefix length, Python would read an address
            as a network that consists of this single address.
    """
    if "/" not in text:
        raise ValueError(text)
    return ipaddress.ip_network(text)


def _nearest(text: str) -> str:
    """Return an example of a valid network for a message, derived from the text if possible."""
    example: object = "10.244.0.0/16"
    if "/" in text:
        with contextlib.suppress(ValueError):
            example = ipaddress.ip_network(text.strip(), strict=False)
    return f" such as {example}"
