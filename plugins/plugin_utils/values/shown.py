# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Describe a rejected value in a message, without its secret parts (no I/O).

The content of mappings, and of lists with anything but numbers, is not printed, because any of it may be a password.
The type and the keys are enough to find the mistake.
"""

from __future__ import annotations

import typing as t

from ...module_utils.redaction.texts import redact_value
from .printable import printable

_LONGEST = 200
_MOST_KEYS = 12


class AsItIs(str):
    """A description of a value, which is printed without quotes."""

    __slots__ = ()


def shown(value: object) -> str:
    """Return the value as text for a message.

    >>> shown({"username": "me", "password": "secret"})
    "a mapping with the keys 'username', 'password'"

    Args:
        value: the user's value.

    Returns:
        None, a Boolean, a number or a list of numbers as it is; a string in quotes, without anything that looks like a
        secret; otherwise a description.
    """
    if isinstance(value, AsItIs):
        return str(value)
    if isinstance(value, (bytes, bytearray)):
        return f"{len(value)} bytes"
    if isinstance(value, str):
        return repr(_short(text_without_secrets(value), _LONGEST))
    if value is None or isinstance(value, (bool, int, float)):
        return repr(value)
    if isinstance(value, t.Mapping):
        keys = [repr(_short(text_without_secrets(str(key)), 60)) for key in list(value)[:_MOST_KEYS]]
        more = f" and {len(value) - _MOST_KEYS} more" if len(value) > _MOST_KEYS else ""
        return f"a mapping with the key{'s'[: len(value) != 1]} {', '.join(keys)}{more}" if keys else "an empty mapping"
    if isinstance(value, (list, tuple)):
        if all(isinstance(item, (bool, int, float)) for item in value):
            return repr(list(value))
        kinds = list(dict.fromkeys(kind(item) for item in value))
        return f"a list of {len(value)} ({', '.join(kinds)})"
    return kind(value)


def kind(value: object) -> str:
    """Return the kind of a value, such as `string` or `mapping`.

    Args:
        value: any YAML value.
    """
    names: tuple[tuple[type | tuple[type, ...], str], ...] = (
        (bool, "true or false"),
        ((int, float), "number"),
        (str, "string"),
        (t.cast("type", t.Mapping), "mapping"),
        ((list, tuple), "list"),
        (type(None), "null"),
    )
    return next((name for types, name in names if isinstance(value, types)), type(value).__name__)


def text_without_secrets(text: str) -> str:
    """Return the text without credentials, URL queries or other secrets, so that it is safe to print."""
    return printable(redact_value(text))


def _short(text: str, longest: int) -> str:
    return text if len(text) <= longest else text[: longest - 3] + "..."
