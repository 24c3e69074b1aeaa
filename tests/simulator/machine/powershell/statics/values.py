# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Static members that do not access the machine, of types such as String, Array, Regex, DateTime, Guid and Enum."""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from urllib.parse import quote, unquote

from simulator.machine.objects import CmdletError, NotModelled, PSObject, ScriptBlock
from simulator.machine.powershell.members import collections, regexes
from simulator.machine.powershell.running.errors import method_failure
from simulator.machine.powershell.statics.numbers import Static
from simulator.machine.powershell.types import names
from simulator.machine.powershell.types.arithmetic import integer, number
from simulator.machine.powershell.types.compare import compare, compare_texts
from simulator.machine.powershell.types.convert import address, cast, guid, items, version
from simulator.machine.powershell.types.kinds import Char, Regex, TypedArray, TypeValue
from simulator.machine.powershell.types.patterns import compiled
from simulator.machine.powershell.types.plain_text import to_text
from simulator.machine.powershell.types.text import format_text


def _join(mark: object, *parts: object) -> object:
    if len(parts) == 3 and isinstance(parts[0], list) and isinstance(parts[1], int):
        raise NotModelled("[string]::Join() with a start index")
    found = [item for part in parts for item in (part if isinstance(part, list) else [part])]
    return to_text(mark).join(to_text(item) for item in found)


def _compare(left: object, right: object, *how: object) -> object:
    if how and not isinstance(how[0], bool):
        if not to_text(how[0]).casefold().endswith("ignorecase"):
            raise NotModelled("[string]::Compare() with these arguments")
        return compare_texts(to_text(left), to_text(right))
    return compare_texts(to_text(left), to_text(right), sensitive=not (how and how[0]))


def _equals(left: object, right: object, *how: object) -> object:
    first, second = to_text(left), to_text(right)
    if how and to_text(how[0]).casefold().endswith("ignorecase"):
        return first.casefold() == second.casefold()
    return first == second


STRING: Mapping[str, Static] = {
    "isnullorempty": (1, 1, lambda value: not to_text(value)),
    "isnullorwhitespace": (1, 1, lambda value: not to_text(value).strip()),
    "join": (2, 99, _join),
    "format": (1, 99, lambda form, *given: format_text(form, list(given))),
    "compare": (2, 3, _compare),
    "equals": (2, 3, _equals),
    "concat": (1, 99, lambda *given: "".join(to_text(item) for part in given for item in items(part))),
    "copy": (1, 1, to_text),
}


def _array(value: object) -> list[object]:
    if not isinstance(value, list):
        raise NotModelled("an [array] method with a value that is not an array")
    return value


def _reverse(value: object) -> None:
    _array(value).reverse()


def _sort(value: object) -> None:
    found = _array(value)
    found[:] = collections.ordered(found)


ARRAY: Mapping[str, Static] = {
    "indexof": (2, 2, lambda found, value: collections.index_of(_array(found), value)),
    "reverse": (1, 1, _reverse),
    "sort": (1, 1, _sort),
}


def _flags(options: tuple[object, ...]) -> bool:
    """Return whether regular expression options make a pattern case-insensitive.

    Raises:
        NotModelled: an option other than IgnoreCase is set.
    """
    requested = {name.strip().casefold() for option in options for name in to_text(option).split(",")}
    if requested - {"ignorecase", "none"}:
        raise NotModelled(f"a regular expression with the options {', '.join(sorted(requested))}")
    return "ignorecase" in requested


def _regex(name: str) -> Callable[..., object]:
    def work(text: object, pattern: object, *more: object) -> object:
        rest = more
        given: tuple[object, ...] = (text,)
        if name == "replace":
            given, rest = (text, more[0]), more[1:]
        regex = Regex(to_text(pattern), compiled(pattern, sensitive=not _flags(rest)))
        method = regexes.REGEX.methods[name][2]
        return method(regex, *given)

    return work


def _unescape(text: object) -> object:
    raise NotModelled("[regex]::Unescape()")


def _escape(text: object) -> object:
    special = {"\n": "\\n", "\r": "\\r", "\t": "\\t", "\f": "\\f"}
    return re.sub(r"[\\*+?|{\[()^$.# \n\r\t\f]", lambda found: special.get(found[0], "\\" + found[0]), to_text(text))


REGEX: Mapping[str, Static] = {
    "match": (2, 3, _regex("match")),
    "matches": (2, 3, _regex("matches")),
    "ismatch": (2, 3, _regex("ismatch")),
    "replace": (3, 4, _regex("replace")),
    "split": (2, 3, _regex("split")),
    "escape": (1, 1, _escape),
    "unescape": (1, 1, _unescape),
}
_DATE_CODES = {
    "yyyy": "%Y", "yy": "%y", "MM": "%m", "dd": "%d", "HH": "%H", "hh": "%I", "mm": "%M", "ss": "%S", "tt": "%p",
    "MMM": "%b", "MMMM": "%B",
}  # fmt: skip


def _parse_exact(text: object, form: object, *culture: object) -> object:
    if isinstance(form, list):
        raise NotModelled("ParseExact() with several formats")
    pattern = ""
    for token in re.findall(r"y+|M+|d+|H+|h+|m+|s+|t+|f+|z+|K|'[^']*'|.", to_text(form)):
        if token[0].isalpha() and token not in _DATE_CODES and token not in ("T", "Z"):
            raise NotModelled(f"the date format '{to_text(form)}'")
        pattern += _DATE_CODES.get(token) or token.strip("'").replace("%", "%%")
    try:
        return datetime.strptime(to_text(text), pattern)
    except ValueError:
        why = f"String '{to_text(text)}' was not recognized as a valid DateTime."
        raise method_failure("ParseExact", 3, "System.FormatException", why) from None


def _leap(year: object) -> object:
    found = integer(year)
    return found % 4 == 0 and (found % 100 != 0 or found % 400 == 0)


def _days(year: object, month: object) -> object:
    import calendar

    return calendar.monthrange(integer(year), integer(month))[1]


def _parsed(kind: str) -> Callable[..., object]:
    def parse(text: object) -> object:
        try:
            return cast(kind, to_text(text))
        except NotModelled:
            raise
        except CmdletError as error:
            raise method_failure("Parse", 1, "System.FormatException", error.message) from None

    return parse


def _tried(make: Callable[[str], object]) -> Callable[..., object]:
    def parse(text: object, target: object) -> object:
        found: object = None
        good = True
        try:
            found = make(to_text(text))
        except NotModelled:
            raise
        except CmdletError:
            good = False
        if isinstance(target, PSObject):
            target.properties["Value"] = found
        return good

    return parse


def _span(unit: str) -> Static:
    return (1, 1, lambda value: timedelta(**{unit: float(number(value))}))


def _ip(text: str) -> object:
    if "." not in text and ":" not in text:
        raise NotModelled("an IP address in the form of a number")
    return address(text)


def _names_of(kind: object) -> object:
    full = kind.full_name if isinstance(kind, TypeValue) else names.resolve(to_text(kind))
    if full not in names.ENUMERATIONS:
        raise NotModelled(f"the members of the type {full}")
    return TypedArray(list(names.ENUMERATIONS[full]), "System.String")


def _is_defined(kind: object, value: object) -> object:
    found = _names_of(kind)
    assert isinstance(found, list)
    if not isinstance(value, str):
        raise NotModelled("[enum]::IsDefined() with a number")
    return value in found


def _char(test: Callable[[str], bool]) -> Static:
    return (1, 1, lambda value: test(to_text(value)))


def _block(text: object) -> object:
    from simulator.machine.powershell.parsing.parser import Parser

    return ScriptBlock(Parser().script(to_text(text)), to_text(text))


METHODS: dict[str, Mapping[str, Static]] = {
    "System.String": STRING,
    "System.Array": ARRAY,
    "System.Text.RegularExpressions.Regex": REGEX,
    "System.DateTime": {
        "parse": (1, 1, _parsed("datetime")),
        "parseexact": (3, 3, _parse_exact),
        "isleapyear": (1, 1, _leap),
        "daysinmonth": (2, 2, _days),
        "compare": (2, 2, compare),
    },
    "System.TimeSpan": {
        "fromdays": _span("days"),
        "fromhours": _span("hours"),
        "fromminutes": _span("minutes"),
        "fromseconds": _span("seconds"),
        "frommilliseconds": _span("milliseconds"),
        "parse": (1, 1, _parsed("timespan")),
    },
    "System.Guid": {
        "newguid": (0, 0, lambda: guid(str(uuid.uuid4()))),
        "parse": (1, 1, lambda text: guid(to_text(text))),
        "tryparse": (2, 2, _tried(guid)),
    },
    "System.Version": {
        "parse": (1, 1, lambda text: version(to_text(text))),
        "tryparse": (2, 2, _tried(version)),
    },
    "System.Net.IPAddress": {
        "parse": (1, 1, lambda text: address(to_text(text))),
        "tryparse": (2, 2, _tried(_ip)),
    },
    "System.Uri": {
        "escapedatastring": (1, 1, lambda text: quote(to_text(text), safe="-._~")),
        "unescapedatastring": (1, 1, lambda text: unquote(to_text(text))),
    },
    "System.Enum": {"getnames": (1, 1, _names_of), "isdefined": (2, 2, _is_defined)},
    "System.Char": {
        "isdigit": _char(str.isdigit),
        "isletter": _char(str.isalpha),
        "isletterordigit": _char(str.isalnum),
        "isupper": _char(str.isupper),
        "islower": _char(str.islower),
        "iswhitespace": _char(str.isspace),
        "toupper": (1, 1, lambda value: Char(to_text(value).upper())),
        "tolower": (1, 1, lambda value: Char(to_text(value).lower())),
    },
    "System.Management.Automation.ScriptBlock": {"create": (1, 1, _block)},
}
PROPERTIES: dict[str, Callable[[], object]] = {
    "System.String.empty": lambda: "",
    "System.DateTime.minvalue": lambda: datetime.min,
    "System.Guid.empty": lambda: guid(str(uuid.UUID(int=0))),
    "System.TimeSpan.zero": timedelta,
    "System.Net.IPAddress.loopback": lambda: address("127.0.0.1"),
    "System.Net.IPAddress.any": lambda: address("0.0.0.0"),
}
