# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Format values with .NET format strings: `-f`, ToString(format) and dates."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from decimal import ROUND_HALF_UP, Decimal

from simulator.machine.conversion import net_type
from simulator.machine.objects import CmdletError, Enumeration, NotModelled
from simulator.machine.powershell.running.errors import failure
from simulator.machine.powershell.types.convert import items
from simulator.machine.powershell.types.plain_text import double_text, to_text

_STANDARD = re.compile(r"([A-Za-z])(\d{0,2})")
_CUSTOM = re.compile(r"(?P<group>#,##)?(?P<whole>[0#]+)(?:\.(?P<decimals>[0#]+))?(?P<percent>%)?")
_ITEM = re.compile(r"\{\{|\}\}|\{(\d+)\s*(?:,\s*(-?\d+))?\s*(?::((?:[^}]|\}\})*))?\}|[{}]")
_DATE_STANDARD = {
    "o": "yyyy-MM-ddTHH:mm:ss.fffffffK",
    "O": "yyyy-MM-ddTHH:mm:ss.fffffffK",
    "u": "yyyy-MM-dd HH:mm:ss'Z'",
    "s": "yyyy-MM-ddTHH:mm:ss",
    "d": "MM/dd/yyyy",
    "t": "HH:mm",
    "T": "HH:mm:ss",
    "D": "dddd, dd MMMM yyyy",
    "f": "dddd, dd MMMM yyyy HH:mm",
    "F": "dddd, dd MMMM yyyy HH:mm:ss",
    "g": "MM/dd/yyyy HH:mm",
    "G": "MM/dd/yyyy HH:mm:ss",
}
_DATE = re.compile(
    r"'[^']*'|\"[^\"]*\"|\\.|yyyy|yy|MMMM|MMM|MM|M|dddd|ddd|dd|d|HH|H|hh|h|mm|m|ss|s|tt|t|f+|F+|zzz|zz|z|K|%|gg?"
)
_CODES = {"MMMM": "%B", "MMM": "%b", "dddd": "%A", "ddd": "%a"}


def format_text(left: object, right: object, sensitive: bool = False) -> str:
    """Return the result of `-f` for formats such as `{0}`, `{1,5}`, `{0:x2}`, `{0:N1}` and `{0:yyyy-MM-dd}`."""
    arguments = items(right) if isinstance(right, list) else [right]

    def fill(match: re.Match[str]) -> str:
        if match[0] in ("{{", "}}"):
            return match[0][0]
        if match[1] is None:
            raise _format_error("Input string was not in a correct format.")
        index = int(match[1])
        if index >= len(arguments):
            raise _format_error(
                "Index (zero based) must be greater than or equal to zero and less than the size of the argument list."
            )
        text = _item(arguments[index], match[3] or "")
        width = int(match[2] or 0)
        return text.rjust(width) if width >= 0 else text.ljust(-width)

    return _ITEM.sub(fill, to_text(left))


def _format_error(why: str) -> CmdletError:
    return failure(f"Error formatting a string: {why}.", "FormatError")


def _item(value: object, form: str) -> str:
    if isinstance(value, (list, dict)):
        return net_type(value)
    return shaped(value, form) if form else method_text(value)


def method_text(value: object) -> str:
    """Return the result of ToString() without a format.

    Raises:
        NotModelled: the value is a Double with more than 15 digits, which versions of .NET show differently.
    """
    if isinstance(value, float) and value == value and float(double_text(value)) != value:
        raise NotModelled("a Double whose text differs between versions of .NET")
    if isinstance(value, (list, dict)):
        return net_type(value)
    return to_text(value)


def shaped(value: object, form: str) -> str:
    """Format a value with a .NET format string.

    Raises:
        NotModelled: the format is unknown.
        CmdletError: the format is not valid for the value's type.
    """
    if not form:
        return method_text(value)
    if isinstance(value, datetime):
        return date_text(value, form)
    if isinstance(value, timedelta):
        return _span_text(value, form)
    if isinstance(value, Enumeration):
        if form in "gGfF":
            return value.name
        if form in "dD":
            return str(value.number)
        raise NotModelled(f"the format '{form}' for an enumeration")
    if isinstance(value, bool) or not isinstance(value, (int, float, Decimal)):
        if isinstance(value, (str, bool)) or value is None:
            return to_text(value)
        raise NotModelled(f"the format '{form}' for {net_type(value)}")
    standard = _STANDARD.fullmatch(form)
    if standard:
        return _number_text(value, standard[1], int(standard[2]) if standard[2] else None)
    return _custom_text(value, form)


def _rounded(value: int | float | Decimal, places: int) -> Decimal:
    step = Decimal(1).scaleb(-places)
    exact = Decimal(int(value)) if isinstance(value, int) else Decimal(value)
    found = exact.quantize(step, rounding=ROUND_HALF_UP)
    # .NET Framework rounds the displayed digits, later versions round the number itself.
    if isinstance(value, float) and Decimal(repr(float(value))).quantize(step, rounding=ROUND_HALF_UP) != found:
        raise NotModelled("a number whose rounding differs between versions of .NET")
    return found


def _number_text(value: int | float | Decimal, kind: str, digits: int | None) -> str:
    lower = kind.casefold()
    if lower in ("x", "d", "b") and not isinstance(value, int):
        raise _format_error("Format specifier was invalid.")
    if lower == "x" and isinstance(value, int):
        found = value if value >= 0 else value + (2**64 if value < -(2**31) else 2**32)
        return format(found, f"0{digits or 1}{kind}")
    if lower == "d" and isinstance(value, int):
        return f"{'-' if value < 0 else ''}{abs(value):0{digits or 1}d}"
    places = 2 if digits is None else digits
    if lower == "n":
        return f"{_rounded(value, places):,.{places}f}"
    if lower == "f":
        return f"{_rounded(value, places):.{places}f}"
    if lower == "e":
        shown = 6 if digits is None else digits
        exact = Decimal(value) if isinstance(value, (int, Decimal)) else Decimal(repr(float(value)))
        scaled = _rounded(exact.scaleb(-exact.adjusted()), shown) if exact else exact
        mantissa, _, power = f"{scaled.scaleb(exact.adjusted()):.{shown}e}".partition("e")
        return f"{mantissa}{kind}{'-' if int(power) < 0 else '+'}{abs(int(power)):03d}"
    if lower == "g" and digits is None:
        return method_text(value)
    raise NotModelled(f"the number format '{kind}{'' if digits is None else digits}'")


def _custom_text(value: int | float | Decimal, form: str) -> str:
    match = _CUSTOM.fullmatch(form)
    if not match:
        raise NotModelled(f"the number format '{form}'")
    decimals = match["decimals"] or ""
    scaled = Decimal(repr(value)) * 100 if match["percent"] else value
    number = _rounded(scaled, len(decimals))
    sign = "-" if number < 0 else ""
    whole, _, fraction = f"{abs(number):f}".partition(".")
    optional = len(decimals) - len(decimals.rstrip("#"))
    for _ in range(optional):
        if not fraction.endswith("0"):
            break
        fraction = fraction[:-1]
    zeros = match["whole"].count("0")
    whole = whole.lstrip("0").rjust(zeros, "0")
    if match["group"]:
        whole = f"{int(whole):,}" if whole else whole
    return f"{sign}{whole}{'.' if fraction else ''}{fraction}{match['percent'] or ''}"


def _span_text(value: timedelta, form: str) -> str:
    if form in "cgGtT" and form not in "gG":
        return to_text(value)
    seconds = int(abs(value.total_seconds()))
    codes = {
        "dd": f"{seconds // 86400:02d}",
        "d": str(seconds // 86400),
        "hh": f"{seconds // 3600 % 24:02d}",
        "h": str(seconds // 3600 % 24),
        "mm": f"{seconds // 60 % 60:02d}",
        "m": str(seconds // 60 % 60),
        "ss": f"{seconds % 60:02d}",
        "s": str(seconds % 60),
        "fff": f"{abs(value).microseconds // 1000:03d}",
    }
    if not re.fullmatch(r"(\\.|'[^']*'|dd?|hh?|mm?|ss?|fff)+", form):
        raise NotModelled(f"the format '{form}' for a TimeSpan")
    return re.sub(
        r"\\(.)|'([^']*)'|dd?|hh?|mm?|ss?|fff",
        lambda found: found[1] or found[2] or codes.get(found[0], ""),
        form,
    )


def date_text(value: datetime, form: str) -> str:
    """Format a date with a .NET format in the invariant culture."""
    if len(form) == 1 and form not in _DATE_STANDARD:
        raise NotModelled(f"the date format '{form}'")
    pattern = _DATE_STANDARD.get(form, form)
    parts = {
        "yyyy": f"{value.year:04d}",
        "yy": f"{value.year % 100:02d}",
        "MM": f"{value.month:02d}",
        "M": str(value.month),
        "dd": f"{value.day:02d}",
        "d": str(value.day),
        "HH": f"{value.hour:02d}",
        "H": str(value.hour),
        "hh": f"{value.hour % 12 or 12:02d}",
        "h": str(value.hour % 12 or 12),
        "mm": f"{value.minute:02d}",
        "m": str(value.minute),
        "ss": f"{value.second:02d}",
        "s": str(value.second),
        "tt": "AM" if value.hour < 12 else "PM",
        "t": "A" if value.hour < 12 else "P",
        "zzz": "+00:00",
        "zz": "+00",
        "z": "+0",
        "K": "" if value.tzinfo is None else "Z",
        "%": "",
    }

    def fill(match: re.Match[str]) -> str:
        token = match[0]
        if token[0] in "'\"":
            return token[1:-1]
        if token[0] == "\\":
            return token[1]
        if token[0] == "f":
            return f"{value.microsecond:06d}0"[: len(token)]
        if token in _CODES:
            return value.strftime(_CODES[token])
        if token in parts:
            return parts[token]
        raise NotModelled(f"the date format '{form}'")

    return _DATE.sub(fill, pattern)


def half_even(value: float, places: int) -> float:
    """Round a number half to even, as Math.Round does."""
    if value != value or abs(value) >= 1e15:
        return value
    # .NET scales the number, rounds it, and divides it again.
    return float(round(value * 10.0**places)) / float(10.0**places)


def half_away(value: float, places: int) -> float:
    """Round a number half away from zero."""
    scaled = Decimal(value * 10.0**places).quantize(Decimal(1), rounding=ROUND_HALF_UP)
    return float(scaled) / float(10.0**places)
