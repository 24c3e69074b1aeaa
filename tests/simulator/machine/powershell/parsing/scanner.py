# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The parser's scanner, which reads the text of a script: whitespace, comments, names and numbers."""

from __future__ import annotations

import re

from simulator.machine.objects import CmdletError, NotModelled
from simulator.machine.powershell.types.kinds import Int64

_BLANK = re.compile(r"(?:[ \t\f\v\u00a0]|`\r?\n|<#.*?#>|#[^\r\n]*)*", re.DOTALL)
_NEWLINES = re.compile(r"(?:[\s;\u00a0]|`\r?\n|<#.*?#>|#[^\r\n]*)*", re.DOTALL)
_SPACE_AND_LINES = re.compile(r"(?:[\s\u00a0]|`\r?\n|<#.*?#>|#[^\r\n]*)*", re.DOTALL)
_NUMBER = re.compile(
    r"(?:0x[0-9a-fA-F]+|\d+\.\d*(?:e[+-]?\d+)?|\.\d+|\d+(?:e[+-]?\d+)?)(?P<suffix>[ld]?)(?P<size>[kmgtp]b)?",
    re.IGNORECASE,
)
_SIZES = {"kb": 1 << 10, "mb": 1 << 20, "gb": 1 << 30, "tb": 1 << 40, "pb": 1 << 50}
# What may follow a name or number in an expression.
_BOUNDARY = re.compile(r"""[\s;|&(){}\[\],<>=+\-*/%.:'"!]|$""")


class ParseError(CmdletError):
    """Raised if a script is not valid PowerShell, or if the simulator does not support it."""

    def __init__(self, message: str, error_id: str = "ParserError") -> None:
        kind = "System.Management.Automation.ParseException"
        super().__init__("ParserError", error_id, message, kind)
        self.ends_script = True
        self.approximate = True


class TextScanner:
    """A reader of a script's text, with the current position."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.position = 0

    def fail(self, what: str, error_id: str = "") -> ParseError:
        """Return an error with the current position.

        If an error id is given, the text is also invalid in PowerShell. Otherwise, it may be valid PowerShell that is
        not modelled.
        """
        line = self.text.count("\n", 0, self.position) + 1
        rest = self.text[self.position : self.position + 40].splitlines()
        message = f"At line:{line}: {what} near '{rest[0] if rest else ''}'"
        if error_id:
            return ParseError(message, error_id)
        return ParseError(f"{message} (the simulator does not model this piece of PowerShell)")

    def blanks(self) -> None:
        """Skip spaces, tabs, comments, and line endings after a backtick, but no other line endings."""
        self._skip(_BLANK)

    def lines(self) -> None:
        """Skip whitespace, comments and line endings."""
        self._skip(_SPACE_AND_LINES)

    def separators(self) -> None:
        """Skip whitespace, comments, line endings and semicolons."""
        self._skip(_NEWLINES)

    def _skip(self, pattern: re.Pattern[str]) -> None:
        match = pattern.match(self.text, self.position)
        if match:
            self.position = match.end()

    @property
    def at_end(self) -> bool:
        """Whether the end of the text has been reached."""
        return self.position >= len(self.text)

    def peek(self, length: int = 1) -> str:
        """Return the next characters without consuming them."""
        return self.text[self.position : self.position + length]

    def looking_at(self, text: str) -> bool:
        """Return whether the given text comes next."""
        return self.text.startswith(text, self.position)

    def take(self, text: str) -> bool:
        """Consume the given text if it comes next. Return whether it was consumed."""
        if self.looking_at(text):
            self.position += len(text)
            return True
        return False

    def expect(self, text: str) -> None:
        """Consume the given text. Raise ParseError if it does not come next."""
        if not self.take(text):
            # A word where an expression must end is also an error in PowerShell.
            wrong = text == ")" and re.match(r"[A-Za-z$'\"]", self.peek() or " ")
            raise self.fail(f"Missing '{text}'", "UnexpectedToken" if wrong else "")

    def match(self, pattern: str | re.Pattern[str]) -> re.Match[str] | None:
        """Consume and return the match of a pattern at the current position, or None if the pattern does not match."""
        compiled = re.compile(pattern, re.IGNORECASE) if isinstance(pattern, str) else pattern
        found = compiled.match(self.text, self.position)
        if found:
            self.position = found.end()
        return found

    def see(self, pattern: str) -> re.Match[str] | None:
        """Return the match of a pattern at the current position without consuming it, or None if there is no match."""
        return re.compile(pattern, re.IGNORECASE).match(self.text, self.position)

    def keyword(self, *words: str) -> str | None:
        """Consume the next word and return it in lower case if it is one of the given words. Otherwise, return None."""
        found = self.see(r"[A-Za-z]+(?![\w\-.\\:/])")
        if found and found[0].casefold() in words:
            self.position = found.end()
            return found[0].casefold()
        return None

    def number(self) -> tuple[int | float, str] | None:
        """Consume a number, and return its value and its text, or None if no number follows.

        The number must end at a delimiter, such as a space, an operator or the end of the text.
        """
        found = _NUMBER.match(self.text, self.position)
        if not found or not _BOUNDARY.match(self.text, found.end()):
            return None
        # `1..3` is a range, not `1.` and `.3`.
        text = found[0]
        if text.endswith(".") and self.text.startswith(".", found.end()):
            text = text[:-1]
        self.position += len(text)
        digits = text[: len(text) - len(found["suffix"] or "") - len(found["size"] or "")]
        return _number(digits, (found["suffix"] or "").casefold(), (found["size"] or "").casefold()), text


def _number(digits: str, suffix: str, size: str) -> int | float:
    """Return the value of a number literal.

    It is a Double if the literal has a decimal point or an exponent. Otherwise, it is an Int32, or an Int64 if the
    literal has the suffix `l` or does not fit into an Int32.
    """
    lower = digits.casefold()
    if suffix == "d" or (suffix and size):
        raise NotModelled("a literal of the type Decimal")
    if lower.startswith("0x"):
        value = int(lower, 16)
        if 2**31 <= value < 2**32:
            value -= 2**32
    elif re.fullmatch(r"\d+", digits):
        value = int(digits)
    else:
        return float(digits) * _SIZES.get(size, 1)
    value *= _SIZES.get(size, 1)
    if not -(2**63) <= value < 2**63:
        raise NotModelled(f"the number {digits}")
    return Int64(value) if suffix == "l" or not -(2**31) <= value < 2**31 else value
