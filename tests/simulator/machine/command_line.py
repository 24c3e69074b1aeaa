# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Split and quote Windows command lines by the rules of CommandLineToArgvW, and find the program in a command line.

See https://learn.microsoft.com/windows/win32/api/shellapi/nf-shellapi-commandlinetoargvw for the rules.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping


def split(line: str) -> list[str]:
    """Split a command line into the program and its arguments.

    Windows has other rules for the program than for the arguments. The simulator uses the rules for arguments for both.
    """
    arguments: list[str] = []
    current = ""
    started = quoted = False
    position = 0
    while position < len(line):
        char = line[position]
        if char == "\\":
            run = len(line) - position - len(line[position:].lstrip("\\"))
            position += run
            started = True
            if line[position : position + 1] == '"':
                current += "\\" * (run // 2)
                if run % 2:
                    current += '"'
                    position += 1
            else:
                current += "\\" * run
            continue
        if char == '"':
            started = True
            if quoted and line[position + 1 : position + 2] == '"':
                current += '"'
                position += 1
            else:
                quoted = not quoted
        elif char in " \t" and not quoted:
            if started:
                arguments.append(current)
            current, started = "", False
        else:
            current += char
            started = True
        position += 1
    if started:
        arguments.append(current)
    return arguments


def quote(argument: str) -> str:
    """Quote an argument so that `split` returns it unchanged."""
    if argument and not re.search(r'[\s"]', argument):
        return argument
    escaped = re.sub(r'(\\*)"', r'\1\1\\"', argument)
    return '"' + re.sub(r"(\\+)$", r"\1\1", escaped) + '"'


def join(arguments: list[str]) -> str:
    """Join arguments into a command line."""
    return " ".join(quote(argument) for argument in arguments)


def program_and_rest(line: str, is_file: Callable[[str], bool]) -> tuple[str, str]:
    r"""Return the program that CreateProcess finds in a command line, and the text after the program.

    Without quotes, the program's path may end at any space: `C:\Program Files\x.exe -a` is tried as `C:\Program`, then
    as `C:\Program Files\x.exe`. Each of these names is also tried with `.exe` added
    (https://learn.microsoft.com/windows/win32/api/processthreadsapi/nf-processthreadsapi-createprocessw). A program in
    quotes is returned as it is. If no file is found, the text before the first space is the program.
    """
    text = line.strip()
    if text.startswith('"'):
        program, _, rest = text[1:].partition('"')
        return program, rest.strip()
    blanks = [match.start() for match in re.finditer(r"[ \t]", text)] + [len(text)]
    for end in blanks:
        for candidate in (text[:end], text[:end] + ".exe"):
            if is_file(candidate):
                return candidate, text[end:].strip()
    return text[: blanks[0]], text[blanks[0] :].strip()


def expand(text: str, variables: Mapping[str, str]) -> str:
    """Return a string in which each `%NAME%` is replaced by the variable's value. Unknown names stay unchanged."""
    lower = {name.casefold(): value for name, value in variables.items()}
    return re.sub(r"%([^%]+)%", lambda match: lower.get(match[1].casefold(), match[0]), text)
