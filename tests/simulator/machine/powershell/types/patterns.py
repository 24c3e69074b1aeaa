# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Convert .NET regular expressions, wildcard patterns and replacement patterns for Python's `re` module."""

from __future__ import annotations

import re
from collections.abc import Callable

from simulator.machine.objects import NotModelled
from simulator.machine.powershell.types.kinds import Regex
from simulator.machine.powershell.types.plain_text import to_text

# .NET syntax that Python lacks or interprets differently.
_FOREIGN = re.compile(r"\\[pPGzK]|\(\?<-|\(\?>|\(\?\(|\[[^\]]*-\[|\(\?[a-z]*[nx-][a-z-]*[:)]|\(\?<\w+-|\\k'|\(\?'")


def translate(pattern: object) -> str:
    """Convert a .NET pattern to a Python pattern.

    Raises:
        NotModelled: the pattern has syntax that differs in Python.
    """
    text = to_text(pattern)
    bare = re.sub(r"\\\\", "", text)
    if _FOREIGN.search(bare):
        raise NotModelled(f"the regular expression {text}")
    text = re.sub(r"\(\?<(?![=!])(\w+)>", r"(?P<\1>", text)
    return re.sub(r"\\k<(\w+)>", r"(?P=\1)", text)


def compiled(pattern: object, *, sensitive: bool = False) -> re.Pattern[str]:
    """Return a .NET regular expression as a compiled Python pattern.

    Raises:
        NotModelled: the pattern is invalid, or has syntax that differs in Python.
    """
    if isinstance(pattern, Regex):
        return pattern.compiled
    try:
        return re.compile(translate(pattern), 0 if sensitive else re.IGNORECASE)
    except re.error as error:
        raise NotModelled(f"the regular expression {to_text(pattern)} ({error})") from None


def groups(found: re.Match[str]) -> dict[object, object]:
    """Return the value of $Matches for a match."""
    names = {number: name for name, number in found.re.groupindex.items()}
    captured: dict[object, object] = {}
    unnamed = 1
    for number, text in enumerate(found.groups(), 1):
        key: object = names.get(number)
        if key is None:
            key, unnamed = unnamed, unnamed + 1
        if text is not None:
            captured[key] = text
    return {**captured, 0: found[0]}


def replacement(text: object) -> Callable[[re.Match[str]], str]:
    """Return a function that expands `-replace` substitutions for a match: `$1`, `${name}`, `$&` and `$$`."""
    requested = to_text(text)

    def fill(match: re.Match[str]) -> str:
        def group(reference: re.Match[str]) -> str:
            name = reference[1] or reference[2]
            if name == "$":
                return "$"
            if name == "&":
                return match[0]
            if not name.isalnum() and name not in match.re.groupindex:
                raise NotModelled(f"the replacement pattern {requested}")
            key: int | str = int(name) if name.isdigit() else name
            try:
                return match[key] or ""
            except (IndexError, re.error):
                return reference[0]

        return re.sub(r"\$(?:\{(\w+)\}|(\d+|[&$`'+_]))", group, requested)

    return fill


def wildcard(pattern: object, *, sensitive: bool = False) -> re.Pattern[str]:
    """Convert a wildcard pattern to a regular expression.

    Raises:
        NotModelled: a bracket is not closed.
    """
    text, found, at = to_text(pattern), "", 0
    while at < len(text):
        char = text[at]
        if char == "`" and at + 1 < len(text):
            at += 1
            found += re.escape(text[at])
        elif char == "[" and "]" in text[at + 2 :]:
            end = text.index("]", at + 2)
            inner = text[at + 1 : end].replace("\\", "\\\\").replace("^", "\\^").replace("[", "\\[")
            found += f"[{inner}]"
            at = end
        elif char == "[":
            raise NotModelled(f"the wildcard pattern {text}")
        else:
            found += {"*": ".*", "?": "."}.get(char, re.escape(char))
        at += 1
    return re.compile(f"{found}\\Z", re.DOTALL | (0 if sensitive else re.IGNORECASE))


def like(text: object, pattern: object, *, sensitive: bool = False) -> bool:
    """Return whether a string matches a wildcard pattern."""
    return wildcard(pattern, sensitive=sensitive).match(to_text(text)) is not None
