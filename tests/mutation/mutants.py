# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A mutant: one small change of one file."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, order=True)
class Mutant:
    """One change of a file.

    Attributes:
        path: the file, relative to the root of the checkout, with slashes.
        line: the line where the change begins, from 1.
        start: the offset of the first character that is replaced.
        end: the offset after the last one.
        replacement: the text that takes its place.
        operator: the name of the rule that made the change.
    """

    path: str
    line: int
    start: int
    end: int
    replacement: str
    operator: str

    def apply(self, text: str) -> str:
        """Return the text of the file with this change."""
        return text[: self.start] + self.replacement + text[self.end :]

    def describe(self, text: str) -> str:
        """Return the change in one line: the rule, the original text, and the replacement."""
        before, after = shorten(text[self.start : self.end]), shorten(self.replacement)
        return f"{self.operator}: {before} -> {after}" if after else f"{self.operator}: {before}"


def shorten(text: str, limit: int = 60) -> str:
    """Return a text as one line of at most `limit` characters."""
    line = " ".join(text.split())
    return line if len(line) <= limit else line[: limit - 3] + "..."


def make(path: str, text: str, start: int, end: int, replacement: str, operator: str) -> Mutant:
    """Return the mutant that replaces a part of a text."""
    return Mutant(path, text.count("\n", 0, start) + 1, start, end, replacement, operator)
