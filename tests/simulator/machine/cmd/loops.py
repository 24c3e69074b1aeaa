# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Yield the items over which `for` of cmd.exe iterates: words, files, numbers, and the fields of lines.

See https://learn.microsoft.com/windows-server/administration/windows-commands/for.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from simulator.machine.cmd.errors import CmdNotModelledError
from simulator.machine.session import Session
from simulator.machine.wildcards import matches


def set_members(session: Session, text: str) -> Iterator[str]:
    """Yield the words in the parentheses of `for`. For a word with wildcards, yield the paths of the matching files.

    Raises:
        CmdNotModelledError: the folder of a word contains wildcards.
    """
    for word in re.findall(r'(?:"[^"]*"|[^\s,;="])+', text):
        if "*" not in word and "?" not in word:
            yield word
            continue
        folder, backslash, pattern = word.strip('"').rpartition("\\")
        if "*" in folder or "?" in folder:
            raise CmdNotModelledError(f"a for loop over {word}")
        place = session.absolute(folder or ".")
        for entry in session.machine.files.listing(place) if session.machine.files.is_directory(place) else ():
            if not entry.is_directory and matches(pattern, entry.name):
                yield f"{folder}{backslash}{entry.name}"


def numbers(text: str) -> Iterator[str]:
    """Yield the numbers over which `for /l` with `(start, step, end)` iterates.

    Raises:
        CmdNotModelledError: the parentheses do not contain exactly three numbers, or the step is 0.
    """
    parts = [int(part) for part in re.split(r"[\s,;]+", text.strip()) if re.fullmatch(r"[+-]?\d+", part)]
    if len(parts) != 3 or parts[1] == 0:
        raise CmdNotModelledError(f"a for /l loop over ({text})")
    start, step, end = parts
    yield from map(str, range(start, end + (1 if step > 0 else -1), step))


@dataclass(frozen=True)
class Fields:
    """The options of `for /f`.

    Args:
        tokens: the numbers of the fields to use from each line, counted from 1.
        remainder: whether the rest of the line after these fields is also used (`*`).
        delimiters: the characters that separate fields.
        skip: the number of lines to skip at the beginning.
        comment: lines that begin with this character are skipped.
    """

    tokens: tuple[int, ...] = (1,)
    remainder: bool = False
    delimiters: str = " \t"
    skip: int = 0
    comment: str = ";"

    def of(self, line: str, letter: str) -> dict[str, str] | None:
        """Return the loop variables for a line with their values, or None if the line is skipped.

        The names of the variables are `letter` and the letters after it.
        """
        if not line or (self.comment and line.startswith(self.comment)):
            return None
        pattern = f"[{re.escape(self.delimiters)}]+" if self.delimiters else r"(?!)"
        bare = line.lstrip(self.delimiters) if self.delimiters else line
        parts = re.split(pattern, bare)
        values = [parts[place - 1] if place <= len(parts) else "" for place in self.tokens]
        if self.remainder:
            last = self.tokens[-1] if self.tokens else 0
            left = re.split(pattern, bare, maxsplit=last)
            values.append(left[last] if len(left) > last else "")
        if not parts[0] or (self.tokens and not values[0]):
            return None
        return {chr(ord(letter) + offset): value for offset, value in enumerate(values)}


def fields(options: str) -> Fields:
    """Parse the options of `for /f`.

    Raises:
        CmdNotModelledError: the simulator does not model the syntax.
    """
    found = re.fullmatch(
        r"\s*(?:(?:skip=(?P<skip>\d+)|eol=(?P<eol>\S)|tokens=(?P<tokens>[\d,\-*]+)|delims=(?P<delims>.*$|\S*))\s*)*",
        options,
    )
    if found is None:
        raise CmdNotModelledError(f'for /f "{options}"')
    tokens: list[int] = []
    text = found["tokens"] or "1"
    remainder = text.endswith("*")
    for part in filter(None, text.removesuffix("*").split(",")):
        first, dash, last = part.partition("-")
        tokens += range(int(first), int(last) + 1) if dash else [int(first)]
    delimiters = found["delims"] if found["delims"] is not None else " \t"
    return Fields(tuple(tokens), remainder, delimiters, int(found["skip"] or 0), found["eol"] or ";")
