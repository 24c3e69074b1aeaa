# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The Ansible modules win_reg_stat and win_regedit."""

from __future__ import annotations

import re
from typing import Any

from simulator.machine.modules.arguments import ArgumentError, ModuleArguments
from simulator.machine.objects import NotModelled
from simulator.machine.registry import Value
from simulator.machine.session import Session

_TYPES = {
    "String": "REG_SZ",
    "ExpandString": "REG_EXPAND_SZ",
    "MultiString": "REG_MULTI_SZ",
    "DWord": "REG_DWORD",
    "QWord": "REG_QWORD",
    "Binary": "REG_BINARY",
    "None": "REG_NONE",
}
_KINDS = {
    "none": "None",
    "binary": "Binary",
    "dword": "DWord",
    "expandstring": "ExpandString",
    "multistring": "MultiString",
    "string": "String",
    "qword": "QWord",
}


def _path(arguments: ModuleArguments, what: str) -> str:
    path = arguments.text("path", "key")
    if not re.match(r"^HK(CC|CR|CU|LM|U):\\", path, re.IGNORECASE):
        raise ArgumentError(f"path: {path} is not a valid {what} path, see module documentation for examples.")
    return path


def _describe(session: Session, value: Value) -> dict[str, Any]:
    data, raw = value.data, value.data
    if value.kind == "ExpandString":
        data = session.expand(str(value.data))
    elif isinstance(value.data, bytes):
        data, raw = list(value.data), [f"0x{byte:02x}" for byte in value.data]
    return {"type": _TYPES[value.kind], "value": data, "raw_value": raw}


def stat(session: Session, arguments: ModuleArguments) -> dict[str, Any]:
    """Describe a registry key or one of its values (win_reg_stat)."""
    arguments.modelled("path", "name")
    path, registry = _path(arguments, "registry"), session.machine.registry
    name = next((arguments.raw(each) for each in ("name", "entry", "value") if arguments.raw(each) is not None), None)
    if not registry.key_exists(path):
        return {"changed": False, "exists": False}
    if name is None:
        values = {key: _describe(session, value) for key, value in registry.values(path).items()}
        return {"changed": False, "exists": True, "properties": values, "sub_keys": registry.subkeys(path)}
    value = registry.get(path, str(name))
    if value is None:
        return {"changed": False, "exists": False}
    return {"changed": False, "exists": True, **_describe(session, value)}


def edit(session: Session, arguments: ModuleArguments) -> dict[str, Any]:
    """Create, change or remove a registry key or value (win_regedit)."""
    arguments.modelled("path", "name", "data", "type", "state", "delete_key")
    path, registry = _path(arguments, "powershell"), session.machine.registry
    name, data = arguments.raw("name") or None, arguments.raw("data")
    write = not arguments.check_mode
    answer: dict[str, Any] = {"changed": False, "data_changed": False, "data_type_changed": False}
    kind = _KINDS[arguments.text("type", default="string").casefold()]
    if name is None and kind != "String":
        text = "the data type when name is not specified can only be 'string'"
        answer["warnings"] = [f"{text}, the type has automatically been converted"]
        kind = "String"
    requested = Value(_data(data, kind), kind)
    if arguments.text("state", default="present").casefold() == "absent":
        delete_key = arguments.flag("delete_key", default=True)
        return answer | _remove(session, path, name, delete_key=delete_key, write=write)
    exists = registry.key_exists(path)
    if registry.is_right_below_a_hive(path):
        raise NotModelled("win_regedit's failure to create a key directly below a hive")
    if not exists and write:
        registry.create_key(path)
    if (not exists and not write) or (name is None and data is None):
        return answer | {"changed": not exists}
    old = registry.get(path, str(name or ""))
    if old == requested:
        return answer | {"changed": not exists}
    if write:
        registry.set(path, str(name or ""), requested.data, requested.kind)
    if old is None:
        return answer | {"changed": True}
    return answer | {"changed": True, "data_changed": old.data != requested.data, "data_type_changed": old.kind != kind}


def _remove(session: Session, path: str, name: object, *, delete_key: bool, write: bool) -> dict[str, Any]:
    registry = session.machine.registry
    if name is None and delete_key:
        exists = registry.key_exists(path)
        if exists and write:
            registry.delete_key(path)
        return {"changed": exists}
    exists = registry.get(path, str(name or "")) is not None
    if exists and write:
        registry.delete(path, str(name or ""))
    return {"changed": exists}


def _data(data: Any, kind: str) -> object:
    try:
        if kind in ("DWord", "QWord"):
            return _number(data, kind)
        if kind == "MultiString":
            return [str(item) for item in data] if isinstance(data, list) else ([] if data is None else [str(data)])
        if kind in ("Binary", "None"):
            return _bytes(data)
    except ValueError as error:
        raise ArgumentError(f"Unhandled exception while executing module: {error}") from None
    return "" if data is None else str(data)


def _number(data: Any, kind: str) -> int:
    """Return a number in the unsigned form in which the registry stores it.

    Raises:
        ArgumentError: the data is a number with a fraction, or it exceeds the range of its registry type.
        ValueError: the data is not a number, it is below the range of its registry type, or it is a string with
            a negative number.
    """
    if isinstance(data, float) and data % 1:
        raise ArgumentError(
            f"data '{data}' cannot be a decimal or float value with a remainder when type is dword or qword"
        )
    number = int(data) if isinstance(data, float) else int(str(data if data is not None else 0), 0)
    bits = 32 if kind == "DWord" else 64
    if number >= 1 << bits:
        raise ArgumentError(f"data cannot be larger than 0x{'f' * (bits // 4)} when type is {kind.casefold()}")
    if number < -(1 << (bits - 1)) or (number < 0 and isinstance(data, str)):
        target = "System.UInt64" if isinstance(data, str) else f"System.Int{bits}"
        raise ValueError(f'Cannot convert value "{data}" to type "{target}".')
    return number % (1 << bits)


def _bytes(data: Any) -> bytes:
    if isinstance(data, list):
        return bytes(int(str(item), 0) for item in data)
    if isinstance(data, int):
        if data > 255:
            what = "please specify this value as a yaml byte array or a comma separated hex value string"
            raise ArgumentError(f"cannot convert binary data '{data}' to byte array, {what}")
        return bytes([data])
    text = re.sub(r"[^a-f0-9,:x\\-]", "", re.sub(r"^hex:", "", str(data or "").lower())).replace(",", ":")
    if ":" in text:
        return bytes(int(part, 16) for part in re.split(":+", text))
    return bytes.fromhex(text if len(text) != 1 else f"0{text}")
