# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Simulate cmdlets that read items (files, registry keys, environment variables, certificates) or handle their paths.

The error ids come from FileSystemProvider.cs, RegistryProvider.cs and SessionStateContainer.cs of PowerShell
(https://github.com/PowerShell/PowerShell/tree/master/src/System.Management.Automation).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from simulator.machine import net_files
from simulator.machine.core import acls, item_changes, paths
from simulator.machine.core.item_objects import item
from simulator.machine.core.paths import ProviderItem
from simulator.machine.objects import Bound, Cmdlet, CmdletError, PSObject
from simulator.machine.rights import cmdlet_errors
from simulator.machine.rights.guard import AccessDeniedError
from simulator.machine.wildcards import has_wildcard

if TYPE_CHECKING:
    from simulator.machine.machine import Machine


_NULL = "Null character in path."
_ARGUMENT = "System.ArgumentException"


def test_path(machine: Machine, bound: Bound) -> Iterable[object]:
    """For each path, return whether the item exists or, with -IsValid, whether the path is valid."""
    kind = bound.text("PathType", "Any").casefold()
    for text, wild in paths.given(bound):
        if not text.strip():
            # PowerShell 7 only: an empty path does not exist. Windows PowerShell rejects empty text during binding.
            yield False
            continue
        if bound.flag("IsValid"):
            yield not any(char in text for char in '<>"|')
            continue
        try:
            if wild and has_wildcard(text):
                found = paths.expand(machine, bound, text)
            else:
                place = paths.parse(machine, bound, text)
                if "\0" in place.path:
                    bound.write_error(CmdletError("InvalidArgument", "ItemExistsArgumentError", _NULL, _ARGUMENT))
                    continue
                found = [place] if paths.exists(machine, bound, place) else []
                if found and place.provider == "FileSystem" and not _seen(machine, place.path):
                    bound.write_error(CmdletError("PermissionDenied", _UNSEEN_ID, "Access is denied", net_files.DENIED))
                    found = []
        except CmdletError:
            yield False
            continue
        found = list(paths.filtered(bound, found))
        if kind != "any":
            found = [place for place in found if paths.is_container(machine, place) == (kind == "container")]
        yield bool(found)


_UNSEEN_ID = "ItemExistsUnauthorizedAccessError"


def _seen(machine: Machine, path: str) -> bool:
    return path.startswith("\\\\") or machine.files.real(path).is_symlink() or machine.files.guard.sees(path)


def get_item(machine: Machine, bound: Bound) -> Iterable[object]:
    """Simulate Get-Item."""
    for place in paths.selected(machine, bound):
        yield item(machine, place, environment=paths.environment(machine, bound))


def get_child_item(machine: Machine, bound: Bound) -> Iterable[object]:
    """Return the children of folders or registry keys. For a file, return the file itself."""
    deep = bound.flag("Recurse") or "Depth" in bound
    depth = bound.number("Depth", 1 << 30) if deep else 0
    for start in paths.selected(machine, bound, default=paths.directory(bound)):
        if not paths.is_container(machine, start):
            # A file that is given by its path is not filtered, except by -Directory.
            if bound.flag("File") or not bound.flag("Directory"):
                yield _one(machine, bound, start, start)
            continue
        yield from _shown(machine, bound, _below(machine, bound, start, depth), start)


def _below(machine: Machine, bound: Bound, place: ProviderItem, depth: int) -> Iterator[ProviderItem]:
    try:
        inner = paths.children(machine, bound, place)
    except AccessDeniedError as error:
        # The item is a folder, because only folders are listed.
        bound.write_error(cmdlet_errors.denied(bound.command, error, folder=True))
        return
    yield from inner
    if depth <= 0:
        return
    for below in inner:
        linked = below.provider == "FileSystem" and machine.files.real(below.path).is_symlink()
        if paths.is_container(machine, below) and not linked:
            yield from _below(machine, bound, below, depth - 1)


def _shown(machine: Machine, bound: Bound, found: Iterable[ProviderItem], start: ProviderItem) -> Iterator[object]:
    for place in paths.filtered(bound, list(found)):
        container = paths.is_container(machine, place)
        if (bound.flag("File") and container) or (bound.flag("Directory") and not container):
            continue
        yield _one(machine, bound, place, start)


def _one(machine: Machine, bound: Bound, place: ProviderItem, start: ProviderItem) -> object:
    if bound.flag("Name"):
        return place.path[len(start.path) :].strip("\\") or place.name
    return item(machine, place, short=True, environment=paths.environment(machine, bound))


def resolve_path(machine: Machine, bound: Bound) -> Iterable[object]:
    """Return the paths of existing items as PathInfo objects or, with -Relative, as strings."""
    for place in paths.selected(machine, bound):
        if bound.flag("Relative"):
            here = paths.directory(bound).rstrip("\\")
            inside = place.path.casefold().startswith(here.casefold() + "\\")
            yield f".{place.path[len(here) :]}" if inside else place.path
            continue
        properties = {
            "Drive": place.path[0] if place.provider == "FileSystem" else None,
            "Provider": PSObject(
                "System.Management.Automation.ProviderInfo", {"Name": place.provider}, paths.CORE + place.provider
            ),
            "ProviderPath": paths.full(place),
            "Path": place.shown,
        }
        yield PSObject("System.Management.Automation.PathInfo", dict(properties), place.shown)


def convert_path(machine: Machine, bound: Bound) -> Iterable[object]:
    """Simulate Convert-Path, which returns provider paths of existing items, such as HKEY_LOCAL_MACHINE for HKLM:."""
    for place in paths.selected(machine, bound):
        yield paths.full(place)


def join_path(machine: Machine, bound: Bound) -> Iterable[object]:
    """Simulate Join-Path, which joins paths and returns the results. With -Resolve, return only paths that exist."""
    child = bound.text("ChildPath")
    starts = bound.texts("Path") or [text for text, _ in paths.given(bound)]
    for start in starts:
        joined = start.rstrip("\\/") + "\\" + child.replace("/", "\\").lstrip("\\")
        joined = joined.replace("/", "\\")
        if not bound.flag("Resolve"):
            yield joined
            continue
        place = paths.parse(machine, bound, joined)
        if paths.exists(machine, bound, place):
            yield place.shown
        else:
            bound.write_error(paths.not_found(place.shown))


def split_path(machine: Machine, bound: Bound) -> Iterable[object]:
    """Simulate Split-Path, which returns the part of each path that a switch selects, by default the parent.

    With -IsAbsolute, return whether the path is absolute.
    """
    for text, _ in paths.given(bound):
        plain = text.replace("/", "\\")
        drive = plain.partition("\\")[0] if ":" in plain.partition("\\")[0] else ""
        trimmed = plain.rstrip("\\") if len(plain.rstrip("\\")) > len(drive) else plain
        if bound.flag("Qualifier"):
            if not drive:
                message = f"Cannot parse path because path '{text}' does not have a qualifier specified."
                bound.write_error(
                    CmdletError("InvalidArgument", "ParsePathFormatError", message, "System.FormatException")
                )
                continue
            yield drive
        elif bound.flag("NoQualifier"):
            yield plain[len(drive) :]
        elif bound.flag("IsAbsolute"):
            yield bool(drive) or plain.startswith("\\")
        elif bound.flag("Leaf"):
            yield trimmed.rpartition("\\")[2] or trimmed
        else:
            head = trimmed.rpartition("\\")[0]
            is_root = trimmed.rstrip("\\") == drive
            yield "" if is_root else f"{head}\\" if head == drive and drive else head


CMDLETS: Mapping[str, Cmdlet] = {
    "Test-Path": test_path,
    "Get-Item": get_item,
    "Get-ChildItem": get_child_item,
    "Resolve-Path": resolve_path,
    "Convert-Path": convert_path,
    "Join-Path": join_path,
    "Split-Path": split_path,
    **item_changes.CMDLETS,
    **acls.CMDLETS,
}
