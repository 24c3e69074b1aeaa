# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""win_reg_stat and win_regedit."""

from __future__ import annotations

import re
from typing import Any

from simulator.machine.modules.arguments import ArgumentError, Arguments
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


def _path(arguments: Arguments) -> str:
    path = arguments.text("path", "key")
    if not re.match(r"^HK(CC|CR|CU|LM|U):\\", path):
        raise ArgumentError(f"path: {path} is not a valid registry path, see module documentation for examples.")
    return path


def _describe(session: Session, value: Value) -> dict[str, Any]:
    data, raw = value.data, value.data
    if value.kind == "ExpandString":
        data = session.expand(str(value.data))
    elif isinstance(value.data, bytes):
        data, raw = list(value.data), [f"0x{byte:02x}" for byte in value.data]
    return {"type": _TYPES[value.kind], "value": data, "raw_value": raw}


def stat(session: Session, arguments: Arguments) -> dict[str, Any]:
    """Describe a key, or one of its values."""
    path, name, registry = _path(arguments), arguments.raw("name"), session.machine.registry
    if not registry.key_exists(path):
        return {"changed": False, "exists": False}
    if name is None:
        values = {key: _describe(session, value) for key, value in registry.values(path).items()}
        return {"changed": False, "exists": True, "properties": values, "sub_keys": registry.subkeys(path)}
    value = registry.get(path, str(name))
    if value is None:
        return {"changed": False, "exists": False}
    return {"changed": False, "exists": True, **_describe(session, value)}


def edit(session: Session, arguments: Arguments) -> dict[str, Any]:
    """Make, change or remove a key or value."""
    path, name, registry = _path(arguments), arguments.raw("name"), session.machine.registry
    write = not arguments.check_mode
    exists = registry.key_exists(path)
    if arguments.text("state", default="present") == "absent":
        return _remove(session, path, name, delete_key=arguments.flag("delete_key", default=True), write=write)
    if registry.is_right_below_a_hive(path):
        raise NotModelled("how win_regedit fails to make a key right below a hive")
    if name is None and arguments.raw("data") is None:
        if not exists and write:
            registry.create_key(path)
        return {"changed": not exists}
    kind = _KINDS.get(arguments.text("type", default="string"))
    if kind is None:
        raise ArgumentError(f"value of type must be one of: {', '.join(_KINDS)}")
    wanted = Value(_data(arguments.raw("data"), kind), kind)
    old = registry.get(path, str(name or ""))
    if old == wanted:
        return {"changed": False}
    if write:
        registry.set(path, str(name or ""), wanted.data, wanted.kind)
    return {"changed": True, "data_changed": old is not None, "data_type_changed": bool(old and old.kind != kind)}


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
            return int(str(data if data is not None else 0), 0)
        if kind == "MultiString":
            return [str(item) for item in data] if isinstance(data, list) else ([] if data is None else [str(data)])
        if kind in ("Binary", "None"):
            if isinstance(data, list):
                return bytes(int(str(item), 0) for item in data)
            return bytes.fromhex(re.sub(r"^hex:|[\s,]", "", str(data or "")))
    except ValueError as error:
        raise ArgumentError(f"cannot convert data to {kind}: {error}") from None
    return "" if data is None else str(data)
