# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Simulate New-, Set-, Remove-, Rename-, Copy- and Move-Item for files and registry keys.

New-, Set- and Remove-Item also change environment variables, and Remove-Item also removes certificates.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from simulator.machine import certificate_store, net_files
from simulator.machine.core import link_removal, paths
from simulator.machine.core.item_objects import Links, item
from simulator.machine.core.paths import ProviderItem
from simulator.machine.objects import Bound, Cmdlet, CmdletError, NotModelled
from simulator.machine.registry import Registry
from simulator.machine.rights import trees
from simulator.machine.text import to_text
from simulator.machine.windows_paths import is_illegal

if TYPE_CHECKING:
    from simulator.machine.machine import Machine

IO = "System.IO.IOException"
DENIED = "System.UnauthorizedAccessException"
NO_FOLDER = "System.IO.DirectoryNotFoundException"
# The messages of DirectoryInfo.MoveTo, the second one for a destination below the source.
_SAME = "Source and destination path must be different."
_INTO_ITSELF = "The process cannot access the file because it is being used by another process.\r\n"


def _used(path: str, error_id: str) -> CmdletError:
    message = f"The process cannot access the file '{path}' because it is being used by another process."
    return CmdletError("WriteError", error_id, message, IO)


def _exists_already(error_id: str) -> CmdletError:
    return CmdletError("WriteError", error_id, "Cannot create a file when that file already exists.\r\n", IO)


def _no_part(path: str, error_id: str, category: str = "WriteError") -> CmdletError:
    return CmdletError(category, error_id, f"Could not find a part of the path '{path}'.", NO_FOLDER)


def new_item(machine: Machine, bound: Bound) -> Iterable[object]:
    """Create files, folders, links, registry keys or environment variables."""
    name = bound.text("Name")
    for text in bound.texts("Path") or [paths.directory(bound)]:
        place = paths.parse(machine, bound, text)
        if name:
            place = place.child(name)
        if place.provider == "Registry":
            yield from _new_key(machine, bound, place)
        elif place.provider == "Environment":
            paths.environment(machine, bound)[place.path] = bound.text("Value")
            yield item(machine, place, environment=paths.environment(machine, bound))
        else:
            kind = bound.text("ItemType", "File").casefold()
            makers = {"directory": _new_folder, "container": _new_folder, "file": _new_file, "leaf": _new_file}
            make = makers.get(kind, _new_link)
            yield from make(machine, bound, place)


def _new_key(machine: Machine, bound: Bound, place: ProviderItem) -> Iterator[object]:
    registry = machine.registry
    if registry.key_exists(place.path):
        if not bound.flag("Force"):
            message = "A key in this path already exists."
            bound.write_error(CmdletError("ResourceExists", IO, message, IO))
            return
        registry.delete_key(place.path)
    elif not bound.flag("Force") and not registry.key_exists(place.parent.path):
        message = "The registry key at the specified path does not exist."
        kind = "System.ArgumentException"
        bound.write_error(CmdletError("InvalidArgument", kind, message, kind))
        return
    if registry.is_right_below_a_hive(place.path):
        bound.write_error(CmdletError("WriteError", IO, "The parameter is incorrect.", IO))
        return
    registry.create_key(place.path)
    if "Value" in bound:
        registry.set(place.path, "", to_text(bound["Value"]))
    yield item(machine, place)


def _illegal(path: str, error_id: str) -> CmdletError | None:
    """Return the error for a file path that is invalid or on a network share, or None for other paths.

    Args:
        error_id: the id of the cmdlet's I/O errors, from which the id of the cmdlet's argument errors is derived.
    """
    if "\0" in path:
        message, kind = "Null character in path.", net_files.ARGUMENT
        return CmdletError("InvalidArgument", error_id.replace("IOError", "ArgumentError"), message, kind)
    if is_illegal(path):
        message = f"The filename, directory name, or volume label syntax is incorrect. : '{path}'"
        return CmdletError("WriteError", error_id, message, IO)
    return _no_part(path, error_id) if path.startswith("\\\\") else None


def _new_folder(machine: Machine, bound: Bound, place: ProviderItem) -> Iterator[object]:
    files = machine.files
    if (refused := _illegal(place.path, "CreateDirectoryIOError")) is not None:
        bound.write_error(refused)
        return
    if files.exists(place.path) and not (bound.flag("Force") and files.is_directory(place.path)):
        message = f"An item with the specified name {place.path} already exists."
        bound.write_error(CmdletError("ResourceExists", "DirectoryExist", message, IO))
        return
    if _blocked(machine, place):
        bound.write_error(_no_part(place.path, "CreateDirectoryIOError"))
        return
    files.make_directory(place.path)
    yield item(machine, place)


def _blocked(machine: Machine, place: ProviderItem) -> bool:
    """Return whether a path cannot exist because one of its parents is a file and not a folder."""
    parent = place.parent
    while parent.path != place.path:
        if machine.files.is_file(parent.path):
            return True
        place, parent = parent, parent.parent
    return False


def _new_file(machine: Machine, bound: Bound, place: ProviderItem) -> Iterator[object]:
    files = machine.files
    if (refused := _illegal(place.path, "NewItemIOError")) is not None:
        bound.write_error(refused)
        return
    if files.is_directory(place.path):
        message = f"Access to the path '{place.path}' is denied."
        bound.write_error(CmdletError("PermissionDenied", "NewItemUnauthorizedAccessError", message, DENIED))
        return
    if files.exists(place.path) and not bound.flag("Force"):
        message = f"The file '{place.path}' already exists."
        bound.write_error(CmdletError("WriteError", "NewItemIOError", message, IO))
        return
    if not files.is_directory(place.parent.path):
        if not bound.flag("Force") or _blocked(machine, place):
            bound.write_error(_no_part(place.path, "NewItemIOError"))
            return
        files.make_directory(place.parent.path)
    if program := paths.in_use(machine, place):
        bound.write_error(_used(program, "NewItemIOError"))
        return
    files.write_bytes(place.path, bound.text("Value").encode())
    yield item(machine, place)


def _new_link(machine: Machine, bound: Bound, place: ProviderItem) -> Iterator[object]:
    kinds = {"junction": "Junction", "symboliclink": "SymbolicLink", "hardlink": "HardLink"}
    kind = kinds.get(bound.text("ItemType").casefold())
    if kind is None:
        message = (
            "The type is not a known type for the file system. "
            'Only "file","directory" or "symboliclink" can be specified.'
        )
        raise CmdletError("InvalidArgument", "Argument", message, "System.Management.Automation.PSArgumentException")
    target = paths.parse(machine, bound, bound.text("Value"))
    if not machine.files.exists(target.path):
        raise paths.not_found(target.path)
    if paths.exists(machine, bound, place):
        if not bound.flag("Force"):
            message = f"The file '{place.path}' already exists."
            raise CmdletError("ResourceExists", "NewItemIOError", message, IO)
        machine.files.delete(place.path)
    if not machine.files.is_directory(place.parent.path):
        machine.files.make_directory(place.parent.path)
    machine.files.guard.require_child(place.path, folder=False)
    real, aim = machine.files.real(place.path), machine.files.real(target.path)
    if kind == "HardLink":
        real.hardlink_to(aim)
    else:
        # Relative, so that in a copy of the disk (an image) it points into the copy.
        real.symlink_to(os.path.relpath(aim, real.parent))
    machine.part(Links).kinds[place.path.casefold()] = kind
    yield item(machine, place)


def remove_item(machine: Machine, bound: Bound) -> Iterable[object]:
    """Remove items. An item with children requires -Recurse, because PowerShell cannot ask for confirmation."""
    for place in list(paths.selected(machine, bound)):
        linked = place.provider == "FileSystem" and machine.files.real(place.path).is_symlink()
        below = not linked and paths.is_container(machine, place) and paths.children(machine, bound, place)
        if below and not bound.flag("Recurse"):
            raise CmdletError(
                "InvalidOperation",
                "InvalidOperation",
                "Windows PowerShell is in NonInteractive mode. Read and Prompt functionality is not available.",
                "System.Management.Automation.PSInvalidOperationException",
            )
        if place.provider == "Registry":
            machine.registry.delete_key(place.path)
        elif place.provider == "Environment":
            _unset(paths.environment(machine, bound), place.path)
        elif place.provider == "Certificate":
            delete_key = bound.flag("DeleteKey")
            certificate_store.remove(machine, place.parent.name, place.name.upper(), delete_key=delete_key)
        else:
            _remove_file(machine, bound, place)
    return []


def _unset(environment: dict[str, str], name: str) -> None:
    for key in [key for key in environment if key.casefold() == name.casefold()]:
        del environment[key]


def _remove_file(machine: Machine, bound: Bound, place: ProviderItem) -> None:
    # The executable of a running process cannot be deleted: DeleteFile returns ERROR_ACCESS_DENIED.
    if program := paths.in_use(machine, place):
        name = program.rsplit("\\", 1)[-1]
        message = f"Cannot remove item {program}: Access to the path '{name}' is denied."
        error_id = "RemoveFileSystemItemUnAuthorizedAccess"
        bound.write_error(CmdletError("PermissionDenied", error_id, message, DENIED))
        return
    if machine.files.open.blocks(place.path, "d") or machine.files.open.blocks_below(place.path):
        name = place.name
        message = f"Cannot remove item {place.path}: {net_files.used(name).message}"
        bound.write_error(CmdletError("WriteError", "RemoveFileSystemItemIOError", message, IO))
        return
    if links := link_removal.links_below(machine, place.path):
        trees.delete_others(machine.files, place.path, links)
        for link in links:
            bound.write_error(link_removal.mismatch(link))
        return
    machine.files.delete(place.path)
    kinds = machine.part(Links).kinds
    key = place.path.casefold()
    for known in [known for known in kinds if known == key or known.startswith(key + "\\")]:
        del kinds[known]


def rename_item(machine: Machine, bound: Bound) -> Iterable[object]:
    """Rename items within their folder or parent key."""
    new_name = bound.text("NewName").replace("/", "\\")
    for place in list(paths.selected(machine, bound)):
        target = place.parent.child(new_name)
        if "\\" in new_name.strip("\\") and paths.parse(machine, bound, new_name).parent != place.parent:
            message = "Cannot rename the specified target, because it represents a path or device name."
            kind = "System.Management.Automation.PSArgumentException"
            raise CmdletError("InvalidArgument", "Argument", message, kind)
        if "\\" in new_name:
            target = paths.parse(machine, bound, new_name)
        if place.provider == "FileSystem" and (refused := _illegal(target.path, "RenameItemIOError")) is not None:
            bound.write_error(refused)
            continue
        same = target.path.casefold() == place.path.casefold()
        if not same and paths.exists(machine, bound, target):
            bound.write_error(_exists_already("RenameItemIOError"))
            continue
        _move(machine, place, target)
        if bound.flag("PassThru"):
            yield item(machine, target)


def move_item(machine: Machine, bound: Bound) -> Iterable[object]:
    """Move items. If the destination is an existing folder or registry key, move them into it."""
    for place in list(paths.selected(machine, bound)):
        target = _target(machine, bound, place)
        folder = machine.files.is_directory(place.path) if place.provider == "FileSystem" else True
        if place.provider == "FileSystem" and (refused := _illegal(target.path, "MoveFileInfoItemIOError")) is not None:
            bound.write_error(refused)
            continue
        below = place.path.rstrip("\\").casefold() + "\\"
        if folder and f"{target.path}\\".casefold().startswith(below):
            message = _SAME if below == f"{target.path}\\".casefold() else _INTO_ITSELF
            bound.write_error(CmdletError("WriteError", "MoveDirectoryItemIOError", message, IO))
            continue
        if paths.exists(machine, bound, target) and target.path.casefold() != place.path.casefold():
            if folder or not bound.flag("Force"):
                kind = "MoveDirectoryItemIOError" if folder else "MoveFileInfoItemIOError"
                bound.write_error(_exists_already(kind))
                continue
            if program := paths.in_use(machine, target):
                bound.write_error(_used(program, "MoveFileInfoItemIOError"))
                continue
        if place.provider == "FileSystem" and not machine.files.is_directory(target.parent.path):
            kind = "MoveDirectoryItemIOError" if folder else "MoveFileInfoItemIOError"
            bound.write_error(_no_part(target.path, kind))
            continue
        _move(machine, place, target)
        if bound.flag("PassThru"):
            yield item(machine, target)


def _target(machine: Machine, bound: Bound, place: ProviderItem) -> ProviderItem:
    destination = paths.parse(machine, bound, bound.text("Destination") or ".")
    if destination.provider != place.provider:
        message = "Source and destination path did not resolve to the same provider."
        if bound.command == "Move-Item":
            message = f"Cannot move the item because the {message.lower().replace(' path ', ' paths ')}"
        kind = "System.Management.Automation.PSArgumentException"
        raise CmdletError("InvalidArgument", "Argument", message, kind)
    into = paths.exists(machine, bound, destination) and paths.is_container(machine, destination)
    return destination.child(place.name) if into else destination


def _move(machine: Machine, place: ProviderItem, target: ProviderItem) -> None:
    if place.provider == "Registry":
        _copy_key(machine.registry, place.path, target.path, recurse=True)
        machine.registry.delete_key(place.path)
        return
    # A running executable can be moved within its volume, because the process keeps the file open.
    machine.files.move(place.path, target.path)


def _copy_key(registry: Registry, source: str, target: str, *, recurse: bool) -> None:
    """Copy a registry key with its values and, if `recurse` is true, with all its subkeys."""
    registry.create_key(target)
    for name, value in registry.values(source).items():
        registry.set(target, name, value.data, value.kind)
    for name in registry.subkeys(source) if recurse else ():
        _copy_key(registry, f"{source}\\{name}", f"{target}\\{name}", recurse=True)


def copy_item(machine: Machine, bound: Bound) -> Iterable[object]:
    """Copy files, folders or registry keys.

    If the destination is an existing folder or registry key, copy them into it. With -Recurse, also copy the contents
    of folders and the subkeys of registry keys.
    """
    for place in list(paths.selected(machine, bound)):
        target = _target(machine, bound, place)
        if place.provider == "Registry":
            _copy_key(machine.registry, place.path, target.path, recurse=bound.flag("Recurse"))
        elif (refused := _illegal(target.path, "CopyFileInfoItemIOError")) is not None:
            bound.write_error(refused)
        elif machine.files.is_directory(place.path):
            _copy_folder(machine, bound, place, target)
        else:
            _copy_file(machine, bound, place, target)
        if bound.flag("PassThru") and paths.exists(machine, bound, target):
            yield item(machine, target)


def _copy_folder(machine: Machine, bound: Bound, place: ProviderItem, target: ProviderItem) -> None:
    if machine.files.is_file(target.path):
        message = "Container cannot be copied onto existing leaf item."
        error = CmdletError("InvalidArgument", "CopyContainerItemToLeafError", message, "System.ArgumentException")
        bound.write_error(error)
        return
    if not bound.flag("Recurse"):
        machine.files.make_directory(target.path)
        return
    if f"{target.path}\\".casefold().startswith(place.path.rstrip("\\").casefold() + "\\"):
        raise NotModelled(f"copying {place.path} into itself")
    if program := paths.in_use(machine, target):
        inner = program[len(target.path) :].lstrip("\\")
        if machine.files.is_file(place.child(inner).path):
            bound.write_error(_used(program, "CopyFileInfoItemIOError"))
            return
    machine.files.copy(place.path, target.path)


def _copy_file(machine: Machine, bound: Bound, place: ProviderItem, target: ProviderItem) -> None:
    if target.path.casefold() == place.path.casefold():
        message = f"Cannot overwrite the item {place.path} with itself."
        bound.write_error(CmdletError("WriteError", "CopyError", message, IO))
    elif not machine.files.is_directory(target.parent.path):
        bound.write_error(_no_part(target.path, NO_FOLDER, "NotSpecified"))
    elif program := paths.in_use(machine, target):
        bound.write_error(_used(program, "CopyFileInfoItemIOError"))
    else:
        machine.files.copy(place.path, target.path)


def set_item(machine: Machine, bound: Bound) -> Iterable[object]:
    """Set an environment variable or a registry key's default value. An empty value removes the variable."""
    value = to_text(bound.get("Value"))
    for text, _ in paths.given(bound):
        place = paths.parse(machine, bound, text)
        if place.provider == "Environment":
            environment = paths.environment(machine, bound)
            _unset(environment, place.path)
            if value:
                environment[place.path] = value
        elif place.provider == "Registry":
            machine.registry.set(place.path, "", value)
        else:
            message = "Provider operation stopped because the provider does not support this operation."
            kind = "System.Management.Automation.PSNotSupportedException"
            raise CmdletError("NotImplemented", "NotSupported", message, kind)
    return []


CMDLETS: Mapping[str, Cmdlet] = {
    "New-Item": new_item,
    "Remove-Item": remove_item,
    "Rename-Item": rename_item,
    "Move-Item": move_item,
    "Copy-Item": copy_item,
    "Set-Item": set_item,
}
