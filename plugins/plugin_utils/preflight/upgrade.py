# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Check the variables of upgrades before any node is touched (no I/O)."""

from __future__ import annotations

import typing as t

from ..specification.convert import is_true
from ..values.versions import EXPECTED, Version
from .variables import Problem


def problems(values: t.Mapping[str, t.Any]) -> list[Problem]:
    """Return problems with the variables of the node_upgrade role. Values of the wrong type are left to other checks.

    Args:
        values: templated values of all role options that are set.
    """
    return [*_versions(values), *_roles(values), *_patches(values)]


def _listed(values: t.Mapping[str, t.Any], name: str) -> list[t.Any]:
    value = values.get(name)
    return list(value) if isinstance(value, (list, tuple)) else []


def _versions(values: t.Mapping[str, t.Any]) -> t.Iterator[Problem]:
    for number, version in enumerate(_listed(values, "node_upgrade_versions")):
        try:
            Version.parse(str(version))
        except ValueError:
            yield Problem(f"node_upgrade_versions[{number}]", version, EXPECTED)


def _roles(values: t.Mapping[str, t.Any]) -> t.Iterator[Problem]:
    roles = _listed(values, "node_upgrade_roles")
    if roles and "kubernetes_node" not in roles:
        hint = "Every upgrade restarts the kubelet. To upgrade only the container runtime, leave kube_version as it is."
        yield Problem("node_upgrade_roles", ", ".join(map(str, roles)), "expected a list with kubernetes_node", hint)


def _patches(values: t.Mapping[str, t.Any]) -> t.Iterator[Problem]:
    lists = ("windows_patches_public", "windows_patches_private")
    if is_true(values.get("node_upgrade_patches")) and not any(values.get(name) for name in lists):
        hint = "windows_patches_public (KB numbers) and windows_patches_private (files) are both empty."
        yield Problem("node_upgrade_patches", True, "expected at least one patch with node_upgrade_patches: true", hint)
