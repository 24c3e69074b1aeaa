# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Members of an answer read with their types: what is not of the wire format is one error that says where. Pure."""

from __future__ import annotations

import math
import typing as t

LONGEST_TEXT = 16384
"""Characters of an error's message or a warning; what is longer is cut."""
_NUMBERS = 2**64
"""No size, count or exit code of Windows is larger (docs/wire.md: an unsigned number of 64 bits)."""


MISREAD = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
"""What reading a value of another type than expected raises."""


class BadAnswer(ValueError):
    """An answer that is not of the wire format; the text says where and what was expected."""


def bad(where: str, expected: str, value: object) -> BadAnswer:
    """The error for a value of the wrong type; it never shows the value, which may be huge or secret."""
    return BadAnswer(f"{where}: expected {expected}, got {type(value).__name__}")


def mapping(value: object, where: str) -> t.Mapping[str, t.Any]:
    """An object of JSON; its names are texts.

    Raises:
        BadAnswer: it is something else.
    """
    if not isinstance(value, t.Mapping) or not all(isinstance(key, str) for key in value):
        raise bad(where, "an object", value)
    return value


def items(value: object, where: str) -> t.Sequence[t.Any]:
    """A list; null counts as an empty one.

    Raises:
        BadAnswer: it is something else.
    """
    if value is None:
        return ()
    if not isinstance(value, (list, tuple)):
        raise bad(where, "a list", value)
    return value


def text(value: object, where: str) -> str:
    """A text; null counts as an empty one.

    Raises:
        BadAnswer: it is something else.
    """
    if value is None:
        return ""
    if not isinstance(value, str):
        raise bad(where, "a text", value)
    return value


def whole(value: object, where: str) -> int:
    """A whole number.

    Raises:
        BadAnswer: it is something else, or larger than any number of Windows.
    """
    if isinstance(value, bool) or not isinstance(value, int):
        raise bad(where, "a whole number", value)
    if not -_NUMBERS < value < _NUMBERS:
        raise BadAnswer(f"{where}: expected a whole number of at most 64 bits")
    return value


def seconds(value: object, where: str) -> float:
    """A span of time; null counts as none.

    Raises:
        BadAnswer: it is no number, or no span that a clock can measure.
    """
    if value is None:
        return 0.0
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise bad(where, "a number of seconds", value)
    if not math.isfinite(value) or not 0 <= value < _NUMBERS:
        raise BadAnswer(f"{where}: expected a number of seconds from 0 on")
    return float(value)


def truth(value: object, where: str) -> bool:
    """True or false.

    Raises:
        BadAnswer: it is something else.
    """
    if not isinstance(value, bool):
        raise bad(where, "true or false", value)
    return value
