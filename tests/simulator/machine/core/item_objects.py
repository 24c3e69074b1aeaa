# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Create the objects that PowerShell returns for files, folders, registry keys, variables and certificates."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from simulator.machine import certificate_store, executables
from simulator.machine.core.paths import CORE, ProviderItem, full
from simulator.machine.objects import Enumeration, PSObject
from simulator.machine.powershell.formatting.file_table import FileItem
from simulator.machine.text import to_text

if TYPE_CHECKING:
    from simulator.machine.machine import Machine

ATTRIBUTES = "System.IO.FileAttributes"


@dataclass
class Links:
    """Maps the lower-case path of each file system link to its kind: `Junction`, `SymbolicLink` or `HardLink`.

    A symbolic link on the host's disk that is not listed here counts as a `SymbolicLink`.
    """

    kinds: dict[str, str] = field(default_factory=dict)


def provider_properties(place: ProviderItem) -> dict[str, object]:
    """Return the properties, such as PSPath, that PowerShell adds to every item."""
    parent = place.parent
    home = "Microsoft.PowerShell.Security\\" if place.provider == "Certificate" else CORE
    head = f"{home}{place.provider}::"
    drive = place.path[0] if place.provider == "FileSystem" else place.path.partition("\\")[0]
    return {
        "PSPath": head + full(place),
        "PSParentPath": head + full(parent) if parent.path and parent != place else "",
        "PSChildName": place.name,
        "PSDrive": PSObject("System.Management.Automation.PSDriveInfo", {"Name": drive}, drive),
        "PSProvider": PSObject(
            "System.Management.Automation.ProviderInfo", {"Name": place.provider}, home + place.provider
        ),
    }


def item(
    machine: Machine, place: ProviderItem, *, short: bool = False, environment: dict[str, str] | None = None
) -> PSObject:
    """Return the object that PowerShell returns for an existing item.

    Args:
        short: whether ToString() of a file or folder returns only its name, as for objects from Get-ChildItem.
        environment: the environment variables of the process, which are needed if the item is one of them.
    """
    if place.provider == "Registry":
        return _key(machine, place)
    if place.provider == "Environment":
        known = {name.casefold(): (name, value) for name, value in (environment or {}).items()}
        name, value = known.get(place.path.casefold(), (place.path, ""))
        entry = {"Name": name, "Key": name, "Value": value, **provider_properties(place), "PSIsContainer": False}
        return PSObject("System.Collections.DictionaryEntry", entry)
    if place.provider == "Certificate":
        return _certificate(machine, place)
    return _file(machine, place, short)


def _certificate(machine: Machine, place: ProviderItem) -> PSObject:
    """Return the object for a certificate, a certificate store or a store location."""
    store = place.parent.name
    for certificate in certificate_store.certificates(machine, store) if place.path.count("\\") == 2 else ():
        mark = certificate_store.thumbprint(certificate)
        found = certificate_store.describe(certificate, store, certificate_store.friendly_name(machine, store, mark))
        if str(found.get("Thumbprint")).casefold() == place.name.casefold():
            return PSObject(found.type_name, {**found.properties, **provider_properties(place)})
    properties = {"Name": place.name, **provider_properties(place)}
    return PSObject("System.Security.Cryptography.X509Certificates.X509Store", properties)


def _file(machine: Machine, place: ProviderItem, short: bool) -> PSObject:
    real = machine.files.real(place.path)
    entry = machine.files.entry(place.path)
    folder = entry.is_directory if entry else False
    modified = entry.modified if entry else datetime.fromtimestamp(real.lstat().st_mtime, UTC)
    name = place.path if len(place.path) == 3 else real.name
    path = place.path if len(place.path) == 3 else f"{place.parent.path.rstrip(chr(92))}\\{name}"
    path = place.prefix + path
    base, dot, extension = name.rpartition(".")
    extension = dot + extension if dot else ""
    link = _link_kind(machine, place, real)
    properties: dict[str, object] = {
        "Name": name,
        "FullName": path,
        "Exists": True,
        "Extension": extension,
        "BaseName": name if folder or not base else base,
        "CreationTime": modified,
        "CreationTimeUtc": modified,
        "LastWriteTime": modified,
        "LastWriteTimeUtc": modified,
        "LastAccessTime": modified,
        "Attributes": _attributes(folder, bool(link)),
        "Mode": ("d" if folder else "-") + ("-" if folder else "a") + "---" + ("l" if link else "-"),
        "LinkType": link,
        "Target": [_target(machine, real)] if real.is_symlink() else None,
        **provider_properties(place),
        "PSIsContainer": folder,
    }
    width = 26 if machine.windows.build >= 20348 else 25
    if folder:
        properties |= {"Parent": place.parent.path, "Root": place.path[:3]}
        return FileItem("System.IO.DirectoryInfo", properties, name if short else path, width)
    properties |= {
        "Length": entry.size if entry else 0,
        "DirectoryName": place.prefix + place.parent.path,
        "IsReadOnly": False,
        "VersionInfo": _version(machine, place, path),
    }
    return FileItem("System.IO.FileInfo", properties, name if short else path, width)


def _attributes(folder: bool, link: bool) -> Enumeration:
    names = (["Directory"] if folder else ["Archive"]) + (["ReparsePoint"] if link else [])
    numbers = {"Directory": 16, "Archive": 32, "ReparsePoint": 1024}
    return Enumeration(", ".join(names), sum(numbers[name] for name in names), ATTRIBUTES)


def _link_kind(machine: Machine, place: ProviderItem, real: Path) -> str | None:
    kind = machine.part(Links).kinds.get(place.path.casefold())
    if real.is_symlink():
        return kind or "SymbolicLink"
    return "HardLink" if kind == "HardLink" else None


def _target(machine: Machine, real: Path) -> str:
    return machine.files.windows(Path(os.path.normpath(real.parent / real.readlink())))


def _version(machine: Machine, place: ProviderItem, path: str) -> PSObject:
    """Return a file's version information. It contains only the path if the file is not a simulated program."""
    found = None
    if machine.files.is_file(place.path):
        with machine.files.real(place.path).open("rb") as file:
            found = executables.identify(file.read(executables.HEAD_SIZE))
    program, version = found or (None, None)
    properties: dict[str, object] = {
        "FileName": path,
        "ProductName": program,
        "ProductVersion": version,
        "FileVersion": version,
        "FileDescription": program,
        "OriginalFilename": place.name if found else None,
    }
    numbers = [int(part) if part.isdigit() else 0 for part in [*(version or "").split("."), "0", "0", "0", "0"]][:4]
    parts = ("FileMajorPart", "FileMinorPart", "FileBuildPart", "FilePrivatePart")
    properties |= dict(zip(parts, numbers, strict=True))
    return PSObject("System.Diagnostics.FileVersionInfo", properties)


def _key(machine: Machine, place: ProviderItem) -> PSObject:
    values = machine.registry.values(place.path) if place.path else {}
    names = [name or "(default)" for name in values]

    def get_value(name: object = "", default: object = None, *_: object) -> object:
        value = machine.registry.get(place.path, to_text(name))
        if value is None:
            return default
        # With DoNotExpandEnvironmentNames as the third argument, variables are not expanded.
        return machine.expand(str(value.data)) if value.kind == "ExpandString" and not _ else value.data

    def get_kind(name: object = "") -> object:
        value = machine.registry.get(place.path, to_text(name))
        return None if value is None else Enumeration(value.kind, 0, "Microsoft.Win32.RegistryValueKind")

    properties: dict[str, object] = {
        "Name": full(place),
        "SubKeyCount": len(machine.registry.subkeys(place.path)) if place.path else 4,
        "ValueCount": len(names),
        "Property": names,
        "View": Enumeration("Default", 0, "Microsoft.Win32.RegistryView"),
        **provider_properties(place),
        "PSIsContainer": True,
        "GetValue": get_value,
        "GetValueKind": get_kind,
        "GetValueNames": lambda: list(values),
        "GetSubKeyNames": lambda: list(machine.registry.subkeys(place.path)),
    }
    return PSObject("Microsoft.Win32.RegistryKey", properties, full(place))
