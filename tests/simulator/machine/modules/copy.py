# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Simulate Ansible's win_copy module in the four modes that its action plugin uses."""

from __future__ import annotations

import base64
import hashlib
import io
import zipfile
from typing import Any

from simulator.machine.modules.arguments import ArgumentError, ModuleArguments
from simulator.machine.session import Session


def run(session: Session, arguments: ModuleArguments) -> dict[str, Any]:
    """Copy files. In `query` mode, only return the files and folders that must be copied."""
    modes = {"explode": _explode, "query": _query, "remote": _remote, "single": _single}
    mode = arguments.text("_copy_mode", default="single")
    if mode not in modes:
        raise ArgumentError(
            f"Get-AnsibleParam: Argument _copy_mode needs to be one of {','.join(modes)} but was {mode}."
        )
    return modes[mode](session, arguments)


def _checksum(session: Session, path: str) -> str:
    return hashlib.sha1(session.machine.files.read_bytes(path), usedforsecurity=False).hexdigest()


def _query(session: Session, arguments: ModuleArguments) -> dict[str, Any]:
    files, target = session.machine.files, arguments.path(session, "dest")
    force = arguments.flag("force", default=True)
    changed = []
    for entry in arguments.raw("files", []):
        path = f"{target}\\{entry['dest']}"
        if files.is_directory(path):
            path = f"{path}\\{str(entry['src']).rsplit('/', 1)[-1]}"
        if files.is_directory(path):
            raise ArgumentError(f"cannot copy file to dest '{path}': object at path is already a directory")
        if not files.is_file(path) or (force and _checksum(session, path) != entry.get("checksum")):
            changed.append(entry)
    folders = [
        entry for entry in arguments.raw("directories", []) if not files.is_directory(f"{target}\\{entry['dest']}")
    ]
    return {"changed": False, "files": changed, "directories": folders, "symlinks": []}


def _target(session: Session, arguments: ModuleArguments, name: str) -> str:
    """Return the path to which a file is copied. Create the path's folder if the option `dest` ends with a backslash.

    Raises:
        ArgumentError: the path's folder does not exist or is a file.
    """
    files, dest = session.machine.files, arguments.path(session, "dest")
    folder = dest.endswith("\\") or files.is_directory(dest)
    path = f"{dest.rstrip(chr(92))}\\{name}" if folder else dest
    parent = path.rsplit("\\", 1)[0]
    if files.is_file(parent):
        raise ArgumentError(f"object at destination parent dir '{parent}' is currently a file")
    if not files.is_directory(parent + "\\"):
        if not folder:
            raise ArgumentError(f"Destination directory '{parent}' does not exist")
        files.make_directory(parent)
    return path


def _single(session: Session, arguments: ModuleArguments) -> dict[str, Any]:
    files, source = session.machine.files, arguments.path(session, "src")
    if not files.is_file(source):
        raise ArgumentError(f"Cannot copy src file: '{source}' as it does not exist")
    path = _target(session, arguments, arguments.text("_original_basename", default=source.rsplit("\\", 1)[-1]))
    answer: dict[str, Any] = {"changed": True}
    if arguments.flag("backup") and files.is_file(path):
        answer["backup_file"] = f"{path}.{session.process.id}.bak"
        files.copy(path, answer["backup_file"])
    files.copy(source, path)
    return answer


def _explode(session: Session, arguments: ModuleArguments) -> dict[str, Any]:
    files, source, dest = session.machine.files, arguments.path(session, "src"), arguments.path(session, "dest")
    if not files.is_file(source):
        raise ArgumentError(f"Cannot expand src zip file: '{source}' as it does not exist")
    with zipfile.ZipFile(io.BytesIO(files.read_bytes(source))) as archive:
        for entry in archive.infolist():
            # The action plugin encodes the names in base64, because Windows' zip does not support Unicode names.
            name = base64.b64decode(entry.filename.rstrip("/\\")).decode().replace("/", "\\")
            path = f"{dest.rstrip(chr(92))}\\{name}"
            if entry.is_dir():
                files.make_directory(path)
                continue
            files.make_directory(path.rsplit("\\", 1)[0])
            files.write_bytes(path, archive.read(entry))
    return {"changed": True}


def _remote(session: Session, arguments: ModuleArguments) -> dict[str, Any]:
    files, source, dest = session.machine.files, arguments.path(session, "src"), arguments.path(session, "dest")
    if not files.exists(source):
        raise ArgumentError(f"Cannot copy src file: '{source}' as it does not exist")
    name = source.rstrip("\\").rsplit("\\", 1)[-1]
    folder = files.is_directory(source)
    if arguments.flag("backup") or not arguments.flag("force", default=True):
        raise ArgumentError("the simulator does not model win_copy's backup and force options with remote_src")
    answer: dict[str, Any] = {"changed": False, "src": source, "operation": "folder_copy" if folder else "file_copy"}
    if folder:
        path = dest.rstrip("\\") if source.endswith("\\") else f"{dest.rstrip(chr(92))}\\{name}"
        pairs = [
            (entry.path, path + entry.path[len(source.rstrip("\\")) :])
            for entry in files.walk(source)
            if not entry.is_directory
        ]
    else:
        path = _target(session, arguments, name)
        pairs = [(source, path)]
        answer |= {"original_basename": name, "checksum": _checksum(session, source)}
    for before, after in pairs:
        if files.is_file(after) and _checksum(session, after) == _checksum(session, before):
            continue
        answer["changed"] = True
        if not arguments.check_mode:
            files.make_directory(after.rsplit("\\", 1)[0])
            files.copy(before, after)
    size = sum(files.real(before).stat().st_size for before, _ in pairs)
    return answer | {"dest": path, "size": size}
