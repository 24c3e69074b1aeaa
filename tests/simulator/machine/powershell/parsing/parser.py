# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The parser for statements and commands."""

from __future__ import annotations

import re

from simulator.machine.powershell.parsing import strings
from simulator.machine.powershell.parsing.blocks import Blocks
from simulator.machine.powershell.parsing.expressions import Expressions
from simulator.machine.powershell.parsing.scanner import TextScanner
from simulator.machine.powershell.parsing.syntax import (
    Argument,
    ArrayLiteral,
    Assignment,
    Block,
    Cast,
    CommandInvocation,
    Index,
    Literal,
    Member,
    Nothing,
    Pipeline,
    Redirection,
    SyntaxNode,
    VariableExpression,
)

_ASSIGNMENT = re.compile(r"(=|\+=|-=|\*=|/=|%=)(?!=)")
_EXPRESSION_START = re.compile(
    r"""\$|@[({'"]|['"\u2018-\u201f(,!{]|\d[\w.]*(?=[\s;|)}\].,+\-*/%]|$)|\.\d|\+|-(?=[\d.($\[])|--?(?=\$)"""
    r"""|-(not|bnot|join|split)\b|\[[A-Za-z_][\w.+`\[\],]*\]""",
    re.IGNORECASE,
)
_REDIRECTION = re.compile(r"([1-6*]?)(>>?)(?:&([1-6]))?")
_PARAMETER = re.compile(r"-([A-Za-z_?][\w]*)(:?)(?=[\s:|;)}'\"$({@\w.\\,&<>-]|$)")


class Parser:
    """The parser for scripts."""

    def __init__(self) -> None:
        self.expressions = Expressions(self)
        self._blocks = Blocks(self)

    def script(self, text: str) -> Block:
        """Parse a script.

        Raises:
            ParseError: the script is invalid or not modelled.
            NotModelled: a number in the script is not modelled.
        """
        scanner = TextScanner(text.removeprefix("\ufeff"))
        block = self._blocks.contents(scanner)
        scanner.separators()
        if not scanner.at_end:
            raise scanner.fail("Unexpected token")
        return block

    def statements(self, scanner: TextScanner, *ends: str) -> tuple[SyntaxNode, ...]:
        """Parse statements up to the end of the text or a closing token, which is not consumed."""
        found: list[SyntaxNode] = []
        while True:
            scanner.separators()
            if scanner.at_end or scanner.peek() in ends:
                return tuple(found)
            found.append(self._blocks.statement(scanner))
            scanner.blanks()
            if scanner.peek() not in ("", *ends) and not scanner.see(r"[;\r\n]"):
                # A statement that ends with a block needs no separator after it. Every other statement needs one.
                if scanner.text[: scanner.position].rstrip().endswith("}"):
                    continue
                if scanner.looking_at("&&") or scanner.looking_at("||"):
                    raise scanner.fail(
                        f"The token '{scanner.peek(2)}' is not a valid statement separator in this version."
                    )
                # A second value directly after the first one is also an error in PowerShell.
                wrong = scanner.see(r"[\"'$\w]")
                raise scanner.fail("Unexpected token", "UnexpectedToken" if wrong else "")

    def block(self, scanner: TextScanner) -> Block:
        """Parse a script block after its opening brace, including its closing brace."""
        return self._blocks.block(scanner)

    def statement(self, scanner: TextScanner) -> SyntaxNode:
        """Parse one statement."""
        return self._blocks.statement(scanner)

    def pipeline(self, scanner: TextScanner) -> SyntaxNode:
        """Parse an assignment or a pipeline."""
        scanner.blanks()
        start = scanner.position
        first = self._element(scanner)
        if isinstance(first, (VariableExpression, Member, Index, Cast, ArrayLiteral)):
            scanner.blanks()
            found = scanner.match(_ASSIGNMENT)
            if found:
                scanner.lines()
                return Assignment(first, found[1], self._blocks.statement(scanner))
        elements = [first]
        redirections = self._redirections(scanner) if not isinstance(first, CommandInvocation) else []
        while True:
            place = scanner.position
            scanner.blanks()
            # Only PowerShell 7 allows a pipe at the beginning of a line.
            if scanner.looking_at("||") or not scanner.take("|"):
                scanner.position = place
                break
            scanner.lines()
            elements.append(self._command(scanner))
        if start == scanner.position:
            raise scanner.fail("Unexpected token")
        if len(elements) == 1 and not redirections and not isinstance(first, CommandInvocation):
            return Pipeline((first,))
        return Pipeline(tuple(elements), tuple(redirections))

    def _element(self, scanner: TextScanner) -> SyntaxNode:
        if scanner.at_end:
            return Nothing()
        if scanner.see(_EXPRESSION_START.pattern) and not scanner.see(r"%(?=\s*\{)|[?](?=\s*\{)"):
            return self.expressions.expression(scanner)
        return self._command(scanner)

    def _redirections(self, scanner: TextScanner) -> list[Redirection]:
        found: list[Redirection] = []
        while True:
            place = scanner.position
            scanner.blanks()
            redirection = self._redirection(scanner)
            if redirection is None:
                scanner.position = place
                return found
            found.append(redirection)

    def _redirection(self, scanner: TextScanner) -> Redirection | None:
        match = scanner.match(_REDIRECTION)
        if not match:
            return None
        if match[3]:
            return Redirection(match[1] or "1", append=False, target=match[3])
        scanner.blanks()
        return Redirection(match[1] or "1", match[2] == ">>", self.word(scanner))

    def _command(self, scanner: TextScanner) -> SyntaxNode:
        operator = ""
        found = scanner.match(r"([&.])(?=[\s'\"$({])")
        if found:
            operator = found[1]
            scanner.blanks()
        name = self._name(scanner, invoked=bool(operator))
        arguments: list[Argument] = []
        redirections: list[Redirection] = []
        while True:
            place = scanner.position
            scanner.blanks()
            if scanner.at_end or scanner.see(r"[\r\n;|)}]|&"):
                break
            if scanner.see(r"[1-6*]?>"):
                redirection = self._redirection(scanner)
                if redirection:
                    redirections.append(redirection)
                    continue
            if scanner.position == place and arguments and arguments[-1].name is None:
                # No space separates the text from the previous argument, so both are one argument of an unknown kind.
                raise scanner.fail("Unexpected token")
            arguments.append(self._argument(scanner))
        return CommandInvocation(operator, name, tuple(arguments), tuple(redirections))

    def _name(self, scanner: TextScanner, *, invoked: bool) -> SyntaxNode:
        if invoked:
            if scanner.peek() and scanner.peek() in "$'\"({":
                return self.expressions.postfix(scanner, self.expressions.primary(scanner))
            return self.word(scanner)
        found = scanner.match(r"[%?](?=[\s{]|$)|[^\s;|&(){}<>,'\"$@#`-][^\s;|&(){}<>,'\"$]*")
        if not found:
            raise scanner.fail("Unexpected token")
        return Literal(found[0])

    def _argument(self, scanner: TextScanner) -> Argument:
        if scanner.match(r"--(?=\s|$)"):
            return Argument("--")
        found = scanner.match(_PARAMETER)
        if found:
            if not found[2]:
                return Argument(found[1])
            scanner.blanks()
            return Argument(found[1], self._word_list(scanner))
        return Argument(None, self._word_list(scanner))

    def _word_list(self, scanner: TextScanner) -> SyntaxNode:
        """Parse a word, or several words that are separated by commas."""
        items = [self.word(scanner)]
        while True:
            place = scanner.position
            scanner.blanks()
            if not scanner.take(","):
                scanner.position = place
                return items[0] if len(items) == 1 else ArrayLiteral(tuple(items))
            scanner.lines()
            items.append(self.word(scanner))

    def word(self, scanner: TextScanner) -> SyntaxNode:
        """Parse one word of a command: an operand, or text up to whitespace."""
        splat = scanner.match(r"@([A-Za-z_]\w*)")
        if splat:
            return VariableExpression(splat[1], splat=True)
        if scanner.see(r"""['"\u2018-\u201f({]|@[({'"]|\$\("""):
            return self.expressions.postfix(scanner, self.expressions.primary(scanner))
        place = scanner.position
        if scanner.looking_at("$"):
            node = self.expressions.postfix(scanner, self.expressions.primary(scanner))
            if scanner.see(r"[\s;|&(){}<>,]|$"):
                return node
            scanner.position = place
        number = scanner.number() if scanner.see(r"\d") else self._negative(scanner)
        if number is not None and scanner.see(r"[\s;|&(){}<>,]|$"):
            return Literal(*number)
        scanner.position = place
        return self._generic(scanner)

    @staticmethod
    def _negative(scanner: TextScanner) -> tuple[int | float, str] | None:
        if not scanner.match(r"-(?=\d)"):
            return None
        number = scanner.number()
        return (-number[0], f"-{number[1]}") if number else None

    def _generic(self, scanner: TextScanner) -> SyntaxNode:
        text = ""
        while True:
            found = scanner.match(r"[^\s;|&(){}<>,'\"`]+")
            if found:
                text += found[0]
                continue
            if scanner.looking_at("`") and not scanner.see(r"`\r?\n"):
                text += scanner.peek(2)
                scanner.position += 2
            elif text and scanner.see(r"'[^']*'"):
                quoted = scanner.match(r"'([^']*)'")
                text += (quoted[1] if quoted else "").replace("`", "``").replace("$", "`$")
            elif text and scanner.see(r'"(?:[^"`]|`.)*"'):
                quoted = scanner.match(r'"((?:[^"`]|`.)*)"')
                text += quoted[1] if quoted else ""
            elif scanner.see(r"\{") and text.endswith("$"):
                braced = scanner.match(r"\{[^}]*\}")
                text += braced[0] if braced else ""
            else:
                break
        if not text:
            raise scanner.fail("Unexpected token")
        return strings.expand(text, lambda inner: self.statements(inner, ")"))
