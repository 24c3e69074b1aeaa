# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Find the items that cmdlets name with -Path, which may contain wildcards, or -LiteralPath.

The items are files, registry keys, environment variables and certificates.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from simulator.machine import certificate_store, listeners, registry
from simulator.machine.objects import Bound, CmdletError, PSObject
from simulator.machine.rights import check
from simulator.machine.session import Session
from simulator.machine.text import to_text
from simulator.machine.wildcards import any_match, has_wildcard, matches
from simulator.machine.windows_paths import LONG, is_illegal, normalise

if TYPE_CHECKING:
    from simulator.machine.machine import Machine

Provider = Literal["FileSystem", "Registry", "Environment", "Certificate"]
CORE = "Microsoft.PowerShell.Core\\"


@dataclass(frozen=True)
class ProviderItem:
    r"""An item of a PowerShell provider, such as FileSystem or Registry.

    It is a file or folder (`C:\…`), a registry key (`HKLM\…`), an environment variable (its name), or a certificate,
    store or store location (`LocalMachine\My\THUMBPRINT`).
    """

    provider: Provider
    path: str
    prefix: str = field(default="", compare=False)
    """The prefix \\\\?\\ if the given path begins with it. .NET keeps this prefix in the file names that it shows."""

    @property
    def name(self) -> str:
        """The last part of the item's path."""
        return self.path.rstrip("\\").rsplit("\\", 1)[-1] if len(self.path) > 3 else self.path

    @property
    def shown(self) -> str:
        """The item's path as error messages and Resolve-Path show it."""
        if self.provider == "Registry":
            root, _, rest = self.path.partition("\\")
            return f"{root}:\\{rest}" if root in ("HKLM", "HKCU") else full(self)
        drive = {"Environment": "Env:\\", "Certificate": "Cert:\\"}.get(self.provider, "")
        return f"{drive}{self.path}"

    def child(self, name: str) -> ProviderItem:
        """Return the child item with this name."""
        below = name.replace("/", "\\").strip("\\")
        if self.provider == "FileSystem":
            return ProviderItem("FileSystem", normalise(f"{self.path}\\{below}"), self.prefix)
        return ProviderItem(self.provider, f"{self.path}\\{below}".strip("\\"))

    @property
    def parent(self) -> ProviderItem:
        """The parent item."""
        head = self.path.rstrip("\\").rpartition("\\")[0]
        if self.provider == "FileSystem":
            return ProviderItem("FileSystem", normalise(head + "\\") if head else self.path, self.prefix)
        return ProviderItem(self.provider, head)


def full(place: ProviderItem) -> str:
    """Return an item's provider path. For a registry key, it begins with a long name such as HKEY_LOCAL_MACHINE."""
    return registry.full_name(place.path) if place.provider == "Registry" and place.path else place.path


def session_of(bound: Bound) -> Session | None:
    """Return the session of the script that calls a cmdlet, or None if no script calls it."""
    for holder in (bound.session, getattr(bound.session, "session", None)):
        if isinstance(holder, Session):
            return holder
    return None


def directory(bound: Bound) -> str:
    """Return the current folder of the script that calls a cmdlet."""
    session = session_of(bound)
    return session.directory if session else "C:\\"


def not_found(path: str) -> CmdletError:
    """Return PowerShell's error for a path that does not exist."""
    error = CmdletError(
        "ObjectNotFound",
        "PathNotFound",
        f"Cannot find path '{path}' because it does not exist.",
        "System.Management.Automation.ItemNotFoundException",
    )
    error.target = path
    return error


def drive_not_found(drive: str) -> CmdletError:
    """Return PowerShell's error for a drive that does not exist."""
    return CmdletError(
        "ObjectNotFound",
        "DriveNotFound",
        f"Cannot find drive. A drive with the name '{drive}' does not exist.",
        "System.Management.Automation.DriveNotFoundException",
    )


def parse(machine: Machine, bound: Bound, text: str) -> ProviderItem:
    """Return the item that a path refers to, with its absolute path. The item need not exist.

    Raises:
        CmdletError: the drive or the root key of the registry does not exist.
    """
    bare = re.sub(r"^(Microsoft\.PowerShell\.Core\\)?FileSystem::", "", text.strip(), flags=re.IGNORECASE)
    if registry.is_registry_path(bare) or re.match(r"HKEY_\w+(\\|$)", bare, re.IGNORECASE):
        try:
            return ProviderItem("Registry", "\\".join(registry.split(bare)))
        except KeyError:
            if re.fullmatch(r"(Microsoft\.PowerShell\.Core\\)?Registry::\\?", bare, re.IGNORECASE):
                return ProviderItem("Registry", "")
            raise not_found(text) from None
    environment = re.match(r"(?:Microsoft\.PowerShell\.Core\\Environment::|env:)[\\/]?(.*)$", bare, re.IGNORECASE)
    if environment:
        return ProviderItem("Environment", environment[1])
    certificate = re.match(r"(?:Microsoft\.PowerShell\.Security\\Certificate::|cert:)[\\/]*(.*)$", bare, re.IGNORECASE)
    if certificate:
        return ProviderItem("Certificate", certificate[1].replace("/", "\\").strip("\\"))
    drive = re.match(r"([^\\/:]+):", bare)
    if drive and (len(drive[1]) > 1 or not machine.files.drive_exists(bare)):
        raise drive_not_found(drive[1])
    session = session_of(bound)
    prefix = LONG if bare.startswith(LONG) else ""
    return ProviderItem("FileSystem", normalise(session.absolute(bare) if session and not prefix else bare), prefix)


def exists(machine: Machine, bound: Bound, place: ProviderItem) -> bool:
    """Return whether an item exists."""
    if place.provider == "Registry":
        return not place.path or machine.registry.key_exists(place.path)
    if place.provider == "Environment":
        return not place.path or place.path.casefold() in {name.casefold() for name in environment(machine, bound)}
    if place.provider == "Certificate":
        return certificate_store.item_exists(machine, place.path)
    if place.path.startswith("\\\\"):  # only pipes have UNC paths here: no server has shares
        return listeners.behind(machine, place.path) is not None
    if is_illegal(place.path):
        return False
    return machine.files.exists(place.path) or machine.files.real(place.path).is_symlink()


def environment(machine: Machine, bound: Bound) -> dict[str, str]:
    """Return the environment variables of the process that calls a cmdlet."""
    session = session_of(bound)
    return session.environment if session else machine.environment()


def is_container(machine: Machine, place: ProviderItem) -> bool:
    """Return whether an item can have children."""
    if place.provider == "FileSystem":
        return not place.path.startswith("\\\\") and machine.files.is_directory(place.path)
    if place.provider == "Certificate":
        return place.path.count("\\") < 2
    return place.provider == "Registry" or not place.path


def children(machine: Machine, bound: Bound, place: ProviderItem) -> list[ProviderItem]:
    """Return the direct children of an item."""
    if place.provider == "FileSystem":
        if not machine.files.is_directory(place.path):
            return []
        machine.files.require(place.path, check.LIST)
        # A link with a missing target is also an entry of its folder.
        real = machine.files.real(place.path)
        # Folders come first, then files, each in the order of the volume.
        found = sorted(real.iterdir(), key=lambda item: (not item.is_dir(), item.name.upper()))
        return [place.child(item.name) for item in found]
    if place.provider == "Registry":
        names = machine.registry.subkeys(place.path) if place.path else ["HKLM", "HKCU", "HKCR", "HKU"]
        return [place.child(name) for name in names]
    if place.provider == "Certificate":
        return [place.child(name) for name in certificate_store.items(machine, place.path)]
    return [ProviderItem("Environment", name) for name in sorted(environment(machine, bound))] if not place.path else []


def expand(machine: Machine, bound: Bound, text: str) -> list[ProviderItem]:
    """Return the items that match a path with wildcards, in the order in which `children` returns them."""
    pattern = parse(machine, bound, text)
    if pattern.provider == "Environment":
        return [
            item
            for item in children(machine, bound, ProviderItem("Environment", ""))
            if matches(pattern.path, item.path)
        ]
    names = pattern.path.split("\\")
    found = [ProviderItem(pattern.provider, names[0] + ("\\" if pattern.provider == "FileSystem" else ""))]
    for name in names[1:]:
        if not name:
            continue
        if has_wildcard(name):
            found = [item for place in found for item in children(machine, bound, place) if matches(name, item.name)]
        else:
            below = [place.child(name) for place in found]
            found = [item for item in below if exists(machine, bound, item)]
    return found


def given(bound: Bound, *, literal: str = "LiteralPath", path: str = "Path") -> list[tuple[str, bool]]:
    """Return (path, whether it may contain wildcards) for each path in a cmdlet's parameters or pipeline input."""
    if literal in bound:
        return [(text, False) for text in bound.texts(literal)]
    if path in bound:
        return [(text, True) for text in bound.texts(path)]
    found: list[tuple[str, bool]] = []
    for item in bound.pipeline:
        if isinstance(item, PSObject):
            provider_path = item.get("PSPath") or item.get("FullName") or item.get("Path")
            found.append((to_text(provider_path), False))
        else:
            found.append((to_text(item), True))
    return found


def selected(
    machine: Machine, bound: Bound, *, literal: str = "LiteralPath", path: str = "Path", default: str = ""
) -> Iterator[ProviderItem]:
    """Yield the existing items at the paths in a cmdlet's parameters or pipeline input.

    If a path without wildcards does not exist, write a non-terminating error.
    """
    for text, wild in given(bound, literal=literal, path=path) or ([(default, False)] if default else []):
        try:
            if wild and has_wildcard(text):
                yield from filtered(bound, expand(machine, bound, text))
                continue
            place = parse(machine, bound, text)
        except CmdletError as error:
            bound.write_error(error)
            continue
        if exists(machine, bound, place):
            yield place
        else:
            bound.write_error(not_found(place.shown))


def filtered(bound: Bound, places: list[ProviderItem]) -> Iterator[ProviderItem]:
    """Yield the items whose names match -Filter and -Include and do not match -Exclude."""
    include, exclude, pattern = bound.texts("Include"), bound.texts("Exclude"), bound.text("Filter")
    for place in places:
        if pattern and not matches(pattern, place.name):
            continue
        if (include and not any_match(include, place.name)) or any_match(exclude, place.name):
            continue
        yield place


def in_use(machine: Machine, place: ProviderItem) -> str | None:
    """Return the path of a running executable at or below an item, or None if no such executable is running."""
    return machine.processes.executing(place.path) if place.provider == "FileSystem" else None
