# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The resources that a host would have with each cached version of a component.

A new machine may choose one of these versions at first boot. To get the resources of a version, the host's variables
are evaluated again with this version in place of the installed one. The result is what a playbook would produce.
"""

from __future__ import annotations

import typing as t

from ..engine.resource import Resource
from ..lifecycle.cached_versions import Parameter, VersionedComponent, VersionVariant, installs, not_installable
from ..pod_networks.catalogue import network
from ..resources.load import load
from ..values.errors import ResourceError
from ..values.versions import Version
from . import cni, container_runtime, image_cache, kubernetes_node
from .roles import of_role
from .services import DOCKER_RUNTIMES
from .variables import Variables

_ROLES = (container_runtime.ROLE, cni.ROLE, kubernetes_node.ROLE)


class SettableComponent(t.NamedTuple):
    """A component and the names of the variables that set its version; the component's own variable is first."""

    component: VersionedComponent
    variables: tuple[str, ...]


class Variants(t.NamedTuple):
    """A host's components, and the resources that the host would have with each cached version."""

    components: list[VersionedComponent]
    installed: list[Resource]
    """The host's resources with its configured versions."""
    variants: list[VersionVariant]
    refused: list[str]
    """One message for each cached version that cannot be installed."""


def variants(host: Variables, changed: t.Callable[[t.Mapping[str, str]], Variables]) -> Variants:
    """Return the resources that a host would have with each cached version of its components.

    Args:
        host: the host's variables.
        changed: function that returns the host's variables with new values for some of them.

    Returns:
        The components, the resources with the configured versions and with each of the other cached versions, and a
        message for each cached version that cannot be installed.

    Raises:
        ValueError: a variable is invalid.
    """
    installed = _resources(host)
    settable = [one for one in components(host) if installs(one.component, installed)]
    cached = _cached(host)
    listed: list[VersionVariant] = []
    refused: list[str] = []
    for component, names in settable:
        for version in cached.get(component.kind, []):
            if version == component.installed:
                continue
            try:
                resources = _resources(changed(dict.fromkeys(names, version)))
            except (ResourceError, ValueError) as error:
                refused.append(not_installable(component, version, error))
                continue
            if not installs(component, resources):
                refused.append(not_installable(component, version, "the node's variables do not install it"))
                continue
            listed.append(VersionVariant(component=component, version=version, resources=tuple(resources)))
    return Variants([one.component for one in settable], installed, listed, refused)


def components(host: Variables) -> list[SettableComponent]:
    """Return the components that the host's roles install, in the order of these roles.

    Args:
        host: the host's variables.
    """
    runtime = host.runtime if host.runtime in DOCKER_RUNTIMES else "containerd"
    programs = network(str(host.value("cni_plugin"))).programs
    named: list[tuple[str, str, Parameter, tuple[str, ...]]] = [
        (runtime, runtime, "Runtime", (f"{container_runtime.ROLE}_{runtime}_version", f"default_{runtime}_version")),
        *(
            (kind, one.title or kind, "Network", (f"{cni.ROLE}_{one.variables}_version",))
            for kind, one in programs.items()
        ),
        ("kubernetes", "Kubernetes", "Kubernetes", (f"{kubernetes_node.ROLE}_version", "kube_version")),
    ]
    prepares = [f"{role}_" for role in _prepares(host)]
    return [
        SettableComponent(
            VersionedComponent(
                kind=kind,
                title=title,
                parameter=parameter,
                installed=str(host.value(names[0])).removeprefix("v"),
            ),
            names,
        )
        for kind, title, parameter, names in named
        if names[0].startswith(tuple(prepares))
    ]


def _cached(host: Variables) -> dict[str, list[str]]:
    """Map each kind of artifact to the versions that the image_cache role stores in the cache, oldest first."""
    settings = host.read(image_cache.ArtifactCacheSettings, image_cache.ROLE)
    versions: dict[str, list[str]] = {}
    for one in image_cache.artifacts(settings, []):
        if one["type"] == "Artifact":
            versions.setdefault(one["kind"], []).append(one["version"])
    return {kind: sorted(set(own), key=_by_age) for kind, own in versions.items()}


def _by_age(version: str) -> tuple[t.Any, ...]:
    try:
        return 1, Version.parse(version)
    except ValueError:
        return 0, version


def _prepares(host: Variables) -> list[str]:
    prepares = host.optional("node_prepare_roles", _ROLES)
    return [role for role in _ROLES if role in prepares]


def _resources(host: Variables) -> list[Resource]:
    return load([one for role in _prepares(host) for one in of_role(role, host)])
