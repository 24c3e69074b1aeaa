# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Filters that turn a role's variables into what its resources hold."""

from __future__ import annotations

import ipaddress
import typing as t

from ansible.errors import AnsibleFilterError

from ..plugin_utils import containerd_config as containerd
from ..plugin_utils import kubeadm, proxies, registry_fixes, versions
from ..plugin_utils._link import plain
from ..plugin_utils.artifacts import locations
from ..plugin_utils.joining import names
from ..plugin_utils.resources import directory


def artifact(
    kind: str, version: str, *, cache_dir: str, sources: t.Mapping[str, t.Any] | None = None, **options: t.Any
) -> dict[str, t.Any]:
    """A resource of type Artifact for one version of a kind.

    The options are those of `locations.resource`; `sources` holds some of them, where a role gives them to many.
    """
    try:
        return locations.resource(kind, version, cache_dir=cache_dir, **plain({**(sources or {}), **options}))
    except (TypeError, ValueError) as error:
        raise AnsibleFilterError(str(error)) from error


def closed_folders(folders: list[str], **options: t.Any) -> list[dict[str, t.Any]]:
    """Resources for folders in which only SYSTEM and administrators write; the options are those of `closed`."""
    try:
        return directory.closed(plain(folders), **plain(options))
    except TypeError as error:
        raise AnsibleFilterError(str(error)) from error


def containerd_config(settings: t.Mapping[str, t.Any], version: str) -> str:
    """containerd's config.toml for a version."""
    try:
        return containerd.render(version, containerd.ContainerdSettings(**settings))
    except (TypeError, ValueError) as error:
        raise AnsibleFilterError(str(error)) from error


def no_proxy(given: str | list[str], *more: str | list[str] | None) -> str:
    """The addresses that a node reaches without its proxy."""
    return proxies.no_proxy(given, *more)


def registry_fixes_for(windows: list[str]) -> list[dict[str, t.Any]]:
    """Registry resources that turn Windows fixes on."""
    return registry_fixes.resources(windows)


def join_configuration(join: t.Mapping[str, t.Any], kubernetes_version: str) -> str:
    """kubeadm's JoinConfiguration for a version of Kubernetes."""
    try:
        values = {key: tuple(value) if isinstance(value, list) else value for key, value in plain(join).items()}
        return kubeadm.join_configuration(kubernetes_version, kubeadm.Join(**values))
    except (TypeError, ValueError) as error:
        raise AnsibleFilterError(str(error)) from error


def plain_version(version: t.Any) -> str:
    """A version without the leading `v` that some inventories write."""
    try:
        return str(versions.Version.parse(str(version)))
    except ValueError as error:
        raise AnsibleFilterError(str(error)) from error


def source_vip(pod_cidr: str) -> str:
    """The address of a node's pod CIDR that kube-proxy's overlay mode uses as its source: the last usable one.

    host-local hands addresses out from the first, and the first two belong to the gateway and the host's own endpoint.
    """
    try:
        network = ipaddress.ip_network(str(pod_cidr))
    except ValueError as error:
        raise AnsibleFilterError(f"pod CIDR {pod_cidr!r} is not a network: {error}") from error
    if network.num_addresses < 8:
        raise AnsibleFilterError(f"pod CIDR {pod_cidr} is too small for a Windows node; it needs a /29 or larger")
    return str(network.broadcast_address - 1)


def as_resources(names: list[str], resource_type: str, **properties: t.Any) -> list[dict[str, t.Any]]:
    """One resource of a type for each name, all with the same properties."""
    return [{"type": resource_type, "name": name, **properties} for name in names]


def node_name_problems(
    hosts: list[str],
    *,
    given: t.Sequence[t.Sequence[str]],
    addresses: list[str],
    facts: list[t.Mapping[str, t.Any]],
    nodes: t.Mapping[str, t.Mapping[str, t.Any]],
) -> dict[str, str]:
    """Why hosts may not be called in the cluster what they say, by host; the lists are parallel."""
    claims = []
    for host, own, address, fact in zip(plain(hosts), plain(given), plain(addresses), plain(facts), strict=True):
        name, joined = str(fact.get("node_name") or ""), bool(fact.get("joined"))
        inventory = next((str(one) for one in own if one), "")
        # What a role or play names is not in a host's own variables.
        named = inventory if not fact else "" if fact.get("self_named") else name
        claims.append(names.Claim(host=host, given=named, name=name, address=str(address or host), joined=joined))
    return names.problems(claims, plain(nodes))


class FilterModule:
    """The collection's filters."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        return {
            "artifact": artifact,
            "closed_folders": closed_folders,
            "containerd_config": containerd_config,
            "no_proxy": no_proxy,
            "registry_fixes": registry_fixes_for,
            "join_configuration": join_configuration,
            "plain_version": plain_version,
            "source_vip": source_vip,
            "as_resources": as_resources,
            "node_name_problems": node_name_problems,
        }
