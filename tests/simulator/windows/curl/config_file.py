# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Parsing of curl's configuration files. Source: https://curl.se/docs/manpage.html#-K"""

from __future__ import annotations

import re
from collections.abc import Iterator

_ESCAPES = {"t": "\t", "n": "\n", "r": "\r", "v": "\v"}


def entries(text: str) -> Iterator[tuple[int, str, str | None]]:
    """Yield (line number, option without dashes, value or None) for each option in a configuration file.

    An option and its value are separated by spaces, `=` or `:`. A value with spaces needs double quotes, within which a
    backslash is an escape character. A value without quotes ends at the first space.
    """
    for number, line in enumerate(text.splitlines(), 1):
        found = re.match(r"\s*(?P<name>[^\s=:#]+)(?P<rest>.*)", line)
        if not found:
            continue
        name = found["name"]
        # A single-letter option needs its dash; for a long one, the dashes are optional.
        if name.startswith("-") and not name.startswith("--"):
            name = _long(name[1:])
        rest = re.sub(r"^[\s=:]*", "", found["rest"])
        yield number, name.removeprefix("--"), _value(rest)


def _long(letter: str) -> str:
    from simulator.windows.curl.options import OPTIONS

    return next((option.name for option in OPTIONS.values() if option.letter and option.letter == letter), letter)


def _value(rest: str) -> str | None:
    if not rest:
        return None
    if not rest.startswith('"'):
        return rest.split()[0]
    value, position = "", 1
    while position < len(rest) and rest[position] != '"':
        char = rest[position]
        if char == "\\" and position + 1 < len(rest):
            position += 1
            char = _ESCAPES.get(rest[position], rest[position])
        value += char
        position += 1
    return value
