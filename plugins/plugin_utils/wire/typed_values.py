# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Check the types of the values in a node's answer (no I/O). An error says which value has the wrong type."""

from __future__ import annotations

import math
import typing as t

LONGEST_TEXT = 16384
"""Maximum number of characters of a string that users see, such as an error message; the rest is cut off."""
_NUMBERS = 2**64
"""Sizes, counts and exit codes of Windows are below this limit, because they have at most 64 bits."""


MISREAD = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
"""The exceptions that can occur when code uses a value of an unexpected type."""


class BadAnswer(ValueError):
    """An answer that does not follow docs/wire.md; the message names the place in the answer and the expected type."""


def bad(where: str, expected: str, value: object) -> BadAnswer:
    """Return the error for a value of the wrong type. Its message omits the value, which may be long or secret."""
    return BadAnswer(f"{where}: expected {expected}, got {type(value).__name__}")


def mapping(value: object, where: str) -> t.Mapping[str, t.Any]:
    """Check that the value is a JSON object, and return it.

    Raises:
        BadAnswer: the value is not a JSON object.
    """
    if not isinstance(value, t.Mapping) or not all(isinstance(key, str) for key in value):
        raise bad(where, "an object", value)
    return value


def items(value: object, where: str) -> t.Sequence[t.Any]:
    """Check that the value is a list, and return it; null becomes an empty list.

    Raises:
        BadAnswer: the value is neither a list nor null.
    """
    if value is None:
        return ()
    if not isinstance(value, (list, tuple)):
        raise bad(where, "a list", value)
    return value


def text(value: object, where: str) -> str:
    """Check that the value is a string, and return it; null becomes an empty string.

    Raises:
        BadAnswer: the value is neither a string nor null.
    """
    if value is None:
        return ""
    if not isinstance(value, str):
        raise bad(where, "a string", value)
    return value


def whole(value: object, where: str) -> int:
    """Check that the value is an integer, and return it.

    Raises:
        BadAnswer: the value is not an integer, or has more than 64 bits.
    """
    if isinstance(value, bool) or not isinstance(value, int):
        raise bad(where, "an integer", value)
    if not -_NUMBERS < value < _NUMBERS:
        raise BadAnswer(f"{where}: expected an integer of at most 64 bits")
    return value


def seconds(value: object, where: str) -> float:
    """Check that the value is a duration in seconds, and return it; null becomes 0.

    Raises:
        BadAnswer: the value is not a number, or is negative, not finite, or 2**64 or more.
    """
    if value is None:
        return 0.0
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise bad(where, "a number of seconds", value)
    if not math.isfinite(value) or not 0 <= value < _NUMBERS:
        raise BadAnswer(f"{where}: expected a number of seconds from 0 to less than 2**64")
    return float(value)


def truth(value: object, where: str) -> bool:
    """Check that the value is a boolean, and return it.

    Raises:
        BadAnswer: the value is not a boolean.
    """
    if not isinstance(value, bool):
        raise bad(where, "true or false", value)
    return value
