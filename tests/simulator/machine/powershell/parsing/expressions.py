# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The parser for expressions: operators by precedence, literals, members and casts.

Source of the precedence rules:
https://learn.microsoft.com/powershell/module/microsoft.powershell.core/about/about_operator_precedence
"""

from __future__ import annotations

import re
from typing import Protocol

from simulator.machine.powershell.parsing import strings
from simulator.machine.powershell.parsing.scanner import ParseError, TextScanner
from simulator.machine.powershell.parsing.syntax import (
    ArrayLiteral,
    Binary,
    Block,
    Cast,
    HashLiteral,
    Index,
    Literal,
    Member,
    Paren,
    PostStep,
    SubExpression,
    SyntaxNode,
    TypeLiteral,
    Unary,
    VariableExpression,
)

_COMPARISONS = (
    "eq|ne|gt|ge|lt|le|like|notlike|match|notmatch|contains|notcontains|in|notin|replace|split|join|isnot|is|as"
)
_LEVELS = (
    re.compile(r"-(and|or|xor)(?![\w])", re.IGNORECASE),
    re.compile(r"-(band|bor|bxor|shl|shr)(?![\w])", re.IGNORECASE),
    re.compile(rf"-[ic]?({_COMPARISONS})(?![\w])", re.IGNORECASE),
    re.compile(r"(\+|-(?![A-Za-z=-]))(?![+=])"),
    re.compile(r"([*/%])(?![=>])"),
    re.compile(r"-(f)(?![\w])", re.IGNORECASE),
    re.compile(r"(\.\.)"),
)
_CASE_SENSITIVE = re.compile(rf"-c({_COMPARISONS})$", re.IGNORECASE)
_UNARY = re.compile(r"-(not|bnot|join|split)(?![\w])", re.IGNORECASE)
_TYPE = re.compile(r"\[([A-Za-z_][\w.+`]*(?:\[[\w.,\s\[\]]*\])?)\]")
_NAME = re.compile(r"[A-Za-z_]\w*")


class Statements(Protocol):
    """The statement parser's methods that the expression parser uses."""

    def statements(self, scanner: TextScanner, *ends: str) -> tuple[SyntaxNode, ...]:
        """Parse statements up to a closing token, which is not consumed."""

    def pipeline(self, scanner: TextScanner) -> SyntaxNode:
        """Parse a pipeline."""

    def statement(self, scanner: TextScanner) -> SyntaxNode:
        """Parse one statement."""

    def block(self, scanner: TextScanner) -> Block:
        """Parse a script block after its opening brace, including its closing brace."""


class Expressions:
    """The parser for expressions."""

    def __init__(self, parent: Statements) -> None:
        self._parent = parent

    def expression(self, scanner: TextScanner, level: int = 0, *, commas: bool = True) -> SyntaxNode:
        """Parse an expression at a precedence level. Without `commas`, the expression ends at the first comma."""
        if level == len(_LEVELS):
            return self.array(scanner) if commas else self.unary(scanner)
        left = self.expression(scanner, level + 1, commas=commas)
        while True:
            start = scanner.position
            scanner.blanks()
            found = scanner.match(_LEVELS[level])
            if not found:
                scanner.position = start
                return left
            scanner.lines()
            right = self.expression(scanner, level + 1, commas=commas)
            operator = found[1].casefold()
            left = Binary(f"c{operator}" if _CASE_SENSITIVE.match(found[0]) else operator, left, right)

    def array(self, scanner: TextScanner) -> SyntaxNode:
        """Parse operands that are separated by commas."""
        if scanner.take(","):
            scanner.blanks()
            return ArrayLiteral((self.unary(scanner),))
        items = [self.unary(scanner)]
        while self._comma(scanner):
            items.append(self.unary(scanner))
        return items[0] if len(items) == 1 else ArrayLiteral(tuple(items))

    @staticmethod
    def _comma(scanner: TextScanner) -> bool:
        start = scanner.position
        scanner.blanks()
        if scanner.take(","):
            scanner.lines()
            return True
        scanner.position = start
        return False

    def unary(self, scanner: TextScanner) -> SyntaxNode:
        """Parse an operand with its prefixes and postfixes."""
        scanner.blanks()
        found = scanner.match(_UNARY)
        operator = found[1].casefold() if found else ""
        for sign in ("++", "--", "!", "-", "+"):
            if not operator and not (sign == "-" and scanner.see(r"-\.?\d")) and scanner.take(sign):
                operator = sign
        if operator:
            scanner.blanks()
            return Unary(operator, self.unary(scanner))
        if scanner.take("-"):  # a negative number
            number = scanner.number()
            if number is None:
                raise scanner.fail("You must provide a value expression following the '-' operator")
            return Literal(-number[0], f"-{number[1]}")
        cast = scanner.see(_TYPE.pattern)
        if cast:
            return self._typed(scanner, cast)
        return self.postfix(scanner, self.primary(scanner))

    def _typed(self, scanner: TextScanner, found: re.Match[str]) -> SyntaxNode:
        scanner.position = found.end()
        if scanner.looking_at("::"):
            return self.postfix(scanner, TypeLiteral(found[1]))
        start = scanner.position
        scanner.blanks()
        if (
            scanner.peek()
            and (scanner.peek() in "$@'\"([{-!+," or scanner.peek().isdigit())
            and not scanner.see(r"-[A-Za-z]+")
        ):
            operand = self.unary(scanner)
            if found[1].casefold() == "ordered" and not isinstance(operand, HashLiteral):
                message = "The ordered attribute can be specified only on a hash literal node."
                raise ParseError(message, "OrderedAttributeOnlyOnHashLiteralNode")
            return Cast(found[1], operand)
        scanner.position = start
        return self.postfix(scanner, TypeLiteral(found[1]))

    def postfix(self, scanner: TextScanner, node: SyntaxNode) -> SyntaxNode:
        """Parse the members, indexes and increments after an operand."""
        while True:
            if scanner.see(r"\.(?=[A-Za-z_$'\"(])") and not scanner.looking_at(".."):
                scanner.position += 1
                node = self._member(scanner, node, static=False)
            elif scanner.take("::"):
                node = self._member(scanner, node, static=True)
            elif scanner.looking_at("[") and not scanner.text[scanner.position - 1].isspace():
                scanner.position += 1
                scanner.lines()
                index = self.expression(scanner)
                scanner.lines()
                scanner.expect("]")
                node = Index(node, index)
            elif scanner.see(r"(\+\+|--)") and isinstance(node, (VariableExpression, Member, Index)):
                node = PostStep(scanner.peek(2), node)
                scanner.position += 2
            else:
                return node

    def _member(self, scanner: TextScanner, target: SyntaxNode, *, static: bool) -> SyntaxNode:
        found = scanner.match(_NAME)
        name: SyntaxNode = Literal(found[0]) if found else self.primary(scanner)
        arguments: tuple[SyntaxNode, ...] | None = None
        if scanner.take("("):
            scanner.lines()
            arguments = ()
            if not scanner.looking_at(")"):
                arguments = self._arguments(scanner)
            scanner.lines()
            scanner.expect(")")
        return Member(target, name, static, arguments)

    def _arguments(self, scanner: TextScanner) -> tuple[SyntaxNode, ...]:
        """Parse a method's arguments. Here, the comma separates arguments and binds less tightly than any operator."""
        arguments = [self.expression(scanner, commas=False)]
        while self._comma(scanner):
            arguments.append(self.expression(scanner, commas=False))
        return tuple(arguments)

    def primary(self, scanner: TextScanner) -> SyntaxNode:
        """Parse a string, number or variable, or one of `(…)`, `$(…)`, `@(…)`, `@{…}` and `{…}`."""
        text = strings.string(scanner, lambda inner: self._parent.statements(inner, ")"))
        if text is not None:
            return text
        if scanner.take("$("):
            return self._enclosed(scanner, array=False)
        if scanner.take("@("):
            return self._enclosed(scanner, array=True)
        if scanner.take("@{"):
            return self._hash(scanner)
        if scanner.take("("):
            scanner.lines()
            body = self._parent.pipeline(scanner)
            scanner.lines()
            scanner.expect(")")
            return Paren(body)
        if scanner.take("{"):
            return self._parent.block(scanner)
        variable = scanner.match(r"\$(?:\{([^}]+)\}|((?:[A-Za-z_]\w*:)?\w+|[?$^]))")
        if variable:
            return VariableExpression(variable[1] or variable[2])
        number = scanner.number()
        if number is not None:
            return Literal(*number)
        raise scanner.fail("Unexpected token")

    def _enclosed(self, scanner: TextScanner, *, array: bool) -> SyntaxNode:
        body = self._parent.statements(scanner, ")")
        scanner.expect(")")
        return SubExpression(body, array)

    def _hash(self, scanner: TextScanner) -> SyntaxNode:
        entries: list[tuple[SyntaxNode, SyntaxNode]] = []
        scanner.separators()
        while not scanner.take("}"):
            bare = scanner.match(r"[A-Za-z_][\w-]*")
            key: SyntaxNode = Literal(bare[0]) if bare else self.unary(scanner)
            scanner.blanks()
            scanner.expect("=")
            scanner.lines()
            entries.append((key, self._parent.statement(scanner)))
            scanner.separators()
            if scanner.at_end:
                raise scanner.fail("The hash literal was incomplete.")
        return HashLiteral(tuple(entries))
