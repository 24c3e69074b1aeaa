# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Normalize registry keys and values, and build the calls that write them."""

from __future__ import annotations

import re
import typing as t

from ..values.errors import ResourceError
from ..wire.calls import action, query
from ..wire.messages import Call, Input, Json

Kind = t.Literal["String", "ExpandString", "MultiString", "DWord", "QWord", "Binary"]
_HIVES = {
    "HKLM": "HKLM:",
    "HKEY_LOCAL_MACHINE": "HKLM:",
    "HKCU": "HKCU:",
    "HKEY_CURRENT_USER": "HKCU:",
}


def normal_key(key: str) -> str:
    r"""Return a registry key in the form that PowerShell expects, such as `HKLM:\SOFTWARE\Example`.

    Raises:
        ResourceError: the key is not below HKLM or HKCU, or has a character that PowerShell's provider cannot address.
    """
    hive, dummy, rest = key.strip().removeprefix("Registry::").replace(":", "", 1).partition("\\")
    rest = re.sub(r"\\+", r"\\", rest).strip("\\")
    if hive.upper() not in _HIVES or not rest:
        raise ResourceError("key", key, "expected a key below HKLM:\\ or HKCU:\\")
    if re.search(r"[/*?\[\]]", rest):
        raise ResourceError("key", key, "expected a key without / * ? [ or ], which PowerShell cannot address")
    return f"{_HIVES[hive.upper()]}\\{rest}"


def normal_value(kind: str, value: t.Any) -> Json:
    """Return a value converted to the registry type `kind`.

    Raises:
        ResourceError: the type cannot store the value.
    """
    if kind in ("DWord", "QWord"):
        return _number(kind, value)
    if kind == "Binary":
        return _bytes(value)
    if kind == "MultiString":
        items = value if isinstance(value, t.Sequence) and not isinstance(value, str) else [value]
        return [_text(item) for item in items]
    return _text(value)


def _number(kind: str, value: t.Any) -> int:
    bits = 32 if kind == "DWord" else 64
    number: int | None = None
    if isinstance(value, int) and not isinstance(value, bool):
        number = int(value)
    elif isinstance(value, str) and re.fullmatch(r"\s*(-?[0-9]{1,20}|0[xX][0-9a-fA-F]{1,16})\s*", value, re.ASCII):
        number = int(value, 0) if "x" in value.lower() else int(value)
    if number is None or not -(1 << (bits - 1)) <= number < 1 << bits:
        raise ResourceError("value", value, f"expected a {bits}-bit integer for a {kind}")
    return number % (1 << bits)


def _bytes(value: t.Any) -> list[Json]:
    if isinstance(value, str):
        text = re.sub(r"[\s,\\]", "", value.removeprefix("hex:"))
        if re.fullmatch(r"(?:[0-9a-fA-F]{2})*", text):
            return list(bytes.fromhex(text))
    elif isinstance(value, t.Sequence) and all(not isinstance(item, bool) and _is_byte(item) for item in value):
        return [int(item) for item in value]
    raise ResourceError(
        "value", value, "expected numbers from 0 to 255 for Binary, or a hexadecimal string such as 01,ff"
    )


def _is_byte(item: t.Any) -> bool:
    return isinstance(item, int) and 0 <= item <= 255


def _text(value: t.Any) -> str:
    if isinstance(value, str) and "\x00" not in value:
        return str(value)
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return str(value)
    raise ResourceError("value", value, "expected a string", "Put it in quotes.")


def seen_value(entry: t.Mapping[str, t.Any] | None) -> Json:
    """Return the value that `@read-registry` found, converted to its registry type, or None if there is no value."""
    if not entry or entry.get("value") is None:
        return None
    try:
        return normal_value(str(entry.get("kind")), entry["value"])
    except ResourceError:  # the value does not match its kind, so it differs from any desired value
        return str(entry["value"])


def make_key(key: str) -> tuple[Call, ...]:
    """Return the calls that create a registry key if it does not exist.

    `New-Item -Force` empties an existing key, and another resource of the same batch may have created the key
    in the meantime. So the calls check on the node whether the key exists.
    """
    return (
        query("key", "@read-registry", {"values": [{"path": key}]}, select=("path", "key_exists"), on_error="stop"),
        action(
            "make-key",
            "New-Item",
            {"Force": True},
            input=Input(calls=("key",), where={"key_exists": False}, parameter="Path", property="path"),
        ),
    )


def set_value(call_id: str, key: str, name: str, kind: str, value: Json) -> Call:
    """Return the call that writes a registry value with the registry type `kind`."""
    bits = {"DWord": 32, "QWord": 64}.get(kind)
    if bits and isinstance(value, int) and value >= 1 << (bits - 1):
        value -= 1 << bits  # .NET reads and writes registry numbers as signed
    return action(
        call_id,
        "New-ItemProperty",
        {"LiteralPath": key, "Name": name, "Value": value, "PropertyType": kind, "Force": True},
    )


def remove_value(call_id: str, key: str, name: str) -> Call:
    """Return the call that removes a registry value. The value's name is escaped, as the cmdlet accepts wildcards."""
    return action(
        call_id,
        "Remove-ItemProperty",
        {"LiteralPath": key, "Name": re.sub(r"([*?\[\]`])", r"`\1", name), "Force": True},
    )
