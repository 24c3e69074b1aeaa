# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Methods of strings, characters, numbers and booleans."""

from __future__ import annotations

import re

from simulator.machine.objects import CmdletError, NotModelled
from simulator.machine.powershell.members.table import Members, names
from simulator.machine.powershell.running.errors import method_failure
from simulator.machine.powershell.types.arithmetic import integer
from simulator.machine.powershell.types.compare import compare, compare_texts
from simulator.machine.powershell.types.kinds import Char, TypedArray
from simulator.machine.powershell.types.plain_text import to_text
from simulator.machine.powershell.types.text import shaped

_RANGE = "System.ArgumentOutOfRangeException"


def _outside(name: str, count: int) -> CmdletError:
    why = "Index and length must refer to a location within the string."
    return method_failure(name, count, _RANGE, why)


def _characters(given: tuple[object, ...]) -> str | None:
    return "".join(to_text(part) for item in given for part in (item if isinstance(item, list) else [item])) or None


def _substring(text: str, *given: object) -> str:
    start = integer(given[0])
    end = len(text) if len(given) < 2 else start + integer(given[1])
    if start < 0 or end > len(text) or start > len(text) or end < start:
        raise _outside("Substring", len(given))
    return text[start:end]


def _remove(text: str, *given: object) -> str:
    start = integer(given[0])
    end = len(text) if len(given) < 2 else start + integer(given[1])
    if start < 0 or end > len(text) or end < start or (len(given) < 2 and start >= len(text)):
        raise _outside("Remove", len(given))
    return text[:start] + text[end:]


def _insert(text: str, at: object, new: object) -> str:
    start = integer(at)
    if not 0 <= start <= len(text):
        raise _outside("Insert", 2)
    return text[:start] + to_text(new) + text[start:]


def _split(text: str, *given: object) -> object:
    options = {to_text(item).casefold() for item in given[1:]}
    if options - {"removeemptyentries", "none", "1"}:
        raise NotModelled("String.Split with these arguments")
    if given and isinstance(given[0], str) and len(given[0]) > 1:
        raise NotModelled("String.Split with a separator of several characters: the result depends on the .NET version")
    if given and isinstance(given[0], list) and any(len(to_text(item)) != 1 for item in given[0]):
        raise NotModelled("String.Split with separators that are not single characters")
    marks = _characters(given[:1])
    parts = re.split(f"[{re.escape(marks)}]" if marks else r"\s", text)
    drop = bool(options & {"removeemptyentries", "1"})
    return TypedArray([part for part in parts if part or not drop], "System.String")


def _replace(text: str, old: object, new: object) -> str:
    if not to_text(old):
        raise method_failure("Replace", 2, "System.ArgumentException", "String cannot be of zero length.")
    return text.replace(to_text(old), to_text(new))


def _index_of(text: str, requested: object, *start: object) -> int:
    if start and not isinstance(start[0], int):
        raise NotModelled("String.IndexOf with these arguments")
    return text.find(to_text(requested), *(integer(item) for item in start))


def _starts(text: str, requested: object, *how: object) -> bool:
    first, second = _by_case(text, requested, how)
    return first.startswith(second)


def _ends(text: str, requested: object, *how: object) -> bool:
    first, second = _by_case(text, requested, how)
    return first.endswith(second)


def _by_case(text: str, requested: object, how: tuple[object, ...]) -> tuple[str, str]:
    other = to_text(requested)
    comparison = to_text(how[0]).casefold() if how else ""
    if comparison and not comparison.startswith(("ordinal", "currentculture", "invariantculture")):
        raise NotModelled(f"the string comparison {to_text(how[0])}")
    return (text.casefold(), other.casefold()) if comparison.endswith("ignorecase") else (text, other)


def _equals(text: str, other: object, *how: object) -> bool:
    if not isinstance(other, str) or isinstance(other, Char) != isinstance(text, Char):
        return False
    first, second = _by_case(text, other, how)
    return first == second


def _pad(text: str, width: object, fill: object, *, left: bool) -> str:
    mark = to_text(fill)
    if len(mark) != 1:
        raise NotModelled("padding with more than one character")
    return text.rjust(integer(width), mark) if left else text.ljust(integer(width), mark)


TEXT = Members(
    {
        "tolower": (0, 0, lambda text: str(text).lower()),
        "tolowerinvariant": (0, 0, lambda text: str(text).lower()),
        "toupper": (0, 0, lambda text: str(text).upper()),
        "toupperinvariant": (0, 0, lambda text: str(text).upper()),
        "trim": (0, 9, lambda text, *given: text.strip(_characters(given))),
        "trimend": (0, 9, lambda text, *given: text.rstrip(_characters(given))),
        "trimstart": (0, 9, lambda text, *given: text.lstrip(_characters(given))),
        "replace": (2, 2, _replace),
        "split": (0, 2, _split),
        "startswith": (1, 2, _starts),
        "endswith": (1, 2, _ends),
        "contains": (1, 1, lambda text, requested: to_text(requested) in text),
        "indexof": (1, 2, _index_of),
        "lastindexof": (1, 1, lambda text, requested: text.rfind(to_text(requested))),
        "substring": (1, 2, _substring),
        "remove": (1, 2, _remove),
        "insert": (2, 2, _insert),
        "padleft": (1, 2, lambda text, width, fill=" ": _pad(text, width, fill, left=True)),
        "padright": (1, 2, lambda text, width, fill=" ": _pad(text, width, fill, left=False)),
        "tochararray": (0, 0, lambda text: TypedArray([Char(char) for char in text], "System.Char")),
        "getenumerator": (0, 0, lambda text: [Char(char) for char in text]),
        "compareto": (1, 1, lambda text, other: compare_texts(text, to_text(other), sensitive=True)),
        "equals": (1, 2, _equals),
        "clone": (0, 0, lambda text: text),
        "tostring": (0, 0, lambda text: str(text)),
    },
    names("Chars CopyTo EnumerateRunes GetHashCode GetPinnableReference GetTypeCode IndexOfAny IsNormalized "
          "LastIndexOfAny Normalize ReplaceLineEndings ToBoolean ToByte ToChar ToDateTime ToDecimal ToDouble ToInt16 "
          "ToInt32 ToInt64 ToSByte ToSingle ToType ToUInt16 ToUInt32 ToUInt64 TryCopyTo"),
)  # fmt: skip
CHARACTER = Members(
    {
        "tostring": (0, 0, lambda char: str(char)),
        "equals": (1, 1, _equals),
        "compareto": (1, 1, lambda char, other: ord(char) - ord(other)),
    },
    names("GetHashCode GetTypeCode"),
)


def _same_number(value: object, other: object) -> bool:
    return type(value) is type(other) and value == other


NUMBER = Members(
    {
        "tostring": (0, 1, lambda value, form="": shaped(value, to_text(form))),
        "compareto": (1, 1, lambda value, other: compare(value, other)),
        "equals": (1, 1, _same_number),
    },
    names("GetHashCode GetTypeCode TryFormat ToBoolean ToByte ToChar ToDateTime ToDecimal ToDouble ToInt16 ToInt32 "
          "ToInt64 ToSByte ToSingle ToType ToUInt16 ToUInt32 ToUInt64 Scale"),
)  # fmt: skip
BOOLEAN = Members(
    {
        "tostring": (0, 0, to_text),
        "equals": (1, 1, _same_number),
        "compareto": (1, 1, lambda value, other: compare(value, other)),
    },
    NUMBER.others,
)
