# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Simulate the query (without subkeys), add and delete commands of reg.exe.

See https://learn.microsoft.com/windows-server/administration/windows-commands/reg-add.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from simulator.machine.machine import Machine
from simulator.machine.objects import Invocation, Program, ProgramResult
from simulator.machine.registry import Value, full_name

_KINDS = {
    "REG_SZ": "String", "REG_EXPAND_SZ": "ExpandString", "REG_MULTI_SZ": "MultiString", "REG_DWORD": "DWord",
    "REG_QWORD": "QWord", "REG_BINARY": "Binary", "REG_NONE": "None",
}  # fmt: skip
_VALUES = {"/v", "/ve", "/va"}
_NAMES = {kind: name for name, kind in _KINDS.items()}


@dataclass
class _Options:
    """The options of a command line of reg.exe."""

    name: str | None = None
    default: bool = False
    kind: str = "REG_SZ"
    data: str = ""
    separator: str = "\\0"
    flags: set[str] = field(default_factory=set)


class _SyntaxError(Exception):
    """A command line has a syntax that reg.exe rejects."""


def _read(words: list[str]) -> _Options:
    found = _Options()
    position = 0
    seen: set[str] = set()
    while position < len(words):
        word = words[position].casefold()
        # No option may be repeated. A value is either the default value or has a name.
        if word in seen or (word in _VALUES and _VALUES & seen):
            raise _SyntaxError
        seen.add(word)
        if word in ("/v", "/t", "/d", "/s") and not (word == "/s" and position + 1 == len(words)):
            position += 1
            if position == len(words):
                raise _SyntaxError
            value = words[position]
            if word == "/v":
                found.name = value
            elif word == "/t":
                found.kind = value.upper()
            elif word == "/d":
                found.data = value
            else:
                found.separator = value
        elif word == "/ve":
            found.default = True
        elif word in ("/f", "/s", "/va", "/reg:64", "/reg:32"):
            found.flags.add(word)
        else:
            raise _SyntaxError
        position += 1
    return found


def _shown(name: str, value: Value) -> str:
    data = value.data
    if isinstance(data, int):
        text = f"0x{data:x}"
    elif isinstance(data, bytes):
        text = data.hex().upper()
    elif isinstance(data, list):
        text = "\\0".join(str(item) for item in data)
    else:
        text = str(data)
    return f"    {name or '(Default)'}    {_NAMES[value.kind]}    {text}\r\n"


_MISSING = ProgramResult(1, "", "ERROR: The system was unable to find the specified registry key or value.\r\n")
_DONE = ProgramResult(0, "The operation completed successfully.\r\n\r\n")


def _query(machine: Machine, key: str, options: _Options) -> ProgramResult:
    registry = machine.registry
    if not registry.key_exists(key):
        return _MISSING
    text = f"\r\n{full_name(key)}\r\n"
    if options.name is not None or options.default:
        value = registry.get(key, options.name or "")
        return _MISSING if value is None else ProgramResult(0, f"{text}{_shown(options.name or '', value)}\r\n")
    text += "".join(_shown(name, value) for name, value in registry.values(key).items())
    return ProgramResult(0, text + "\r\n" + "".join(f"{full_name(key)}\\{name}\r\n" for name in registry.subkeys(key)))


def _add(machine: Machine, key: str, options: _Options) -> ProgramResult:
    registry = machine.registry
    if options.kind not in _KINDS:
        raise _SyntaxError
    if registry.is_right_below_a_hive(key):
        return ProgramResult(1, "", "ERROR: The parameter is incorrect.\r\n")
    if options.name is None and not options.default and not options.data:
        registry.create_key(key)
        return _DONE
    # Without /v, /d sets the default value, like /ve.
    kind = _KINDS[options.kind]
    try:
        data: object = options.data
        if kind in ("DWord", "QWord"):
            data = _number(options.data or "0", 32 if kind == "DWord" else 64)
        elif kind == "MultiString":
            data = [part for part in options.data.split(options.separator) if part]
        elif kind in ("Binary", "None"):
            data = bytes.fromhex(options.data)
    except ValueError:
        return ProgramResult(1, "", "ERROR: Invalid syntax. Specify a valid numeric value for '/d'.\r\n")
    if registry.get(key, options.name or "") is not None and "/f" not in options.flags:
        return ProgramResult(
            1, f"Value {options.name or ''} exists, overwrite(Yes/No)? The operation was canceled by the user.\r\n"
        )
    registry.set(key, options.name or "", data, kind)
    return _DONE


def _number(text: str, bits: int) -> int:
    """Parse a decimal or hexadecimal number as reg.exe does.

    Raises:
        ValueError: the text is not such a number, or the number does not fit into `bits` bits.
    """
    if not re.fullmatch(r"[0-9]+|0[xX][0-9a-fA-F]+", text):
        raise ValueError(text)
    number = int(text, 16 if text[:2].casefold() == "0x" else 10)
    if number >> bits:
        raise ValueError(text)
    return number


def _delete(machine: Machine, key: str, options: _Options) -> ProgramResult:
    registry = machine.registry
    if not registry.key_exists(key):
        return _MISSING
    if "/f" not in options.flags:
        return ProgramResult(1, "The operation was canceled by the user.\r\n")
    if "/va" in options.flags:
        for name in registry.values(key):
            registry.delete(key, name)
    elif options.name is not None or options.default:
        if not registry.delete(key, options.name or ""):
            return _MISSING
    else:
        registry.delete_key(key)
    return _DONE


_VERBS: Mapping[str, Callable[[Machine, str, _Options], ProgramResult]] = {
    "query": _query,
    "add": _add,
    "delete": _delete,
}


def reg(machine: Machine, run: Invocation) -> ProgramResult:
    """Simulate reg.exe."""
    verb = run.argv[0].casefold() if run.argv else ""
    if verb in ("compare", "copy", "export", "import", "load", "restore", "save", "unload"):
        return ProgramResult(1, "", f"the simulator does not model reg {verb}\r\n")
    try:
        if verb not in _VERBS or len(run.argv) < 2:
            raise _SyntaxError
        return _VERBS[verb](machine, run.argv[1], _read(run.argv[2:]))
    except KeyError:
        return ProgramResult(1, "", "ERROR: Invalid key name.\r\n")
    except _SyntaxError:
        return ProgramResult(1, "", f'ERROR: Invalid syntax.\r\nType "REG {verb.upper()} /?" for usage.\r\n')


PROGRAMS: Mapping[str, Program] = {"reg.exe": reg}
