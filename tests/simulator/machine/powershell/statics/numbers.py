# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Static members of Math, Convert and the number types."""

from __future__ import annotations

import base64
import binascii
import math
from collections.abc import Callable, Mapping

from simulator.machine.conversion import net_type
from simulator.machine.objects import CmdletError, Enumeration, NotModelled, PSObject
from simulator.machine.powershell.running.errors import method_failure
from simulator.machine.powershell.types.arithmetic import integer, negate, number
from simulator.machine.powershell.types.convert import cast
from simulator.machine.powershell.types.kinds import INTEGERS, Int64, byte_array, to_bytes
from simulator.machine.powershell.types.plain_text import to_text
from simulator.machine.powershell.types.text import half_away, half_even

Function = Callable[..., object]
# The minimum and maximum number of arguments, and the function.
Static = tuple[int, int, Function]


def _round(value: object, *more: object) -> object:
    found = number(value)
    places = 0
    away = False
    for given in more:
        if isinstance(given, (Enumeration, str)):
            away = to_text(given).casefold() == "awayfromzero"
        else:
            places = integer(given)
    if not isinstance(found, (int, float)):
        raise NotModelled("[math]::Round() with a Decimal")
    return (half_away if away else half_even)(float(found), places)


def _whole(work: Callable[[float], float]) -> Function:
    def compute(value: object) -> object:
        found = number(value)
        if not isinstance(found, (int, float)):
            raise NotModelled("a [math] method with a Decimal")
        return float(work(float(found))) if math.isfinite(found) else found

    return compute


def _real(work: Callable[..., float]) -> Function:
    return lambda *given: float(work(*(float(number(item)) for item in given)))


def _extreme(work: Callable[..., object]) -> Function:
    def compute(left: object, right: object) -> object:
        first, second = number(left), number(right)
        if isinstance(first, int) != isinstance(second, int):
            return work(float(first), float(second))
        return work(first, second)

    return compute


def _absolute(value: object) -> object:
    found = number(value)
    return negate(value) if found < 0 else found


MATH: Mapping[str, Static] = {
    "round": (1, 3, _round),
    "floor": (1, 1, _whole(math.floor)),
    "ceiling": (1, 1, _whole(math.ceil)),
    "truncate": (1, 1, _whole(math.trunc)),
    "max": (2, 2, _extreme(max)),
    "min": (2, 2, _extreme(min)),
    "abs": (1, 1, _absolute),
    "sign": (1, 1, lambda value: (number(value) > 0) - (number(value) < 0)),
    "pow": (2, 2, _real(math.pow)),
    "sqrt": (1, 1, lambda value: math.sqrt(number(value)) if number(value) >= 0 else math.nan),
    "exp": (1, 1, _real(math.exp)),
    "log10": (1, 1, _real(math.log10)),
    "log": (1, 2, _real(math.log)),
    "sin": (1, 1, _real(math.sin)),
    "cos": (1, 1, _real(math.cos)),
}


def _to_text(value: object, *base: object) -> object:
    if not base:
        return to_text(value)
    found, radix = integer(value), integer(base[0])
    if radix not in (2, 8, 10, 16):
        raise method_failure("ToString", 2, "System.ArgumentException", "Invalid Base.")
    if found < 0 and radix != 10:
        found += 2**64 if isinstance(value, Int64) else 2**32
    return {2: f"{found:b}", 8: f"{found:o}", 10: str(found), 16: f"{found:x}"}[radix]


def _to_integer(kind: str) -> Function:
    def convert(value: object, *base: object) -> object:
        name = f"To{kind.removeprefix('System.')}"
        if base:
            try:
                return INTEGERS[kind][0](int(to_text(value), integer(base[0])))
            except ValueError:
                why = "Could not find any recognizable digits."
                raise method_failure(name, 2, "System.FormatException", why) from None
        if isinstance(value, str) and not value.strip().lstrip("+-").isdigit():
            why = f"The input string '{value}' was not in a correct format."
            raise method_failure(name, 1, "System.FormatException", why)
        return _cast(kind, value, name)

    return convert


def _cast(kind: str, value: object, name: str) -> object:
    try:
        return cast(kind, value)
    except NotModelled:
        raise
    except CmdletError:
        why = f"Value was either too large or too small for {kind}."
        raise method_failure(name, 1, "System.OverflowException", why) from None


def _to_boolean(value: object) -> object:
    if isinstance(value, str):
        if value.strip().casefold() in ("true", "false"):
            return value.strip().casefold() == "true"
        why = f"String '{value}' was not recognized as a valid Boolean."
        raise method_failure("ToBoolean", 1, "System.FormatException", why)
    return bool(number(value))


def _from_base64(text: object) -> object:
    try:
        return byte_array(base64.b64decode("".join(to_text(text).split()), validate=True))
    except binascii.Error:
        why = "The input is not a valid Base-64 string."
        raise method_failure("FromBase64String", 1, "System.FormatException", why) from None


def octets(value: object) -> bytes:
    """Convert a value to bytes.

    Raises:
        NotModelled: the value is neither bytes nor a list of numbers from 0 to 255.
    """
    found = to_bytes(value)
    if found is None:
        raise NotModelled(f"the conversion of {net_type(value)} to bytes")
    return found


CONVERT: Mapping[str, Static] = {
    "tostring": (1, 2, _to_text),
    "tobase64string": (1, 1, lambda value: base64.b64encode(octets(value)).decode()),
    "frombase64string": (1, 1, _from_base64),
    "toboolean": (1, 1, _to_boolean),
    "todouble": (1, 1, lambda value: cast("double", value)),
    "todatetime": (1, 1, lambda value: cast("datetime", value)),
    "tochar": (1, 1, lambda value: cast("char", value)),
    **{f"to{kind.removeprefix('System.').casefold()}": (1, 2, _to_integer(kind)) for kind in INTEGERS},
}


def _parse(kind: str) -> Function:
    def parse(text: object, *base: object) -> object:
        if base:
            raise NotModelled(f"[{kind}]::Parse() with a NumberStyles argument")
        try:
            if kind in INTEGERS and not to_text(text).strip().lstrip("+-").isdigit():
                raise CmdletError("", "", "")
            return cast(kind, str(text))
        except NotModelled:
            raise
        except CmdletError:
            why = f"The input string '{to_text(text)}' was not in a correct format."
            raise method_failure("Parse", 1, "System.FormatException", why) from None

    return parse


def _try_parse(kind: str) -> Function:
    def parse(text: object, target: object) -> object:
        value: object = 0
        good = True
        try:
            value = _parse(kind)(text)
        except NotModelled:
            raise
        except CmdletError:
            good = False
            value = cast(kind, 0) if kind in INTEGERS or kind == "System.Double" else None
        if isinstance(target, PSObject):
            target.properties["Value"] = value
        return good

    return parse


def _number_statics(kind: str) -> Mapping[str, Static]:
    return {"parse": (1, 2, _parse(kind)), "tryparse": (2, 2, _try_parse(kind))}


METHODS: dict[str, Mapping[str, Static]] = {
    "System.Math": MATH,
    "System.Convert": CONVERT,
    **{kind: _number_statics(kind) for kind in (*INTEGERS, "System.Double")},
}
PROPERTIES: dict[str, object] = {
    "System.Math.pi": math.pi,
    "System.Math.e": math.e,
    "System.Double.maxvalue": 1.7976931348623157e308,
    "System.Double.minvalue": -1.7976931348623157e308,
    "System.Double.nan": math.nan,
    "System.Double.positiveinfinity": math.inf,
    "System.Double.negativeinfinity": -math.inf,
    **{f"{kind}.maxvalue": make(high) for kind, (make, _, high) in INTEGERS.items()},
    **{f"{kind}.minvalue": make(low) for kind, (make, low, _) in INTEGERS.items()},
}
