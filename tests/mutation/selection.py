# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The tests that run for a mutant: fast tests before slow ones, and then the most likely to notice the mutant first.

For a Python file, these are the tests that run the line. If the line runs when its module is loaded, they are also the
tests that run a line with a name that the statement defines. The other tests in the file's own test file follow,
because the result of a cached function is used in more tests than the one that runs the function. For YAML files and
templates, these are the tests that open the file, and then the other tests in their test files.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import cached_property

from mutation import coverage, places
from mutation.linemap import LineMap
from mutation.mutants import Mutant
from mutation.places import Place
from mutation.sources import Area

FAST = 1.0
"""Tests that take at most this number of seconds come first."""
LOADING = 0.3
"""The seconds that it takes to load a test file."""
STEPS = 3
"""The number of steps in which names are followed from one definition to the next."""
_WORD = re.compile(r"[A-Za-z_]\w*")


class Selection:
    """Chooses tests by the line map.

    Args:
        line_map: which test runs which lines.
        texts: the texts of the checkout, by path.
        budget: the maximum total of the chosen tests' seconds. At least one test is chosen.
    """

    def __init__(self, line_map: LineMap, texts: Mapping[str, str], budget: float) -> None:
        self._map, self._texts, self._budget = line_map, texts, budget
        self._trees: dict[str, ast.Module] = {}

    def tests_of(self, mutant: Mutant, area: Area) -> list[str]:
        """Return the ids of the tests that run for a mutant.

        Args:
            mutant: the change.
            area: the area, which defines the folders of the tests.
        """
        files = [test for test in self._map.entries if coverage.is_test_of(test, area)]
        is_python = mutant.path.endswith(".py")
        chosen = self._by_line(mutant, files) if is_python else self._by_file(mutant.path, files)
        return self._within_budget(self._ordered(chosen, mutant.path))

    def _by_line(self, mutant: Mutant, files: list[str]) -> dict[str, dict[str, int]]:
        """Return the tests that may notice a change, by test file, with their ranks; 0 is the most likely."""
        place = self._place(mutant.path, mutant.line)
        chosen: dict[str, dict[str, int]] = defaultdict(dict)
        is_loaded = False
        for file in files:
            tests, loading = self._map.running(file, mutant.path, place.lines, self._texts[mutant.path])
            is_loaded = is_loaded or loading
            chosen[file].update(dict.fromkeys(tests, 0))
        if is_loaded:
            for path, lines in self._mentions(place, mutant.path).items():
                for file in files:
                    tests, _loading = self._map.running(file, path, lines, self._texts[path])
                    for test in tests:
                        chosen[file].setdefault(test, 0)
        for file in files:
            is_near = coverage.is_namesake(file, mutant.path) or (is_loaded and coverage.is_mirrored(file, mutant.path))
            if is_near and (chosen[file] or mutant.path in self._map.entries[file].lines):
                for test in self._map.entries[file].tests:
                    chosen[file].setdefault(test, 1)
        return chosen

    def _by_file(self, path: str, files: list[str]) -> dict[str, dict[str, int]]:
        chosen: dict[str, dict[str, int]] = {}
        for file in files:
            entry = self._map.entries[file]
            if path in entry.read:
                readers = {test for number, test in enumerate(entry.tests) if number in entry.read[path]}
                chosen[file] = {test: 0 if test in readers else 1 for test in entry.tests}
        return chosen

    def _ordered(self, chosen: Mapping[str, Mapping[str, int]], path: str) -> list[tuple[str, float]]:
        ranked = []
        for file, tests in chosen.items():
            near = (not coverage.is_namesake(file, path), not coverage.is_mirrored(file, path))
            times = self._map.entries[file].tests
            total = sum(times[test] for test in tests)
            for number, (test, rank) in enumerate(tests.items()):
                ranked.append((times[test] > FAST, rank, *near, total, file, number, test))
        return [(test, self._map.entries[file].tests[test]) for *_order, file, _number, test in sorted(ranked)]

    def _within_budget(self, tests: list[tuple[str, float]]) -> list[str]:
        kept: list[str] = []
        files: set[str] = set()
        spent = 0.0
        for test, seconds in tests:
            file = test.split("::")[0]
            spent += seconds + (0 if file in files else LOADING)
            if kept and spent > self._budget:
                break
            kept.append(test)
            files.add(file)
        return kept

    def _place(self, path: str, line: int) -> Place:
        if path not in self._trees:
            self._trees[path] = ast.parse(self._texts[path])
        return places.place_of(self._trees[path], line)

    def _mentions(self, place: Place, path: str) -> dict[str, set[int]]:
        """Return the lines that use the names of a statement, directly or through definitions in other modules."""
        found: dict[str, set[int]] = defaultdict(set)
        names, known = set(place.names), set(place.names)
        for _step in range(STEPS):
            more: set[str] = set()
            for name in names:
                for user, line in self._lines_by_word.get(name, ()):
                    if line not in found[user]:
                        found[user].add(line)
                        if self._runs_on_loading(user, line):
                            more |= self._place(user, line).names
            names = more - known
            known |= names
        return found

    def _runs_on_loading(self, path: str, line: int) -> bool:
        entries = self._map.entries.items()
        file = next((test for test, entry in entries if path in entry.lines), None)
        return bool(file and self._map.running(file, path, [line], self._texts[path])[1])

    @cached_property
    def _lines_by_word(self) -> Mapping[str, list[tuple[str, int]]]:
        found: dict[str, list[tuple[str, int]]] = defaultdict(list)
        for path, number, line in self._source_lines():
            for word in set(_WORD.findall(line)):
                found[word].append((path, number))
        return found

    def _source_lines(self) -> Iterator[tuple[str, int, str]]:
        mapped = {path for entry in self._map.entries.values() for path in entry.lines if path in self._texts}
        for path in sorted(mapped):
            for number, line in enumerate(self._texts[path].splitlines(), start=1):
                yield path, number, line
