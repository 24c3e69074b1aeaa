# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Update the line map: run each new or changed test file once, and record what it does."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from mutation import imports
from mutation.imports import Module
from mutation.jobs import Job, Run
from mutation.linemap import LineMap, digest_of
from mutation.running import Server
from mutation.sources import AREAS

FILE = Path("build", "mutation", "lines.json")
NEAR = 2
"""A test file is recorded again if it reaches a new source over at most this number of imports."""
LIMIT = 900.0
"""The time limit for the recording of a test file in seconds."""
IMPORTED = ("plugins/plugin_utils/", "plugins/module_utils/", "tests/simulator/", "tests/wire_provider/")
"""The folders whose files are imported by most of their tests. Ansible loads other plugins by itself."""
HELPERS = ("tests/unit/", "tests/simulator_tests/", "tests/conftest.py")
"""The places of helpers. If a helper changes, the test files that import it are recorded again."""


def patterns() -> tuple[str, ...]:
    """Return the patterns of the Python files whose lines are recorded."""
    return tuple(pattern for area in AREAS.values() for pattern in area.files if pattern.endswith(".py"))


def keys(test_files: Iterable[str], texts: Mapping[str, str], modules: Mapping[str, Module]) -> dict[str, str]:
    """Return for each test file a text that changes if the test file must be recorded again.

    Args:
        test_files: the test files.
        texts: the texts of the checkout, by path.
        modules: the references of its Python files.
    """
    found = {}
    for test in test_files:
        reached = imports.distances(test, modules)
        own = [digest_of(texts[path]) for path in sorted(reached) if path.startswith(HELPERS)]
        near = [path for path in sorted(reached) if path.startswith("plugins/") and reached[path] <= NEAR]
        found[test] = digest_of("\n".join([*own, *near]))
    return found


def stale(line_map: LineMap, expected: Mapping[str, str]) -> list[str]:
    """Return the test files that must be recorded.

    Args:
        line_map: the line map.
        expected: the current keys of the test files.
    """
    return [test for test, key in expected.items() if test not in line_map.entries or line_map.entries[test].key != key]


def concerns(test_file: str, paths: Iterable[str], line_map: LineMap, modules: Mapping[str, Module]) -> bool:
    """Return whether a test file may notice a change of files: it has used them before, or it imports one of them.

    A test file that was never recorded may also load plugins, roles and playbooks through Ansible.

    Args:
        test_file: the test file.
        paths: the files.
        line_map: the line map.
        modules: the references of the Python files of the checkout.
    """
    entry = line_map.entries.get(test_file)
    expected = set(paths)
    if entry is None and not all(path.startswith(IMPORTED) for path in expected):
        return True
    if entry is not None and expected & (entry.lines.keys() | entry.read.keys()):
        return True
    return not expected.isdisjoint(imports.distances(test_file, modules))


def record(test_file: str, server: Server) -> Run:
    """Run a test file, and record what it does.

    Args:
        test_file: the test file.
        server: runs the tests.
    """
    return server.run(Job((test_file,), limit=LIMIT, record=patterns()))


def remark(run: Run) -> str:
    """Return a short description of a recording.

    Args:
        run: the run of a test file.
    """
    counts = f"{len(run.by_test)} tests, {run.seconds:.1f} s"
    if run.passed:
        return counts
    return f"{counts}; left out, because they fail without a mutant: {' '.join(run.failed) or run.output}"
