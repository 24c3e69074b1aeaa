# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""String literals: verbatim strings, expandable strings and here-strings."""

from __future__ import annotations

import re
from collections.abc import Callable

from simulator.machine.powershell.parsing.scanner import TextScanner
from simulator.machine.powershell.parsing.syntax import (
    Expandable,
    Literal,
    SubExpression,
    SyntaxNode,
    VariableExpression,
)

ESCAPES = {"n": "\n", "r": "\r", "t": "\t", "0": "\0", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}
_VARIABLE = re.compile(r"\$(?:\{(?P<braced>[^}]+)\}|(?P<plain>(?:[A-Za-z_]\w*:)?\w+|[?$^]))")
SINGLE = "'\u2018\u2019\u201a\u201b"
DOUBLE = '"\u201c\u201d\u201e'


def string(scanner: TextScanner, statements: Callable[[TextScanner], tuple[SyntaxNode, ...]]) -> SyntaxNode | None:
    """Consume a string of any kind, and return its node, or None if no string follows.

    `statements` is a function that parses the contents of `$( )` up to the closing parenthesis.
    """
    if found := scanner.match(re.compile(r"@'[ \t]*\r?\n(?:(.*?)\r?\n)?'@", re.DOTALL)):
        return Literal(found[1] or "")
    if found := scanner.match(re.compile(r'@"[ \t]*\r?\n(?:(.*?)\r?\n)?"@', re.DOTALL)):
        return expand(found[1] or "", statements)
    if scanner.peek() and scanner.peek() in SINGLE:
        found = scanner.match(re.compile(rf"[{SINGLE}]((?:[^{SINGLE}]|[{SINGLE}]{{2}})*)[{SINGLE}]"))
        if not found:
            raise scanner.fail("The string is missing the terminator: '")
        return Literal(re.sub(rf"[{SINGLE}]([{SINGLE}])", r"\1", found[1]))
    if scanner.peek() and scanner.peek() in DOUBLE:
        scanner.position += 1
        return _double_quoted(scanner, statements)
    return None


def _double_quoted(scanner: TextScanner, statements: Callable[[TextScanner], tuple[SyntaxNode, ...]]) -> SyntaxNode:
    parts: list[SyntaxNode] = []
    text = ""
    while True:
        char = scanner.peek()
        if not char:
            raise scanner.fail('The string is missing the terminator: "')
        if char in DOUBLE:
            scanner.position += 1
            if not scanner.peek() or scanner.peek() not in DOUBLE:
                break
            text += scanner.peek()
            scanner.position += 1
            continue
        piece, node = _piece(scanner, statements)
        if node is None:
            text += piece
        else:
            parts += [Literal(text)] if text else []
            parts.append(node)
            text = ""
    return _joined(parts, text)


def expand(text: str, statements: Callable[[TextScanner], tuple[SyntaxNode, ...]]) -> SyntaxNode:
    """Parse the text between the delimiters of an expandable string, or an unquoted command argument."""
    scanner = TextScanner(text)
    parts: list[SyntaxNode] = []
    plain = ""
    while not scanner.at_end:
        piece, node = _piece(scanner, statements)
        if node is None:
            plain += piece
        else:
            parts += [Literal(plain)] if plain else []
            parts.append(node)
            plain = ""
    return _joined(parts, plain)


def _joined(parts: list[SyntaxNode], text: str) -> SyntaxNode:
    if not parts:
        return Literal(text)
    return Expandable((*parts, Literal(text)) if text else tuple(parts))


def _piece(
    scanner: TextScanner, statements: Callable[[TextScanner], tuple[SyntaxNode, ...]]
) -> tuple[str, SyntaxNode | None]:
    """Consume one character, escape, variable or `$( )` of an expandable string.

    Return (text, None) for a character or escape, or ("", expression) for a variable or `$( )`.
    """
    char = scanner.peek()
    if char == "`":
        escaped = scanner.peek(2)[1:]
        scanner.position += 2
        return ("" if escaped in ("\n", "\r") else ESCAPES.get(escaped, escaped)), None
    if char == "$":
        if scanner.take("$("):
            body = statements(scanner)
            scanner.lines()
            scanner.expect(")")
            return "", SubExpression(body)
        found = scanner.match(_VARIABLE)
        if found:
            return "", VariableExpression(found["braced"] or found["plain"])
    scanner.position += 1
    return char, None
