# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The resources of roles with their own defaults, and what the cache keeps of the other roles' artifacts."""

from __future__ import annotations

import typing as t

import pytest
from unit.roles.templates import templar

from ansible_collections.winkube.node.plugins.plugin_utils.node_resources.roles import ROLES, of_role
from ansible_collections.winkube.node.plugins.plugin_utils.node_resources.variables import Variables
from ansible_collections.winkube.node.plugins.plugin_utils.resources.load import load

INSTALLING = ("container_runtime", "cni", "kubernetes_node")
BUILDING = {"winkube_builds_image": True, "cloudbase_init_enabled": True, "cloudbase_init_platform": "nocloud"}
"""Without these, the role cloudbase_init has no resources."""
HOST = {"groups": {}, "hostvars": {}, "inventory_hostname": "win1", "kube_version": "1.36.3"}


def host(*roles: str, **more: t.Any) -> Variables:
    found = templar(roles, {**HOST, **more})
    return Variables(found.available_variables, found.template)


# These also use the variables of the roles that prepare a node.
_OF_SEVERAL = ("node_join", "node_reset")


@pytest.mark.parametrize("role", [role for role in ROLES if role not in _OF_SEVERAL])
def test_the_defaults_of_each_role_are_resources(role: str) -> None:
    assert load(of_role(role, host(role, **BUILDING)))


def test_a_role_without_resources_is_refused() -> None:
    with pytest.raises(ValueError, match=r"role: expected one of windows_settings, .*, got 'sysprep'"):
        of_role("sysprep", host("sysprep"))


@pytest.mark.parametrize(
    ("runtime", "kinds"), [("containerd", {"containerd"}), ("moby", {"moby", "cri-dockerd", "nssm"})]
)
def test_artifacts_of_other_roles_stay_in_a_pruned_cache(runtime: str, kinds: set[str]) -> None:
    known = host("image_cache", *INSTALLING, image_cache_prune_artifacts=True, container_runtime=runtime)
    (pruned,) = [one for one in of_role("image_cache", known) if one["type"] == "ArtifactCache"]
    installed = [one for role in INSTALLING for one in of_role(role, known) if one["type"] == "Artifact"]
    assert pruned["keep"] == [one["path"] for one in installed]
    assert kinds | {"kubernetes", "cni-plugins", "crictl"} <= {one["kind"] for one in installed}
    # A play that only uses the role image_cache installs nothing else.
    (alone,) = [
        one
        for one in of_role("image_cache", host("image_cache", image_cache_prune_artifacts=True))
        if one["type"] == "ArtifactCache"
    ]
    assert alone["keep"] == []
