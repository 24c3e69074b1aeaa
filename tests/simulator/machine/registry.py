# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The Windows registry of a simulated machine: keys, typed values, case-insensitive names, volatile keys."""

from __future__ import annotations

import functools
import re
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from simulator.machine.rights.acting import Acting

KINDS = ("String", "ExpandString", "MultiString", "DWord", "QWord", "Binary", "None")

_ROOTS = {
    "hklm": "HKLM",
    "hkey_local_machine": "HKLM",
    "hkcu": "HKCU",
    "hkey_current_user": "HKCU",
    "hku": "HKU",
    "hkey_users": "HKU",
    "hkcr": "HKCR",
    "hkey_classes_root": "HKCR",
    "hkcc": "HKCC",
    "hkey_current_config": "HKCC",
}


class RegistryDeniedError(PermissionError):
    """Raised if the caller is not allowed to write the key `path` (ERROR_ACCESS_DENIED)."""

    def __init__(self, path: str) -> None:
        super().__init__(13, "Requested registry access is not allowed.")
        self.path = path

    def __str__(self) -> str:
        return str(self.strerror)


@dataclass(frozen=True)
class Value:
    """A registry value. `data` is str, list of str (MultiString), int (DWord, QWord) or bytes.

    `kind` is one of KINDS.
    """

    data: object
    kind: str = "String"


@dataclass
class _Key:
    name: str
    volatile: bool = False
    subkeys: dict[str, _Key] = field(default_factory=dict)
    values: dict[str, tuple[str, Value]] = field(default_factory=dict)


def split(path: str) -> list[str]:
    r"""Return the parts of a registry path: the short name of its root, such as `HKLM`, and the keys that follow it.

    In `path`, the root can have its short or its long name.

    Raises:
        KeyError: the root does not exist.
    """
    return list(_split(path))


@functools.lru_cache(maxsize=4096)
def _split(path: str) -> tuple[str, ...]:
    text = re.sub(r"^(Microsoft\.PowerShell\.Core\\)?Registry::", "", path.strip(), flags=re.IGNORECASE).replace(
        "/", "\\"
    )
    names = [name for name in text.split("\\") if name]
    root = _ROOTS.get(names[0].rstrip(":").casefold()) if names else None
    if root is None:
        raise KeyError(f"expected a registry path that starts with a root key, got {path!r}")
    return (root, *names[1:])


def is_registry_path(path: str) -> bool:
    """Return whether a provider path refers to the registry."""
    head = re.split(r"[\\/]", path.strip(), maxsplit=1)[0].casefold()
    return "registry::" in path.casefold() or head in {f"{name}:" for name in ("hklm", "hkcu", "hkcr", "hku", "hkcc")}


def full_name(path: str) -> str:
    r"""Return a path in .NET's form, such as `HKEY_LOCAL_MACHINE\SOFTWARE`."""
    long = {"HKLM": "HKEY_LOCAL_MACHINE", "HKCU": "HKEY_CURRENT_USER", "HKU": "HKEY_USERS", "HKCR": "HKEY_CLASSES_ROOT"}
    names = split(path)
    return "\\".join([long.get(names[0], "HKEY_CURRENT_CONFIG"), *names[1:]])


class Registry:
    """The registry of one machine. A path can have any form that `split` accepts.

    Args:
        acting: the user whose access to keys is checked; None disables access checks.
    """

    def __init__(self, acting: Acting | None = None) -> None:
        self._acting = acting
        self._roots = {name: _Key(name) for name in ("HKLM", "HKCU", "HKU", "HKCR", "HKCC")}
        self._lock = threading.RLock()
        self._protected: list[list[str]] = []

    def protect(self, path: str) -> None:
        """Allow only TrustedInstaller to write a key and its subkeys, as Windows Resource Protection does."""
        self._protected.append([name.casefold() for name in split(path)])

    def is_right_below_a_hive(self, path: str) -> bool:
        """Return whether creating a key would create a direct child of HKEY_LOCAL_MACHINE or HKEY_USERS.

        Windows does not allow such a key. Source:
        https://learn.microsoft.com/windows/win32/api/winreg/nf-winreg-regcreatekeyexw
        """
        names = split(path)
        if len(names) < 2 or names[0] not in ("HKLM", "HKU"):
            return False
        return not self.key_exists("\\".join(names[:2]))

    def _find(self, path: str) -> _Key | None:
        names = split(path)
        key: _Key | None = self._roots[names[0]]
        for name in names[1:]:
            key = key.subkeys.get(name.casefold()) if key else None
        return key

    def key_exists(self, path: str) -> bool:
        """Return whether a key exists."""
        with self._lock:
            return self._find(path) is not None

    def create_key(self, path: str, *, volatile: bool = False) -> bool:
        """Create a key and its missing parents, and return whether the key is new. A reboot deletes `volatile` keys.

        Raises:
            RegistryDeniedError: the caller is not allowed to write the key.
        """
        with self._lock:
            names = split(path)
            if not self.key_exists(path):
                self._require_write(names)
            key = self._roots[names[0]]
            made = False
            for name in names[1:]:
                below = key.subkeys.get(name.casefold())
                if below is None:
                    below = _Key(name, volatile=volatile)
                    key.subkeys[name.casefold()] = below
                    made = True
                key = below
            return made

    def delete_key(self, path: str) -> bool:
        """Delete a key and everything below it, and return whether it existed.

        Raises:
            RegistryDeniedError: the caller is not allowed to write the key.
        """
        with self._lock:
            names = split(path)
            self._require_write(names)
            parent = self._find("\\".join(names[:-1])) if len(names) > 1 else None
            return parent is not None and parent.subkeys.pop(names[-1].casefold(), None) is not None

    def get(self, path: str, name: str) -> Value | None:
        """Return a value, or None if the value does not exist. The key's default value has the name `""`."""
        with self._lock:
            key = self._find(path)
            found = key.values.get(name.casefold()) if key else None
            return found[1] if found else None

    def data(self, path: str, name: str, default: object = None) -> object:
        """Return the data of a value, or `default` if the value does not exist."""
        value = self.get(path, name)
        return default if value is None else value.data

    def set(self, path: str, name: str, data: object, kind: str = "String") -> None:
        """Write a value. If its key does not exist, create the key.

        Raises:
            ValueError: the kind is unknown.
            RegistryDeniedError: the caller is not allowed to write the key.
        """
        if kind not in KINDS:
            raise ValueError(f"expected a kind of registry value such as String or DWord, got {kind}")
        with self._lock:
            self._require_write(split(path))
            self.create_key(path)
            key = self._find(path)
            assert key is not None
            old = key.values.get(name.casefold())
            key.values[name.casefold()] = (old[0] if old else name, Value(data, kind))

    def delete(self, path: str, name: str) -> bool:
        """Delete a value, and return whether it existed.

        Raises:
            RegistryDeniedError: the caller is not allowed to write the key.
        """
        with self._lock:
            self._require_write(split(path))
            key = self._find(path)
            return key is not None and key.values.pop(name.casefold(), None) is not None

    def _require_write(self, names: list[str]) -> None:
        """Raise RegistryDeniedError unless the caller is an administrator or the key is in HKEY_CURRENT_USER.

        Only Windows itself may write a key that `protect` covers.

        Source: https://learn.microsoft.com/windows/win32/sysinfo/registry-key-security-and-access-rights
        """
        token = self._acting.token if self._acting else None
        folded = [name.casefold() for name in names]
        if token is not None and any(folded[: len(key)] == key for key in self._protected):
            raise RegistryDeniedError("\\".join(names))
        if token is not None and not token.administrative and names[0] != "HKCU":
            raise RegistryDeniedError("\\".join(names))

    def values(self, path: str) -> dict[str, Value]:
        """Return the values of a key, keyed by their names. A missing key has no values."""
        with self._lock:
            key = self._find(path)
            return dict(key.values.values()) if key else {}

    def subkeys(self, path: str) -> list[str]:
        """Return the names of a key's subkeys, sorted regardless of case. A missing key has no subkeys."""
        with self._lock:
            key = self._find(path)
            return sorted((below.name for below in key.subkeys.values()), key=str.upper) if key else []

    def write(self, path: str, entries: Mapping[str, object]) -> None:
        """Write values to a key. A str becomes a String, an int a DWord, a list a MultiString, and bytes a Binary.

        An instance of Value is written unchanged.
        """
        self.create_key(path)
        for name, entry in entries.items():
            value = entry if isinstance(entry, Value) else Value(entry, _kind(entry))
            self.set(path, name, value.data, value.kind)

    def walk(self, path: str) -> Iterator[tuple[str, str, Value]]:
        """Yield (key path, value name, value) for each value of a key and of all keys below it."""
        with self._lock:
            start = self._find(path)
            found = list(_walk("\\".join(split(path)), start)) if start else []
        yield from found

    def drop_volatile(self) -> None:
        """Discard the volatile keys, as a reboot does."""
        with self._lock:
            for root in self._roots.values():
                _drop_volatile(root)

    def copy_from(self, other: Registry) -> None:
        """Replace all content with a copy of another registry."""
        with other._lock:
            self._roots = {name: _copied(root) for name, root in other._roots.items()}


def _copied(key: _Key) -> _Key:
    subkeys = {name: _copied(below) for name, below in key.subkeys.items()}
    values = {name: (own, _own(value)) for name, (own, value) in key.values.items()}
    return _Key(key.name, key.volatile, subkeys, values)


def _own(value: Value) -> Value:
    return Value(list(value.data), value.kind) if isinstance(value.data, list) else value


def _kind(entry: object) -> str:
    if isinstance(entry, bytes):
        return "Binary"
    if isinstance(entry, list):
        return "MultiString"
    return "DWord" if isinstance(entry, int) else "String"


def _walk(path: str, key: _Key) -> Iterator[tuple[str, str, Value]]:
    for name, value in key.values.values():
        yield path, name, value
    for below in key.subkeys.values():
        yield from _walk(f"{path}\\{below.name}", below)


def _drop_volatile(key: _Key) -> None:
    key.subkeys = {name: below for name, below in key.subkeys.items() if not below.volatile}
    for below in key.subkeys.values():
        _drop_volatile(below)
