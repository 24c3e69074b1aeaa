# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Parse a command line of cmd.exe: commands, operators, parentheses, `if`, `for` and redirections.

The grammar follows the parser of ReactOS (base/shell/cmd/parser.c), which follows Windows. The body of `if` and `for`
extends to the end of the line or to the closing parenthesis.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from simulator.machine.cmd.errors import CmdNotModelledError, SyntaxRefusedError

_OPERATORS = ("&&", "||", "&", "|")


@dataclass(frozen=True)
class CmdRedirection:
    """A redirection `stream mode target`, such as `1 >> file`, `2 > &1` or `0 < file`."""

    stream: str
    mode: str
    target: str


@dataclass
class Simple:
    """A command with its arguments as one string. Quotes are kept, and carets (`^`) are removed.

    Args:
        quiet: whether `@` precedes the command.
    """

    text: str
    redirections: list[CmdRedirection] = field(default_factory=list)
    quiet: bool = False


@dataclass
class Group:
    """A group of commands in parentheses."""

    steps: list[CmdStep]
    redirections: list[CmdRedirection] = field(default_factory=list)
    quiet: bool = False


@dataclass
class CmdIf:
    """The command `if [not] condition body [else other]`."""

    condition: list[str]
    negated: bool
    ignore_case: bool
    body: list[CmdStep]
    other: list[CmdStep]
    quiet: bool = False


@dataclass
class For:
    """The command `for [/l | /f "options"] %letter in (items) do body`."""

    kind: str
    options: str
    letter: str
    items: str
    body: list[CmdStep]
    quiet: bool = False


Node = Simple | Group | CmdIf | For


@dataclass
class CmdStep:
    """A command and the operator that connects it with the command before it."""

    operator: str
    node: Node


def parse(line: str) -> list[CmdStep]:
    """Parse the commands in one line, or in a block of lines that parentheses hold together.

    Raises:
        SyntaxRefusedError: the syntax is invalid.
        CmdNotModelledError: the simulator does not model a part of the line.
    """
    parser = _Parser(line)
    steps = parser.sequence()
    parser.blanks()
    if not parser.ended:
        raise SyntaxRefusedError(f"{parser.text[parser.at]} was unexpected at this time.\r\n")
    return steps


class _Parser:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.depth = 0

    @property
    def ended(self) -> bool:
        return self.at >= len(self.text)

    def rest(self) -> str:
        return self.text[self.at :]

    def blanks(self, more: str = "") -> None:
        while not self.ended and self.text[self.at] in " \t" + more:
            self.at += 1

    def sequence(self) -> list[CmdStep]:
        """Parse commands up to the end of the text or the closing parenthesis.

        Raises:
            SyntaxRefusedError: a command is invalid, or `|`, `&&` or `||` comes last.
        """
        steps: list[CmdStep] = []
        operator = ""
        while True:
            self.blanks("\n" if self.depth else "")
            if self.ended or (self.depth and self.text[self.at] == ")"):
                if operator in ("|", "&&", "||"):
                    raise SyntaxRefusedError("The syntax of the command is incorrect.\r\n")
                return steps
            steps.append(CmdStep(operator, self.command()))
            operator = self.operator()
            if not operator:
                return steps

    def operator(self) -> str:
        self.blanks()
        found = next((text for text in _OPERATORS if self.rest().startswith(text)), "")
        self.at += len(found)
        if not found and self.depth and self.rest().startswith("\n"):
            return "&"
        return found

    def command(self) -> Node:
        self.blanks(" \t,;=")
        quiet = False
        while self.rest().startswith("@"):
            quiet = True
            self.at += 1
            self.blanks()
        node = self.bare()
        node.quiet = quiet
        return node

    def bare(self) -> Node:
        if self.rest().startswith("("):
            return self.group()
        word = re.match(r"[A-Za-z]+(?=[\s(/]|$)", self.rest())
        name = word[0].casefold() if word else ""
        if name == "if":
            return self.condition()
        if name == "for":
            return self.loop()
        if name == "rem":
            ending = self.rest().find("\n")
            self.at = self.at + ending if ending >= 0 else len(self.text)
            return Simple("rem")
        return self.simple()

    def group(self) -> Group:
        self.at += 1
        self.depth += 1
        steps = self.sequence()
        self.blanks("\n")
        if self.ended:
            raise SyntaxRefusedError("The syntax of the command is incorrect.\r\n")
        self.at += 1
        self.depth -= 1
        group = Group(steps)
        while True:
            self.blanks()
            redirection = self.redirection()
            if redirection is None:
                return group
            group.redirections.append(redirection)

    def redirection(self) -> CmdRedirection | None:
        match = re.match(r"([0-9]?)(>>|>|<)", self.rest())
        if not match:
            return None
        self.at += match.end()
        duplicate = re.match(r"\s*&([12])", self.rest())
        default = "0" if match[2] == "<" else "1"
        if duplicate:
            self.at += duplicate.end()
            return CmdRedirection(match[1] or default, match[2], f"&{duplicate[1]}")
        self.blanks()
        target = re.match(r'(?:"[^"\n]*"|[^\s"<>&|()])+', self.rest())
        if not target:
            raise SyntaxRefusedError("The syntax of the command is incorrect.\r\n")
        self.at += target.end()
        return CmdRedirection(match[1] or default, match[2], target[0].replace('"', ""))

    def simple(self) -> Simple:
        command = Simple("")
        text: list[str] = []
        quoted = False
        while not self.ended:
            char = self.text[self.at]
            if char == '"':
                quoted = not quoted
            elif not quoted and char == "^":
                self.at += 1
                if self.rest().startswith("\n"):
                    raise CmdNotModelledError("a line continued with ^")
                text.append(self.rest()[:1])
                self.at += 1
                continue
            elif char == "\n" or (not quoted and (char in "&|" or (self.depth and char == ")"))):
                break
            elif not quoted and (char in "<>" or (char.isdigit() and self._begins_redirection(text))):
                found = self.redirection()
                if found is not None:
                    command.redirections.append(found)
                    continue
            text.append(char)
            self.at += 1
        command.text = "".join(text)
        return command

    def _begins_redirection(self, text: list[str]) -> bool:
        apart = not text or text[-1] in " \t,;="
        return apart and re.match(r"[0-9](>>?|<)", self.rest()) is not None

    def next_words(self, count: int) -> list[str]:
        found: list[str] = []
        while len(found) < count:
            self.blanks()
            match = re.match(r'(?:"[^"\n]*"|[^\s"()&|<>])+', self.rest())
            if not match:
                raise SyntaxRefusedError("The syntax of the command is incorrect.\r\n")
            self.at += match.end()
            found.append(match[0])
        return found

    def condition(self) -> CmdIf:
        self.at += 2
        ignore_case = negated = False
        while True:
            self.blanks()
            option = re.match(r"(/i|not)(?=\s)", self.rest(), re.IGNORECASE)
            if not option:
                break
            ignore_case, negated = ignore_case or option[1][0] == "/", negated or option[1][0] in "nN"
            self.at += option.end()
        words = self._comparison()
        body = self.one_or_all()
        other: list[CmdStep] = []
        self.blanks()
        alternative = re.match(r"else(?=[\s(]|$)", self.rest(), re.IGNORECASE)
        if alternative and len(body) == 1 and isinstance(body[0].node, Group):
            self.at += 4
            other = self.one_or_all()
        return CmdIf(words, negated, ignore_case, body, other)

    def one_or_all(self) -> list[CmdStep]:
        """Parse the body of `if` or `else`.

        It is the rest of the line or, if `else` follows a group in parentheses, only this group.
        """
        self.blanks()
        start = self.at
        if self.rest().startswith("("):
            group = self.group()
            self.blanks()
            if re.match(r"else(?=[\s(]|$)", self.rest(), re.IGNORECASE):
                return [CmdStep("", group)]
            self.at = start
        steps = self.sequence()
        if not steps:
            raise SyntaxRefusedError("The syntax of the command is incorrect.\r\n")
        return steps

    def _comparison(self) -> list[str]:
        unary = re.match(r"(exist|defined|errorlevel)\s+", self.rest(), re.IGNORECASE)
        if unary:
            self.at += unary.end()
            return [unary[1].casefold(), *self.next_words(1)]
        equal = re.match(r'((?:"[^"\n]*"|[^\s"=&|<>()])*)\s*==\s*((?:"[^"\n]*"|[^\s"&|<>()])+)', self.rest())
        if equal:
            self.at += equal.end()
            return ["==", equal[1], equal[2]]
        left, operator, right = self.next_words(3)
        if operator.casefold() not in ("equ", "neq", "lss", "leq", "gtr", "geq"):
            raise SyntaxRefusedError(f"{operator} was unexpected at this time.\r\n")
        return [operator.casefold(), left, right]

    def loop(self) -> For:
        self.at += 3
        match = re.match(r'\s+(/[a-z])?\s*("[^"\n]*"|)\s*%+([A-Za-z])\s+in\s*\(', self.rest(), re.IGNORECASE)
        if not match:
            raise SyntaxRefusedError("The syntax of the command is incorrect.\r\n")
        self.at += match.end()
        kind = (match[1] or "").casefold()
        if kind not in ("", "/l", "/f"):
            raise CmdNotModelledError(f"for {kind}")
        items = re.match(r"""((?:"[^"]*"|'[^']*'|[^)"'])*)\)\s*do(?=[\s(@])""", self.rest(), re.IGNORECASE)
        if not items:
            raise SyntaxRefusedError("The syntax of the command is incorrect.\r\n")
        self.at += items.end()
        body = self.sequence()
        if not body:
            raise SyntaxRefusedError("The syntax of the command is incorrect.\r\n")
        return For(kind, match[2].strip('"'), match[3], items[1].replace("\n", " "), body)
