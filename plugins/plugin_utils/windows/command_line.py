# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Build and split command lines of Windows programs, and read flags from environment files such as kubeadm's."""

from __future__ import annotations

import ast
import re
import typing as t


def join(arguments: t.Iterable[str]) -> str:
    """Return a command line that CommandLineToArgvW splits into the arguments. The first argument is the program."""
    return " ".join(map(quote, arguments))


def quote(argument: str) -> str:
    """Return an argument, quoted for CommandLineToArgvW if it needs quotation marks.

    Only backslashes before a quotation mark are doubled, because they are special only there.
    """
    if argument and not re.search(r'[\s"]', argument):
        return argument
    escaped = re.sub(r'(\\*)"', r'\1\1\\"', argument)
    escaped = re.sub(r"(\\+)\Z", r"\1\1", escaped)
    return f'"{escaped}"'


def split(line: str) -> list[str]:
    """Split a command line as CommandLineToArgvW does.

    The name of the program follows simpler rules. It has no escapes, and ends at the next quotation mark, or at the
    next space or tab if it does not begin with a quotation mark.
    """
    line = line.strip(" \t")
    if not line:
        return []
    if line.startswith('"'):
        program, dummy, rest = line[1:].partition('"')
    else:
        program, rest = [*re.split(r"[ \t]", line, maxsplit=1), ""][:2]
    return [program, *_split_arguments(rest)]


def _split_arguments(text: str) -> list[str]:
    arguments: list[str] = []
    position = 0
    while True:
        while position < len(text) and text[position] in " \t":
            position += 1
        if position >= len(text):
            return arguments
        argument, position = _next_argument(text, position)
        arguments.append(argument)


def _next_argument(text: str, position: int) -> tuple[str, int]:
    parts: list[str] = []
    quoted = False
    while position < len(text) and (quoted or text[position] not in " \t"):
        slashes = 0
        while position < len(text) and text[position] == "\\":
            slashes += 1
            position += 1
        if position < len(text) and text[position] == '"':
            parts.append("\\" * (slashes // 2))
            if slashes % 2:
                parts.append('"')
            elif quoted and text[position + 1 : position + 2] == '"':
                parts.append('"')  # two quotation marks inside a quoted part mean one
                position += 1
            else:
                quoted = not quoted
            position += 1
            continue
        parts.append("\\" * slashes)
        if position < len(text) and (quoted or text[position] not in " \t"):
            parts.append(text[position])
            position += 1
    return "".join(parts), position


def flags_of(content: str, variable: str) -> list[str]:
    """Return the flags in a variable of an environment file, or an empty list if the file does not set the variable.

    kubeadm writes `KUBELET_KUBEADM_ARGS="…"` with Go's %q, so the value may contain Go's escape sequences. Source:
    kubernetes/kubernetes, cmd/kubeadm/app/phases/kubelet/flags.go.
    """
    for line in content.lstrip("\ufeff").splitlines():
        name, equals, value = line.strip().partition("=")
        if equals and name.strip() == variable:
            return _unquoted(value.strip()).split()
    return []


def _unquoted(value: str) -> str:
    if len(value) < 2 or value[0] != '"' or value[-1] != '"':
        return value
    try:
        # Python has all of Go's escapes inside "…"; literal_eval evaluates only the literal.
        return str(ast.literal_eval(value))
    except (ValueError, SyntaxError):
        return value[1:-1]


def merge_flags(arguments: t.Sequence[str], added: t.Sequence[str]) -> list[str]:
    """Return the arguments followed by the added flags. An added flag replaces earlier flags with the same name."""
    names = {_flag(token) for token in added if token.startswith("-")}
    kept: list[str] = []
    replaced = False
    for token in arguments:
        if token.startswith("-"):
            replaced = _flag(token) in names
        if not replaced:
            kept.append(token)
    return [*kept, *added]


def _flag(token: str) -> str:
    return token.lstrip("-").partition("=")[0]
