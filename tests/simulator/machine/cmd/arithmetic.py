# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Evaluate `set /a` of cmd.exe, which assigns signed 32-bit integers to variables.

See https://learn.microsoft.com/windows-server/administration/windows-commands/set_1. Variable names need no percent
signs. A variable whose value is not a number counts as 0.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from simulator.machine.cmd.errors import CmdNotModelledError
from simulator.machine.objects import ProgramResult
from simulator.machine.session import Session

_TOKEN = re.compile(r"\s*(0[xX][0-9A-Fa-f]+|\d+|[A-Za-z_]\w*|<<|>>|[-+*/%&^|()~!])")
# Operators from the weakest to the strongest.
_LEVELS: tuple[Mapping[str, Callable[[int, int], int]], ...] = (
    {"|": lambda left, right: left | right},
    {"^": lambda left, right: left ^ right},
    {"&": lambda left, right: left & right},
    {"<<": lambda left, right: left << right if right < 32 else 0, ">>": lambda left, right: left >> min(right, 31)},
    {"+": lambda left, right: left + right, "-": lambda left, right: left - right},
    {
        "*": lambda left, right: left * right,
        "/": lambda left, right: int(left / right),
        "%": lambda left, right: left - right * int(left / right),
    },
)


def _wrapped(value: int) -> int:
    return (value + 2**31) % 2**32 - 2**31


class _NumberExpression:
    """An arithmetic expression of `set /a`, which is evaluated while it is parsed."""

    def __init__(self, session: Session, text: str) -> None:
        self._session = session
        self._tokens: list[str] = []
        rest = text.strip()
        while rest:
            match = _TOKEN.match(rest)
            if match is None:
                raise CmdNotModelledError(f"set /a {text}")
            self._tokens.append(match[1])
            rest = rest[match.end() :].strip()
        self._text = text

    def value(self) -> int:
        found = self._level(0)
        if self._tokens:
            raise CmdNotModelledError(f"set /a {self._text}")
        return found

    def _level(self, level: int) -> int:
        if level == len(_LEVELS):
            return self._operand()
        found = self._level(level + 1)
        while self._tokens and self._tokens[0] in _LEVELS[level]:
            operator = self._tokens.pop(0)
            right = self._level(level + 1)
            if operator in "/%" and not right:
                raise CmdNotModelledError("set /a with a division by zero")
            found = _wrapped(_LEVELS[level][operator](found, right))
        return found

    def _operand(self) -> int:
        token = self._tokens.pop(0) if self._tokens else ""
        if token == "(":
            found = self._level(0)
            if not self._tokens or self._tokens.pop(0) != ")":
                raise CmdNotModelledError(f"set /a {self._text}")
            return found
        if token == "-":
            return _wrapped(-self._operand())
        if token in ("~", "!"):
            inner = self._operand()
            return ~inner if token == "~" else int(not inner)
        if token[:1].isdigit():
            return _wrapped(_number(token))
        if token[:1].isalpha() or token[:1] == "_":
            text = self._session.variable(token).strip()
            return _wrapped(_number(text)) if re.fullmatch(r"-?(0[xX][0-9A-Fa-f]+|\d+)", text) else 0
        raise CmdNotModelledError(f"set /a {self._text}")


def _number(text: str) -> int:
    sign, digits = (-1, text[1:]) if text.startswith("-") else (1, text)
    if digits[:2].casefold() == "0x":
        return sign * int(digits, 16)
    if len(digits) > 1 and digits.startswith("0"):
        # A leading zero means an octal number; 08 and 09 are errors.
        if not re.fullmatch(r"[0-7]+", digits):
            raise CmdNotModelledError(f"set /a with the number {text}")
        return sign * int(digits, 8)
    return sign * int(digits)


def set_numbers(session: Session, text: str) -> ProgramResult:
    """Evaluate one or more assignments of `set /a` (`NAME=EXPRESSION`), which are separated by commas.

    Raises:
        CmdNotModelledError: an assignment has another form, divides by zero, or contains an invalid octal number.
    """
    for part in text.split(","):
        name, equals, expression = part.partition("=")
        name = name.strip()
        if not equals or not re.fullmatch(r"[A-Za-z_]\w*", name):
            raise CmdNotModelledError(f"set /a {part}")
        value = _NumberExpression(session, expression).value()
        kept = {key: old for key, old in session.environment.items() if key.casefold() != name.casefold()}
        session.environment = {**kept, name: str(value)}
    return ProgramResult()
