# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
r"""Page files, as configured in the registry: `PagingFiles` in Session Manager\Memory Management.

With `?:\pagefile.sys`, Windows manages the page files of all drives. With `C:\pagefile.sys 0 0`, it manages the size of
one page file. `C:\pagefile.sys 1024 2048` has a minimum and a maximum size (in MB). Changes take effect at the next
boot. Source: https://learn.microsoft.com/windows/win32/cimwin32prov/win32-pagefilesetting
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from simulator.machine.machine import Machine

KEY = r"HKLM:\SYSTEM\CurrentControlSet\Control\Session Manager\Memory Management"
_AUTOMATIC = "?:\\pagefile.sys"


@dataclass(frozen=True)
class PageFile:
    """A page file with sizes in MB. If both sizes are 0, Windows manages the size."""

    path: str
    initial: int = 0
    maximum: int = 0


@dataclass
class InUse:
    """The page files that have been in use since the last boot."""

    files: list[PageFile] = field(default_factory=lambda: [PageFile("C:\\pagefile.sys")])


def _entries(machine: Machine) -> list[str]:
    data = machine.registry.data(KEY, "PagingFiles", [_AUTOMATIC])
    return [str(item) for item in data] if isinstance(data, list) else [_AUTOMATIC]


def is_automatic(machine: Machine) -> bool:
    """Return whether Windows manages the page files of all drives."""
    return any(entry.startswith("?:") for entry in _entries(machine))


def configured(machine: Machine) -> list[PageFile]:
    """Return the configured page files, or an empty list if Windows manages the page files of all drives."""
    found = []
    for entry in _entries(machine):
        parts = entry.split()
        if parts and not entry.startswith("?:"):
            sizes = [int(part) if part.isdigit() else 0 for part in parts[1:3]]
            found.append(PageFile(parts[0], *sizes))
    return found


def active(machine: Machine) -> list[PageFile]:
    """Return the page files in use."""
    return machine.part(InUse).files


def configure(machine: Machine, files: list[PageFile]) -> None:
    """Configure the page files that Windows uses from the next boot on."""
    entries: list[object] = [f"{file.path} {file.initial} {file.maximum}" for file in files]
    machine.registry.set(KEY, "PagingFiles", entries, "MultiString")


def make_automatic(machine: Machine, automatic: bool) -> None:
    """Enable or disable automatic management of page files. Disabling it keeps the page files that are in use."""
    if automatic:
        machine.registry.set(KEY, "PagingFiles", [_AUTOMATIC], "MultiString")
    elif is_automatic(machine):
        configure(machine, active(machine))


def on_boot(machine: Machine) -> None:
    """Activate the configured page files at boot."""
    machine.part(InUse).files = [PageFile("C:\\pagefile.sys")] if is_automatic(machine) else configured(machine)
