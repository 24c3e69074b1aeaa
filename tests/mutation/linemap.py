# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The line map: which test runs which lines, and reads which files.

The map stays valid while files change: it stores each source as it was when its lines were recorded, and finds the
current lines in it. Only test files that have changed are recorded again (see `mapping`).
"""

from __future__ import annotations

import difflib
import hashlib
import json
import os
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from mutation.jobs import Run

VERSION = 1


@dataclass
class Entry:
    """The recording of one test file.

    Attributes:
        key: a text that changes if the file must be recorded again.
        tests: the seconds of each test that passed.
        sources: the hash of each source at the time of the recording, by path.
        lines: by path, for each line the numbers of the tests that ran it; -1 stands for the loading of the test file.
        read: by path of an opened file, the numbers of the tests that opened it.
    """

    key: str
    tests: dict[str, float] = field(default_factory=dict)
    sources: dict[str, str] = field(default_factory=dict)
    lines: dict[str, dict[int, list[int]]] = field(default_factory=dict)
    read: dict[str, list[int]] = field(default_factory=dict)


LOADING = -1
"""The number that stands for the loading of a test file."""


class LineMap:
    """The entries of all test files, and the sources at the time of the recordings.

    Args:
        entries: by test file.
        texts: the sources by their hash.
    """

    def __init__(self, entries: dict[str, Entry] | None = None, texts: dict[str, str] | None = None) -> None:
        self.entries = entries or {}
        self._texts = texts or {}
        self._moves: dict[tuple[str, str], dict[int, set[int]]] = {}

    @classmethod
    def load(cls, path: Path) -> LineMap:
        """Return the map in a file; an empty map if the file does not exist or has another version."""
        if not path.is_file():
            return cls()
        found = json.loads(path.read_text(encoding="utf-8"))
        if found["version"] != VERSION:
            return cls()
        entries = {test: Entry(**entry) for test, entry in found["entries"].items()}
        for entry in entries.values():
            entry.lines = {path: _by_line(groups) for path, groups in entry.lines.items()}  # type: ignore[arg-type]
        return cls(entries, found["texts"])

    def save(self, path: Path) -> None:
        """Write the map to a file."""
        used = {digest for entry in self.entries.values() for digest in entry.sources.values()}
        entries = {
            test: vars(entry) | {"lines": {path: _groups(lines) for path, lines in entry.lines.items()}}
            for test, entry in sorted(self.entries.items())
        }
        texts = {digest: self._texts[digest] for digest in sorted(used)}
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_name(f"{path.name}.{os.getpid()}")
        temporary.write_text(json.dumps({"version": VERSION, "entries": entries, "texts": texts}), encoding="utf-8")
        temporary.replace(path)

    def add(self, test_file: str, key: str, run: Run, texts: Mapping[str, str]) -> None:
        """Store the recording of a test file.

        Args:
            test_file: the test file.
            key: a text that changes if the test file must be recorded again.
            run: the run in which it was recorded.
            texts: the sources at that time, by path.
        """
        entry = Entry(key, {test: seconds for test, seconds in run.by_test.items() if test not in run.failed})
        numbers = {"": LOADING} | {test: number for number, test in enumerate(entry.tests)}
        for path, by_test in run.reached.items():
            if path not in texts:
                continue
            entry.sources[path] = digest = digest_of(texts[path])
            self._texts[digest] = texts[path]
            lines = entry.lines[path] = {}
            for test, reached in by_test.items():
                if test in numbers:
                    for line in reached:
                        lines.setdefault(line, []).append(numbers[test])
        for test, paths in run.read.items():
            for path in paths:
                entry.read.setdefault(path, []).extend([numbers[test]] if test in numbers else [])
        self.entries[test_file] = entry

    def forget(self, there: Container[str]) -> None:
        """Remove the entries of test files that no longer exist.

        Args:
            there: the files of the checkout.
        """
        self.entries = {test: entry for test, entry in self.entries.items() if test in there}

    def running(self, test_file: str, path: str, lines: Iterable[int], text: str) -> tuple[list[str], bool]:
        """Return the tests of a file that run one of these lines, and whether loading the test file runs one of them.

        Args:
            test_file: the test file.
            path: the source.
            lines: the numbers of lines in the current source.
            text: the current source.
        """
        entry = self.entries[test_file]
        if path not in entry.lines:
            return [], False
        moved = self._moved(entry.sources[path], text)
        then = {line for today in lines for line in moved.get(today, ())}
        numbers = {number for line in then for number in entry.lines[path].get(line, ())}
        tests = [test for number, test in enumerate(entry.tests) if number in numbers]
        return tests, LOADING in numbers

    def _moved(self, digest: str, text: str) -> dict[int, set[int]]:
        """Return the former lines of each current line. For a new or changed line, these are its neighbours."""
        key = (digest, digest_of(text))
        if key not in self._moves:
            self._moves[key] = moved_lines(self._texts[digest], text)
        return self._moves[key]


def moved_lines(before: str, after: str) -> dict[int, set[int]]:
    """Return the former line of each line of a text; for a new line, the former lines around it.

    Args:
        before: the former text.
        after: the current text.
    """
    found: dict[int, set[int]] = {}
    matcher = difflib.SequenceMatcher(None, before.splitlines(), after.splitlines(), autojunk=False)
    for kind, start, end, begin, stop in matcher.get_opcodes():
        for number in range(begin, stop):
            same = {start + number - begin + 1}
            found[number + 1] = same if kind == "equal" else set(range(start, end + 2)) - {0}
    return found


def digest_of(text: str) -> str:
    """Return the hash of a text."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _groups(lines: Mapping[int, list[int]]) -> list[tuple[list[int], list[int]]]:
    """Return the lines in groups with the same tests, because there are far fewer groups than lines."""
    groups: dict[tuple[int, ...], list[int]] = {}
    for line, tests in sorted(lines.items()):
        groups.setdefault(tuple(tests), []).append(line)
    return [(found, list(tests)) for tests, found in groups.items()]


def _by_line(groups: Iterable[tuple[list[int], list[int]]]) -> dict[int, list[int]]:
    return {line: tests for lines, tests in groups for line in lines}
