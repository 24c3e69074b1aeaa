# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The packages of plugins/plugin_utils import each other in one direction: the order in docs/architecture.md."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
PLUGINS = REPOSITORY / "plugins"
UTILS = PLUGINS / "plugin_utils"
ORDER = re.findall(
    r"^\| `(\w+)` \|",
    (REPOSITORY / "docs/architecture.md").read_text(encoding="utf-8").split("## Packages")[1].split("\n## ")[0],
    re.MULTILINE,
)
LONGEST_ACTION = 110
LONGEST_MODULE = 350
"""Modules contain their documentation, unless it is in a sidecar file."""


def imported(path: Path) -> Iterator[tuple[str, ...]]:
    """Yield the relative imports of a file, as parts of the path in plugins."""
    package = path.relative_to(PLUGINS).parts[:-1]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.level:
            base = (*package[: len(package) - node.level + 1], *filter(None, (node.module or "").split(".")))
            for alias in node.names:
                yield (*base, alias.name)


def test_the_page_names_every_package() -> None:
    packages = {path.name for path in UTILS.iterdir() if path.is_dir() and path.name not in ("data", "__pycache__")}
    assert sorted(ORDER) == sorted(packages)


def test_plugin_utils_holds_packages_only() -> None:
    assert [path.name for path in UTILS.iterdir() if path.suffix == ".py"] == []


@pytest.mark.parametrize(
    "package", sorted(path.parent for path in UTILS.rglob("__init__.py")), ids=lambda path: path.name
)
def test_a_package_states_its_purpose_and_the_file_to_read_first(package: Path) -> None:
    text = ast.get_docstring(ast.parse((package / "__init__.py").read_text(encoding="utf-8")))
    assert text
    files = re.findall(r"[\w/]+\.py", text)
    assert any((package / file).is_file() for file in files)
    assert [file for file in files if not (package / file).is_file() and not (REPOSITORY / file).is_file()] == []


@pytest.mark.parametrize("package", ORDER)
def test_a_package_imports_only_packages_below_it(package: str) -> None:
    below = ORDER[ORDER.index(package) :]
    wrong = [
        f"{path.relative_to(UTILS)} imports {'.'.join(parts[1:])}"
        for path in (UTILS / package).rglob("*.py")
        for parts in imported(path)
        if parts[0] == "plugin_utils" and parts[1] not in below
    ]
    assert wrong == []


def test_a_private_module_is_imported_by_its_own_package_only() -> None:
    wrong = []
    for path in PLUGINS.rglob("*.py"):
        package = path.relative_to(PLUGINS).parts[:-1]
        for parts in imported(path):
            private = [number for number, part in enumerate(parts) if part.startswith("_")]
            if private and parts[: private[0]] != package:
                wrong.append(f"{path.relative_to(PLUGINS)} imports {'.'.join(parts)}")
    assert wrong == []


def test_actions_and_modules_stay_thin() -> None:
    for folder, longest in (("action", LONGEST_ACTION), ("modules", LONGEST_MODULE)):
        for path in (PLUGINS / folder).glob("*.py"):
            lines = len(path.read_text(encoding="utf-8").splitlines())
            assert lines <= longest, f"{path.name}: expected at most {longest} lines, got {lines}"
