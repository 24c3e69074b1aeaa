# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The JSON of batches as the module parses it, with .NET's numbers and lone surrogates."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

MAX_DIGITS = 28
"""The number of digits in an integer that .NET's decimal can represent. A longer one becomes a double."""


def read(text: str, pairs: Callable[[list[tuple[str, Any]]], dict[str, Any]] = dict) -> Any:
    """Parse a document.

    Args:
        pairs: creates an object from its names and values.

    Raises:
        ValueError: the text is not valid JSON.
    """
    found = json.loads(text, parse_int=_integer, parse_float=_double, parse_constant=_refuse, object_pairs_hook=pairs)
    return _whole(found)


def _integer(text: str) -> int | float:
    return int(text) if len(text.lstrip("-")) <= MAX_DIGITS else _double(text)


def _double(text: str) -> float:
    """Parse a double. One that is too large is an error, as for .NET Framework's Double.Parse.

    https://learn.microsoft.com/dotnet/api/system.double.parse (.NET Core 3.0 and later: infinity)
    """
    number = float(text)
    if math.isinf(number):
        raise ValueError(f"{text} is too large for a double")
    return number


def _refuse(name: str) -> None:
    """Reject NaN, Infinity and -Infinity, which Python's parser accepts although they are not valid JSON."""
    raise ValueError(f"{name} is not JSON")


def _whole(value: Any) -> Any:
    """Return a value with U+FFFD for every lone surrogate, as .NET writes it."""
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, list):
        return [_whole(item) for item in value]
    if isinstance(value, dict):
        return {_whole(key): _whole(item) for key, item in value.items()}
    return value
