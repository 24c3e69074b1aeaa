# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The resources of each role."""

from __future__ import annotations

import types
import typing as t

from ..role_variables.windows_features import WindowsFeaturesVariables
from . import (
    cloudbase_init,
    cni,
    container_runtime,
    image_cache,
    kubernetes_node,
    node_join,
    node_reset,
    windows_features,
    windows_settings,
)
from .downloads import ResourceMapping
from .variables import Variables


def of_role(role: str, variables: Variables) -> list[ResourceMapping]:
    """Return the resources of a role for a host.

    Args:
        role: name of the role, without the name of the collection.
        variables: the host's variables.

    Returns:
        The resources, in the order in which they are applied.

    Raises:
        ValueError: the role has no resources, or a variable is invalid.
    """
    if role not in ROLES:
        raise ValueError(f"role: expected one of {', '.join(ROLES)}, got {role!r}")
    return ROLES[role](variables)


def _image_cache(variables: Variables) -> list[ResourceMapping]:
    settings = variables.read(image_cache.ArtifactCacheSettings, image_cache.ROLE)
    images = variables.read(image_cache.ImageSettings, image_cache.ROLE)
    installed = _installed(variables) if settings.prune_artifacts else []
    return [*image_cache.artifacts(settings, installed), *image_cache.images(images, settings.downloads)]


def _installed(variables: Variables) -> list[str]:
    """Return the paths of the cached files that roles other than image_cache install.

    A role is included if the host has the role's variables, even if the play does not apply the role.
    """
    paths: list[str] = []
    for role in (container_runtime.ROLE, cni.ROLE, kubernetes_node.ROLE, cloudbase_init.ROLE):
        if variables.optional(f"{role}_artifact_cache"):
            paths += [one["path"] for one in of_role(role, variables) if one["type"] == "Artifact"]
    return paths


ROLES: t.Mapping[str, t.Callable[[Variables], list[ResourceMapping]]] = types.MappingProxyType(
    {
        windows_settings.ROLE: lambda variables: windows_settings.resources(
            variables.read(windows_settings.WindowsSettings, windows_settings.ROLE)
        ),
        windows_features.ROLE: lambda variables: windows_features.resources(
            variables.read(WindowsFeaturesVariables, windows_features.ROLE)
        ),
        container_runtime.ROLE: container_runtime.of_host,
        cni.ROLE: lambda variables: cni.resources(variables.read(cni.CniSettings, cni.ROLE)),
        kubernetes_node.ROLE: lambda variables: kubernetes_node.resources(
            variables.read(kubernetes_node.KubernetesSettings, kubernetes_node.ROLE)
        ),
        image_cache.ROLE: _image_cache,
        cloudbase_init.ROLE: cloudbase_init.of_host,
        node_join.ROLE: lambda variables: node_join.resources(variables.read(node_join.JoinedNode, node_join.ROLE)),
        node_reset.ROLE: lambda variables: node_reset.resources(
            variables.read(node_reset.ResetMachine, node_reset.ROLE)
        ),
    }
)
"""Maps the name of each role to the function that builds the role's resources."""
