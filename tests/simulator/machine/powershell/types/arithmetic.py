# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Calculate as PowerShell does: convert operands to numbers, and choose the type of the result.

An integer result that does not fit into the common type of the operands becomes a Double.

Source: https://learn.microsoft.com/powershell/module/microsoft.powershell.core/about/about_arithmetic_operators
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from datetime import datetime, timedelta
from decimal import Decimal

from simulator.machine.conversion import net_type
from simulator.machine.objects import Enumeration, NotModelled
from simulator.machine.powershell.running.errors import bad_cast, divided_by_zero, failure
from simulator.machine.powershell.types.kinds import (
    INTEGERS,
    Char,
    GenericDictionary,
    Hashtable,
    Int64,
    OrderedDictionary,
    Single,
    UInt32,
    UInt64,
)
from simulator.machine.powershell.types.plain_text import to_text

Number = int | float | Decimal
_WHOLE = re.compile(r"[+-]?\d+(,\d+)*")
_REAL = re.compile(r"[+-]?(\d+(,\d+)*\.?\d*|\.\d+)(e[+-]?\d+)?", re.IGNORECASE)
_SUFFIXED = re.compile(r"[+-]?[\d.]+(e[+-]?\d+)?[a-z]{1,3}", re.IGNORECASE)


def parse(text: str, kind: str = "System.Int32") -> Number:
    """Parse a string as a number.

    Raises:
        CmdletError: the string is not a number. The message contains `kind`, the name of the requested type.
        NotModelled: the number has a suffix, such as `1kb`.
    """
    stripped = text.strip()
    if not stripped:
        return 0
    if re.fullmatch(r"0x[0-9a-f]+", stripped, re.IGNORECASE):
        return whole(int(stripped, 16))
    if _WHOLE.fullmatch(stripped):
        return whole(int(stripped.replace(",", "")))
    if _REAL.fullmatch(stripped):
        return float(stripped.replace(",", ""))
    if _SUFFIXED.fullmatch(stripped):
        raise NotModelled(f"the conversion of the string '{text}' to a number")
    why = f"The input string '{text}' was not in a correct format."
    raise bad_cast(f'Cannot convert value "{text}" to type "{kind}". Error: "{why}"')


def whole(number: int) -> int | float:
    """Return a number as an Int32, Int64 or Double, whichever is the first that can represent it."""
    if -(2**31) <= number < 2**31:
        return int(number)
    return Int64(number) if -(2**63) <= number < 2**63 else float(number)


def number(value: object) -> Number:
    """Return an operand as a number.

    Raises:
        CmdletError: the operand cannot be converted.
    """
    if value is None:
        return 0
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, Char):
        return ord(value)
    if isinstance(value, (int, float, Decimal)):
        return value
    if isinstance(value, Enumeration):
        return value.number
    if isinstance(value, str):
        return parse(value)
    named = net_type(value)
    message = f'Cannot convert the "{to_text(value)}" value of type "{named}" to type "System.Int32".'
    raise bad_cast(message, "ConvertToFinalInvalidCastException")


def integer(value: object) -> int:
    """Return an operand as an integer, rounded half to even.

    Raises:
        CmdletError: the operand cannot be converted.
    """
    found = number(value)
    return int(found) if isinstance(found, int) else round(found)


def _wide(value: int) -> bool:
    return isinstance(value, Int64) or not -(2**31) <= value < 2**31


def _result(left: Number, right: Number, found: int) -> Number:
    """Return an integer result in the common type of the operands, or a Double if this type is too small."""
    if isinstance(left, UInt64) or isinstance(right, UInt64):
        if not (isinstance(left, UInt64) and isinstance(right, UInt64)):
            raise NotModelled("arithmetic with UInt64 and another type")
        return UInt64(found) if 0 <= found < 2**64 else float(found)
    if isinstance(left, UInt32) and isinstance(right, UInt32):
        return UInt32(found) if 0 <= found < 2**32 else float(found)
    unsigned = isinstance(left, UInt32) or isinstance(right, UInt32)
    if unsigned or (isinstance(left, int) and _wide(left)) or (isinstance(right, int) and _wide(right)):
        return Int64(found) if -(2**63) <= found < 2**63 else float(found)
    return int(found) if -(2**31) <= found < 2**31 else float(found)


def _apply(
    left: object,
    right: object,
    on_whole: Callable[[int, int], int],
    on_real: Callable[[float, float], float],
    on_decimal: Callable[[Decimal, Decimal], Decimal],
) -> object:
    if isinstance(left, Enumeration) or isinstance(right, Enumeration):
        raise NotModelled("arithmetic with enumerations")
    first, second = number(left), number(right)
    if isinstance(first, Decimal) or isinstance(second, Decimal):
        if isinstance(first, float) or isinstance(second, float):
            raise NotModelled("arithmetic with Decimal and Double")
        return on_decimal(Decimal(first), Decimal(second))
    if isinstance(first, float) or isinstance(second, float):
        if isinstance(first, Single) or isinstance(second, Single):
            raise NotModelled("arithmetic with Single")
        try:
            return on_real(float(first), float(second))
        except OverflowError:
            return math.inf
    return _result(first, second, on_whole(int(first), int(second)))


def add(left: object, right: object) -> object:
    """Return `left + right`."""
    if isinstance(left, (list, tuple)):
        return [*left, *(right if isinstance(right, (list, tuple)) else [right])]
    if isinstance(left, dict):
        return _merged(left, right)
    if isinstance(left, Char):
        if isinstance(right, str):
            raise NotModelled("adding a string to a Char")
    elif isinstance(left, str):
        return left + to_text(right)
    if isinstance(left, (datetime, timedelta)):
        if isinstance(right, timedelta):
            return left + right
        raise NotModelled(f"adding {net_type(right)} to {net_type(left)}")
    if left is None:
        return right
    return _apply(left, right, lambda a, b: a + b, lambda a, b: a + b, lambda a, b: a + b)


def _merged(left: dict[object, object], right: object) -> object:
    if not isinstance(right, dict):
        raise failure("A hash table can only be added to another hash table.", "AddHashTableToNonHashTable")
    if isinstance(left, (OrderedDictionary, GenericDictionary)):
        raise NotModelled(f"adding a hash table to {net_type(left)}")
    made = Hashtable(left)
    known = {to_text(key).casefold() for key in left}
    if any(to_text(key).casefold() in known for key in right):
        raise NotModelled("adding a hash table to another one with a key in common")
    made.update(right)
    return made


def subtract(left: object, right: object) -> object:
    """Return `left - right`."""
    if isinstance(left, datetime) and isinstance(right, datetime):
        if (left.tzinfo is None) != (right.tzinfo is None):
            return left.replace(tzinfo=None) - right.replace(tzinfo=None)
        return left - right
    if isinstance(left, (datetime, timedelta)):
        if isinstance(right, timedelta):
            return left - right
        raise NotModelled(f"subtracting {net_type(right)} from {net_type(left)}")
    return _apply(left, right, lambda a, b: a - b, lambda a, b: a - b, lambda a, b: a - b)


def multiply(left: object, right: object) -> object:
    """Return `left * right`. If `left` is a string or a list, repeat it `right` times."""
    if left is None:
        return None
    if isinstance(left, str) and not isinstance(left, Char):
        return str(left) * max(0, integer(right))
    if isinstance(left, (list, tuple)):
        return list(left) * max(0, integer(right))
    return _apply(left, right, lambda a, b: a * b, lambda a, b: a * b, lambda a, b: a * b)


def divide(left: object, right: object) -> object:
    """Return `left / right`. The quotient of two integers is an integer if there is no remainder."""
    first, second = number(left), number(right)
    if isinstance(first, int) and isinstance(second, int):
        if second == 0:
            raise divided_by_zero()
        if first % second:
            return int(first) / int(second)
        return _result(first, second, int(first) // int(second))
    if isinstance(second, Decimal) and second == 0:
        raise divided_by_zero()
    return _apply(first, second, lambda a, b: a // b, _real_quotient, lambda a, b: a / b)


def _real_quotient(left: float, right: float) -> float:
    if right == 0:
        return math.nan if left == 0 or math.isnan(left) else math.copysign(math.inf, left)
    return left / right


def modulo(left: object, right: object) -> object:
    """Return `left % right` with the sign of the left operand."""
    first, second = number(left), number(right)
    if isinstance(second, (int, Decimal)) and not isinstance(first, float) and second == 0:
        raise divided_by_zero()
    return _apply(
        first,
        second,
        lambda a, b: int(math.copysign(1, a)) * (abs(a) % abs(b)),
        lambda a, b: math.fmod(a, b) if b else math.nan,
        lambda a, b: a % b,
    )


def negate(value: object) -> object:
    """Return `-value`."""
    return subtract(0, value) if not isinstance(number(value), float) else -number(value)


def _bits(value: object) -> int:
    found = number(value)
    if not isinstance(found, int) or isinstance(found, (UInt32, UInt64)):
        raise NotModelled(f"bitwise operators with {net_type(value)}")
    return found


def bitwise(name: str, left: object, right: object) -> object:
    """Return `left -name right`, where `name` is band, bor, bxor, shl or shr."""
    first, second = _bits(left), _bits(right)
    wide = _wide(first) or (name in ("band", "bor", "bxor") and _wide(second))
    size = 64 if wide else 32
    if name in ("shl", "shr"):
        second &= size - 1
    found = {
        "band": lambda: first & second,
        "bor": lambda: first | second,
        "bxor": lambda: first ^ second,
        "shl": lambda: first << second,
        "shr": lambda: first >> second,
    }[name]()
    found &= 2**size - 1
    found -= 2**size if found >= 2 ** (size - 1) else 0
    return Int64(found) if wide else found


def invert(value: object) -> object:
    """Return `-bnot value`."""
    found = _bits(value)
    return Int64(~found) if _wide(found) else ~found


def fits(kind: str, found: int) -> bool:
    """Return whether a number fits into an integer type."""
    _, low, high = INTEGERS[kind]
    return low <= found <= high
