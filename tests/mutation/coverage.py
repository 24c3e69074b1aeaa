# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The test files that can notice a change of a file, in the order of their distance from the file."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import PurePosixPath

from mutation import imports
from mutation.imports import Module
from mutation.sources import Area

FOLDERS = frozenset({"roles", "playbooks"})
"""A test that reads YAML files of the collection names one of these folders."""
ELSEWHERE = 2
"""The imports that are added to the distance of a test outside of the folder that mirrors the file's folder."""
AFTER_UNIT_TESTS = 100
"""The distance of integration tests, which run last, and only if the area or `--tests` includes their folder."""
GENERAL = frozenset({"plugin", "util", "module", "action", "filter", "main", "task", "var", "default", "node", "test"})
"""Words in file names that are too general to relate a test file to a file."""
OWN_TESTS = "tests/unit/mutation/"
"""The folder of this package's own tests, which name roles and playbooks but do not read them."""
POWERSHELL_TESTS = "invoke_calls"
"""The module that contains the PowerShell code. The names of its test files contain this name."""


class Coverage:
    """Determines which test files reach a file.

    A test file reaches a Python file if it imports the file directly or indirectly. It reaches a YAML file if it reads
    roles or playbooks; test files that name the file's role or playbook come first. It reaches a PowerShell file if its
    name contains the name of the module.

    Args:
        texts: the texts of all Python and YAML files of the checkout, by path.
    """

    def __init__(self, texts: Mapping[str, str]) -> None:
        self._yaml = {path: text for path, text in texts.items() if path.endswith((".yml", ".j2"))}
        self.modules: dict[str, Module] = {
            path: imports.read(path, text)
            for path, text in texts.items()
            if path.endswith(".py") and path.startswith(("plugins/", "tests/"))
        }
        self._reached: dict[str, dict[str, int]] = {}
        self._words: dict[str, frozenset[str]] = {}
        self._callers: dict[str, set[str]] = {}

    def tests_of(self, path: str, area: Area, limit: int) -> list[str]:
        """Return at most `limit` test files of an area that reach a file, the nearest ones first.

        Args:
            path: the file that is changed.
            area: the area, which defines the folders of the tests.
            limit: the maximum number of test files.
        """
        ranked = []
        for test in self.modules:
            if is_test_of(test, area):
                distance = self._distance(test, path)
                if distance is not None:
                    # Tests in the mirroring folder are more likely to check the file than other tests that import it.
                    near = distance if is_mirrored(test, path) else distance + ELSEWHERE
                    ranked.append((not is_namesake(test, path), near, test))
        return [test for _namesake, _near, test in sorted(ranked)[:limit]]

    def _distance(self, test: str, path: str) -> int | None:
        if test.startswith("tests/integration/"):
            return AFTER_UNIT_TESTS if _shares_a_word(test, path) else None
        if path.endswith(".py"):
            found = self._reach(test).get(path)
            # Ansible loads these plugins, and no test imports them. The tests of roles use them.
            if found is None and path.startswith(("plugins/filter/", "plugins/lookup/")):
                found = self._yaml_distance(test, path)
            return 0 if found is None and is_namesake(test, path) else found
        if path.endswith((".yml", ".j2")):
            return self._yaml_distance(test, path)
        return 0 if POWERSHELL_TESTS in PurePosixPath(test).name else None

    def _yaml_distance(self, test: str, path: str) -> int | None:
        """Return 0 for a test that names the role or playbook, 1 for a test that names a user of it, otherwise 2.

        For a test that names neither roles nor playbooks, return None.
        """
        if test not in self._words:
            modules = (module for module in self._reach(test) if module.startswith("tests/unit/"))
            self._words[test] = frozenset[str]().union(*(self.modules[module].mentioned_words for module in modules))
        words = self._words[test]
        if not words & FOLDERS:
            return None
        if owner(path) in words:
            return 0
        if owner(path) not in self._callers:
            self._callers[owner(path)] = self._users(owner(path))
        return 1 if words & self._callers[owner(path)] else 2

    def _reach(self, test: str) -> dict[str, int]:
        if test not in self._reached:
            # The conftest.py in tests/ itself is left out, because all tests share it.
            folders = [str(folder) for folder in PurePosixPath(test).parents][:-2]
            conftests = [f"{folder}/conftest.py" for folder in folders if f"{folder}/conftest.py" in self.modules]
            self._reached[test] = imports.distances(test, self.modules, conftests)
        return self._reached[test]

    def _users(self, name: str) -> set[str]:
        """Return the roles and playbooks that use a role or playbook directly or indirectly."""
        names = {name}
        while True:
            word = re.compile(rf"(?<![\w-])(?:{'|'.join(map(re.escape, sorted(names)))})(?![\w-])")
            callers = (path for path in self._yaml if path.startswith("playbooks/") or "/tasks/" in path)
            more = {owner(path) for path in callers if word.search(self._yaml[path])}
            if more <= names:
                return names - {name}
            names |= more


def owner(path: str) -> str:
    """Return the name of a file's role or, for a playbook, the file's name."""
    parts = PurePosixPath(path).parts
    return parts[1] if parts[0] == "roles" else parts[-1]


def _shares_a_word(test: str, path: str) -> bool:
    """Return whether the name of a test file shares a word with the name of a file, its folder or its role."""
    place = PurePosixPath(path)
    return bool(
        _significant_words(PurePosixPath(test).stem)
        & _significant_words(f"{place.stem}_{place.parent.name}_{owner(path)}")
    )


def _significant_words(name: str) -> set[str]:
    found = {word.removesuffix("es") if word.endswith("ches") else word.removesuffix("s") for word in name.split("_")}
    return found - GENERAL - {""}


def is_test_of(path: str, area: Area) -> bool:
    """Return whether a file is a test file in the folders of an area.

    Args:
        path: the file.
        area: the area, which defines the folders of the tests.
    """
    is_inside = any(path.startswith(f"{folder}/") or path == folder for folder in area.tests)
    return is_inside and PurePosixPath(path).name.startswith("test_") and not path.startswith(OWN_TESTS)


def is_mirrored(test: str, path: str) -> bool:
    """Return whether a test is in the folder below tests/unit that mirrors a file's folder. All roles share one."""
    folder = PurePosixPath(path).parent
    if path.startswith(("roles/", "playbooks/")):
        folder = PurePosixPath("roles") if path.startswith("roles/") else PurePosixPath()
    return PurePosixPath(test).parent == PurePosixPath("tests/unit") / folder


def is_namesake(test: str, path: str) -> bool:
    """Return whether a test file has the usual name for a file, such as test_service.py for resources/service.py."""
    stem = PurePosixPath(path).stem.lstrip("_")
    folder = PurePosixPath(path).parent.name
    return PurePosixPath(test).stem in {f"test_{stem}", f"test_{folder}_{stem}", f"test_{owner(path)}"}


def texts_of(files: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return the files that show which files use other files."""
    return {
        path: text
        for path, text in files
        if path.endswith(".py") or (path.startswith(("roles/", "playbooks/")) and "/meta/" not in path)
    }
