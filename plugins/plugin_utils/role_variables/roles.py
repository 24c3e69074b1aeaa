# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Find the variables of a role, or of all roles."""

from __future__ import annotations

import functools
import types
import typing as t

from ..specification.variable import Variable, variables
from .cloudbase_init import CloudbaseInitVariables
from .cluster_support import ClusterSupportVariables
from .cni import CniVariables
from .container_runtime import ContainerRuntimeVariables
from .hns_cleanup import HnsCleanupVariables
from .image_cache import ImageCacheVariables
from .kubernetes_node import KubernetesNodeVariables
from .node_join import NodeJoinVariables
from .node_maintenance import NodeMaintenanceVariables
from .node_prepare import NodePrepareVariables
from .node_replace import NodeReplaceVariables
from .node_reset import NodeResetVariables
from .node_upgrade import NodeUpgradeVariables
from .sysprep import SysprepVariables
from .windows_features import WindowsFeaturesVariables
from .windows_patches import WindowsPatchesVariables
from .windows_settings import WindowsSettingsVariables

ROLES: t.Mapping[str, type[t.Any]] = types.MappingProxyType(
    {
        "cloudbase_init": CloudbaseInitVariables,
        "cluster_support": ClusterSupportVariables,
        "cni": CniVariables,
        "container_runtime": ContainerRuntimeVariables,
        "hns_cleanup": HnsCleanupVariables,
        "image_cache": ImageCacheVariables,
        "kubernetes_node": KubernetesNodeVariables,
        "node_join": NodeJoinVariables,
        "node_maintenance": NodeMaintenanceVariables,
        "node_prepare": NodePrepareVariables,
        "node_replace": NodeReplaceVariables,
        "node_reset": NodeResetVariables,
        "node_upgrade": NodeUpgradeVariables,
        "sysprep": SysprepVariables,
        "windows_features": WindowsFeaturesVariables,
        "windows_patches": WindowsPatchesVariables,
        "windows_settings": WindowsSettingsVariables,
    }
)
"""Maps the name of each role to the dataclass with the role's variables."""


@functools.cache
def of_role(role: str) -> t.Mapping[str, Variable]:
    """Return a mapping from the names of a role's variables to the variables.

    Args:
        role: name of a role of this collection.
    """
    return variables(ROLES[role], role)


@functools.cache
def by_name() -> t.Mapping[str, Variable]:
    """Return a mapping from the names of all roles' variables to the variables."""
    return types.MappingProxyType({name: one for role in ROLES for name, one in of_role(role).items()})


# Fill the caches at import, because Ansible's main process imports this module before it forks workers, which then
# share the caches.
by_name()
