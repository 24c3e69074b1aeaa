# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The JSON of batches as the module reads it: its numbers and its halves of characters."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

MAX_DIGITS = 28
"""How many digits of a whole number .NET's decimal holds; a longer one becomes a double."""


def read(text: str, pairs: Callable[[list[tuple[str, Any]]], dict[str, Any]] = dict) -> Any:
    """Return a document.

    Args:
        pairs: makes an object of its names and values.

    Raises: ValueError if it is no JSON.
    """
    found = json.loads(text, parse_int=_integer, parse_float=_double, parse_constant=_refuse, object_pairs_hook=pairs)
    return _whole(found)


def _integer(text: str) -> int | float:
    return int(text) if len(text.lstrip("-")) <= MAX_DIGITS else _double(text)


def _double(text: str) -> float:
    """Return a double; one that is too large is an error, as for .NET Framework's Double.Parse.

    https://learn.microsoft.com/dotnet/api/system.double.parse (.NET Core 3.0 and later: infinity)
    """
    number = float(text)
    if math.isinf(number):
        raise ValueError(f"{text} is too large for a double")
    return number


def _refuse(name: str) -> None:
    """Refuse NaN, Infinity and -Infinity, which Python's reader takes although they are no JSON."""
    raise ValueError(f"{name} is no JSON")


def _whole(value: Any) -> Any:
    """Return a value with U+FFFD for every half of a character, which is what .NET writes of one."""
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, list):
        return [_whole(item) for item in value]
    if isinstance(value, dict):
        return {_whole(key): _whole(item) for key, item in value.items()}
    return value
