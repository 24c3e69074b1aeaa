# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Parse PowerShell command lines, such as `PowerShell -NoProfile … -EncodedCommand xxx`.

Sources of the rules: CommandLineToArgvW for words, about_PowerShell_exe (5.1) for parameters, and
CommandLineParameterParser in the PowerShell/PowerShell repository for the abbreviations of parameters.
"""

from __future__ import annotations

import base64
import binascii
import ntpath
from dataclasses import dataclass

PROGRAMS = ("powershell", "powershell.exe", "pwsh", "pwsh.exe")
# The parameters of powershell.exe with their shortest abbreviations, in the order in which it checks them.
SWITCHES = {
    "help": "h",
    "noexit": "noe",
    "nologo": "nol",
    "noninteractive": "noni",
    "noprofile": "nop",
    "sta": "s",
    "mta": "mta",
}
VALUES = {
    "configurationname": "config",
    "encodedarguments": "encodeda",
    "executionpolicy": "ex",
    "inputformat": "inp",
    "outputformat": "o",
    "psconsolefile": "p",
    "version": "v",
    "windowstyle": "w",
    "workingdirectory": "wo",
}
# Parameters that select what to run. Everything after them belongs to them.
ENDINGS = {"file": "f", "command": "c", "encodedcommand": "e"}
ALIASES = {
    "?": "help",
    "ea": "encodedarguments",
    "ec": "encodedcommand",
    "ep": "executionpolicy",
    "if": "inputformat",
    "of": "outputformat",
    "wd": "workingdirectory",
}


@dataclass(frozen=True)
class PowerShellCommandLine:
    """A parsed PowerShell command line.

    Args:
        script: the text of -Command or -EncodedCommand; None with -File, or if standard input contains the script.
        file: the path that follows -File.
        arguments: the arguments after this path.
        switches: the full names of the switches without the dash, in lower case, such as noprofile.
        options: maps the lower-case full names of parameters, such as executionpolicy, to the parameters' values.
        reads_stdin: whether standard input contains the script (`-Command -`, `-File -`, or no script).
    """

    script: str | None
    file: str | None
    arguments: tuple[str, ...]
    switches: frozenset[str]
    options: dict[str, str]
    reads_stdin: bool


def parse_command_line(line: str) -> PowerShellCommandLine | None:
    """Parse a command line that starts PowerShell.

    Returns:
        The parsed command line, or None if the program is not PowerShell.

    Raises:
        ValueError: a parameter is unknown, a value is missing, or a script is not valid base64.
    """
    words = split_words(line)
    if not words or ntpath.basename(words[0]).lower() not in PROGRAMS:
        return None
    switches: set[str] = set()
    options: dict[str, str] = {}
    position = 1
    while position < len(words):
        word = words[position]
        name = _parameter(word)
        if name in SWITCHES:
            switches.add(name)
            position += 1
        elif name in VALUES:
            if position + 1 == len(words):
                raise ValueError(f"expected a value after {word}")
            options[name] = words[position + 1]
            position += 2
        else:
            rest = words[position + 1 :] if name else words[position:]
            return _ending(name or "command", rest, frozenset(switches), options)
    return _ending("command", ["-"], frozenset(switches), options)


def encode_command(script: str) -> str:
    """Return a script in the form that -EncodedCommand accepts: base64 of UTF-16."""
    return base64.b64encode(script.encode("utf-16-le")).decode()


def split_words(line: str) -> list[str]:
    """Split a command line as CommandLineToArgvW does: quotes group words; backslashes escape only before a quote."""
    words: list[str] = []
    word: list[str] | None = None
    quoted = False
    position = 0
    while position < len(line):
        char = line[position]
        if char == "\\":
            count = len(line) - position - len(line[position:].lstrip("\\"))
            position += count
            before_quote = position < len(line) and line[position] == '"'
            word = [*(word or []), "\\" * (count // 2 if before_quote else count)]
            if before_quote and count % 2:
                word.append('"')
                position += 1
            continue
        if char == '"':
            word = word or []
            quoted = not quoted
        elif char in " \t" and not quoted:
            if word is not None:
                words.append("".join(word))
            word = None
        else:
            word = word or []
            word.append(char)
        position += 1
    if word is not None:
        words.append("".join(word))
    return words


def _parameter(word: str) -> str | None:
    """Return the full name of a parameter, or None if the word is not a parameter and therefore begins the command.

    Raises:
        ValueError: PowerShell has no such parameter.
    """
    if len(word) < 2 or word[0] not in "-/\u2013\u2014\u2015":
        return None
    given = word[1:].lstrip("-").lower()
    if given in ALIASES:
        return ALIASES[given]
    for name, shortest in (SWITCHES | VALUES | ENDINGS).items():
        if given and name.startswith(given) and given.startswith(shortest):
            return name
    if word[0] == "/":
        return None
    raise ValueError(f"expected a PowerShell parameter, got {word}")


def _ending(name: str, rest: list[str], switches: frozenset[str], options: dict[str, str]) -> PowerShellCommandLine:
    if name == "file":
        if not rest:
            raise ValueError("expected a path after -File")
        reads = rest[0] == "-"
        return PowerShellCommandLine(None, None if reads else rest[0], tuple(rest[1:]), switches, options, reads)
    if name == "encodedcommand":
        script = _decode(rest)
        return PowerShellCommandLine(script, None, (), switches, options, reads_stdin=False)
    if rest == ["-"] or not rest:
        return PowerShellCommandLine(None, None, (), switches, options, reads_stdin=True)
    return PowerShellCommandLine(" ".join(rest), None, (), switches, options, reads_stdin=False)


def _decode(rest: list[str]) -> str:
    try:
        return base64.b64decode(rest[0] if rest else "", validate=True).decode("utf-16-le")
    except (binascii.Error, UnicodeDecodeError) as error:
        raise ValueError(f"-EncodedCommand: {error}") from error
