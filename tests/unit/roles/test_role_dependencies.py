# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Roles only read variables of earlier roles."""

from __future__ import annotations

import re
import typing as t
from pathlib import Path

ORDER = (
    "hns_cleanup",
    "kubernetes_node",
    "windows_features",
    "windows_patches",
    "windows_settings",
    "container_runtime",
    "cni",
    "cloudbase_init",
    "image_cache",
    "sysprep",
    "node_prepare",
    "node_maintenance",
    "node_join",
    "node_reset",
    "node_upgrade",
    "node_replace",
    "cluster_support",
)
"""The order in docs/architecture.md. A role may read its own variables and those of the roles before it."""
DECIDING = {
    "calico": "cni",
    "cluster_support": "cluster_support",
    "cni": "cni",
    "kubeadm_join": "node_join",
    "live_nodes": "node_join",
    "network_pods": "cni",
    "node_join": "node_join",
    "node_maintenance": "node_maintenance",
    "node_names": "node_join",
    "node_prepare": "node_prepare",
    "node_replace": "node_replace",
    "node_reset": "node_reset",
    "node_upgrade": "node_upgrade",
    # Also the decisions of kubernetes_node and container_runtime, which read only variables that all roles share.
    "runtimes": "image_cache",
    "windows_patches": "windows_patches",
    "windows_settings": "windows_settings",
}
"""The role of each module of the package role_decisions."""
SHARED = re.compile(r"^(winkube_\w+):", re.MULTILINE)


def texts(role: Path) -> t.Iterator[tuple[Path, str]]:
    """Yield the YAML files and templates of a role without comments. Argument specifications are only descriptions."""
    for path in sorted([*role.rglob("*.yml"), *role.rglob("*.j2")]):
        if path.name != "argument_specs.yml":
            yield path, re.sub(r"^\s*#.*$", "", path.read_text("utf-8"), flags=re.MULTILINE)


def owner(name: str, roles: t.Iterable[str]) -> str | None:
    """Return the role whose prefix a variable's name has; None if there is no such role."""
    return next((role for role in sorted(roles, key=len, reverse=True) if name.startswith(f"{role}_")), None)


def references(role: Path, roles: t.Collection[str]) -> t.Iterator[tuple[str, str]]:
    """Yield the variables of other roles that a role reads, with their roles."""
    for _path, text in texts(role):
        for name in re.findall(r"\b[a-z][a-z0-9_]+\b", text):
            other = owner(name, roles)
            if other not in (None, role.name):
                yield name, other


def test_the_order_names_every_role(repository: Path) -> None:
    assert sorted(ORDER) == sorted(path.name for path in (repository / "roles").iterdir())
    listed = re.findall(r"^\d+\. `(\w+)`", (repository / "docs" / "architecture.md").read_text("utf-8"), re.MULTILINE)
    assert tuple(listed) == ORDER


def test_a_role_reads_variables_of_earlier_roles_only(repository: Path) -> None:
    wrong = {
        (role, name)
        for index, role in enumerate(ORDER)
        for name, other in references(repository / "roles" / role, ORDER)
        if other not in ORDER[:index]
    }
    assert wrong == set()


def test_decisions_read_variables_of_earlier_roles_only(repository: Path) -> None:
    folder = repository / "plugins" / "plugin_utils" / "role_decisions"
    assert sorted(DECIDING) == sorted(
        path.stem for path in folder.glob("*.py") if path.stem not in ("__init__", "table")
    )
    wrong = {
        (module, name)
        for module, role in DECIDING.items()
        for name in re.findall(r'"(\w+)"', (folder / f"{module}.py").read_text("utf-8"))
        if owner(name, ORDER) not in (None, *ORDER[: ORDER.index(role) + 1])
    }
    assert wrong == set()


def test_shared_variables_have_one_role_that_sets_them(repository: Path) -> None:
    setters: dict[str, list[str]] = {}
    for role in ORDER:
        for path, text in texts(repository / "roles" / role):
            if path.parts[-2] in ("vars", "defaults"):
                for name in SHARED.findall(text):
                    setters.setdefault(name, []).append(role)
    assert setters
    assert {name: roles for name, roles in setters.items() if len(roles) > 1} == {}
