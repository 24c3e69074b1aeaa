# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The files that are mutated, by area, and how their mutants are found."""

from __future__ import annotations

import ast
import fnmatch
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import PurePosixPath

import yaml

from mutation import powershell_mutants, python_mutants, template_mutants, yaml_mutants
from mutation.mutants import Mutant

Find = Callable[[str, str], list[Mutant]]


@dataclass(frozen=True)
class Area:
    """A part of the checkout.

    Attributes:
        name: its name on the command line and in the report.
        files: patterns of its files; `*` also stands for slashes.
        tests: the folders whose test files may notice a mutant.
        without: patterns of files that are left out.
    """

    name: str
    files: tuple[str, ...]
    tests: tuple[str, ...]
    without: tuple[str, ...] = ()

    def holds(self, path: str) -> bool:
        """Return whether a file is part of this area."""
        return _matches(path, self.files) and not _matches(path, self.without)


def _matches(path: str, patterns: Iterable[str]) -> bool:
    return any(fnmatch.fnmatchcase(path, pattern) for pattern in patterns)


# plugins/modules/NAME.py of an action contains only a docstring. Fragments of documentation are not code.
PYTHON = Area("python", ("plugins/*.py",), ("tests/unit",), ("plugins/doc_fragments/*",))
YAML = Area(
    "yaml",
    (
        "playbooks/*.yml",
        "roles/*/defaults/*.yml",
        "roles/*/tasks/*.yml",
        "roles/*/vars/*.yml",
    ),
    ("tests/unit",),
)
WIRE = Area(
    "wire",
    ("plugins/plugin_utils/wire/*.py", "tests/wire_provider/*.py"),
    ("tests/unit/plugins/plugin_utils", "tests/simulator_tests/machine", "tests/simulator_tests/wire"),
)
POWERSHELL = Area(
    "powershell", ("plugins/modules/*.ps1", "plugins/module_utils/*.psm1"), ("tests/unit/plugins/modules",)
)
AREAS = {area.name: area for area in (PYTHON, YAML, WIRE, POWERSHELL)}
_FINDERS: dict[str, Find] = {
    ".py": python_mutants.find,
    ".yml": yaml_mutants.find,
    ".j2": template_mutants.find,
    ".ps1": powershell_mutants.find,
    ".psm1": powershell_mutants.find,
}
SUFFIXES = tuple(_FINDERS)


def find(path: str, text: str) -> list[Mutant]:
    """Return all mutants of a file, by the rules of its language.

    Args:
        path: the path of the file in the mutants.
        text: its text.
    """
    return _FINDERS[PurePosixPath(path).suffix](path, text)


def differs(mutant: Mutant, text: str) -> bool:
    """Return whether a mutant can be parsed, and differs from the original in more than its form.

    Args:
        mutant: the change.
        text: the text of its file.
    """
    changed = mutant.apply(text)
    suffix = PurePosixPath(mutant.path).suffix
    try:
        if suffix == ".py":
            return ast.dump(ast.parse(changed)) != ast.dump(ast.parse(text))
        if suffix == ".yml":
            return repr(list(yaml.safe_load_all(changed))) != repr(list(yaml.safe_load_all(text)))
    except (SyntaxError, yaml.YAMLError):
        return False
    return changed != text
