# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Replace variables by their values: `%NAME%` before cmd.exe parses a line, and the loop variables of `for`.

See https://learn.microsoft.com/windows-server/administration/windows-commands/set and
https://learn.microsoft.com/windows-server/administration/windows-commands/for.
"""

from __future__ import annotations

import ntpath
import re
from collections.abc import Mapping, Sequence

from simulator.machine.cmd.errors import CmdNotModelledError


def expand(line: str, variables: Mapping[str, str], arguments: Sequence[str] | None = None) -> str:
    """Return a line in which each `%NAME%` is replaced by the value of the variable.

    Args:
        arguments: the path and the arguments of the batch file that contains the line, or None for an interactive
            command line. Undefined variables are removed in a batch file and left unchanged on a command line.

    Raises:
        CmdNotModelledError: the line contains `%NAME:...%`, a computed variable such as `%DATE%`, or a modifier that is
            not modelled.
    """
    known = {name.casefold(): value for name, value in variables.items()}
    found: list[str] = []
    position = 0
    while position < len(line):
        if line[position] != "%":
            found.append(line[position])
            position += 1
            continue
        taken, text = _percent(line[position:], known, arguments)
        found.append(text)
        position += taken
    return "".join(found)


def _percent(text: str, known: Mapping[str, str], arguments: Sequence[str] | None) -> tuple[int, str]:
    """Return the number of characters to replace in a string that starts with `%`, and the replacement."""
    if arguments is not None:
        if text.startswith("%%"):
            return 2, "%"
        argument = re.match(r"%(?:~([fdpnxs]*))?([0-9*])", text)
        if argument:
            return argument.end(), _argument(arguments, argument[2], argument[1])
    closing = text.find("%", 1)
    name = text[1:closing] if closing > 0 else ""
    if not name or "\n" in name:
        return 1, "" if arguments is not None else "%"
    if name.casefold() in known:
        return closing + 1, known[name.casefold()]
    base, colon, _ = name.partition(":")
    if colon and base.casefold() in known:
        raise CmdNotModelledError(f"%{name}%")
    if name.casefold() in ("date", "time", "random", "cmdcmdline", "cmdextversion"):
        raise CmdNotModelledError(f"%{name}%")
    return (closing + 1, "") if arguments is not None else (1, "%")


def _argument(arguments: Sequence[str], place: str, modifiers: str | None) -> str:
    if place == "*":
        return " ".join(arguments[1:])
    number = int(place)
    value = arguments[number] if number < len(arguments) else ""
    return value if modifiers is None else modified(value, modifiers)


def modified(value: str, modifiers: str) -> str:
    """Return the parts of a path that the modifiers in `%~fdpnxVALUE` select.

    Raises:
        CmdNotModelledError: a modifier is `s`, or the path is relative.
    """
    bare = value.strip('"')
    if not modifiers:
        return bare
    if "s" in modifiers or ":" not in bare:
        raise CmdNotModelledError(f"the modifier ~{modifiers} of {bare}")
    path = ntpath.normpath(bare)
    drive, rest = ntpath.splitdrive(path)
    folder, name = ntpath.split(rest)
    base, extension = ntpath.splitext(name)
    if "f" in modifiers:
        return path
    parts = {"d": drive, "p": folder.rstrip("\\") + "\\", "n": base, "x": extension}
    return "".join(parts[letter] for letter in "dpnx" if letter in modifiers)


def substitute(text: str, letters: Mapping[str, str]) -> str:
    """Return a string in which the variables of `for`, such as `%i` and `%~nxi`, are replaced by their values."""
    known = "".join(map(re.escape, letters))

    def value(match: re.Match[str]) -> str:
        modifiers, letter = match[1], match[2]
        return letters[letter] if modifiers is None else modified(letters[letter], modifiers)

    return re.sub(rf"%(?:~([fdpnxs]*))?([{known}])", value, text) if letters else text
