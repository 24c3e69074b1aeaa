# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The Ansible modules win_stat, win_file and slurp."""

from __future__ import annotations

import base64
import hashlib
from typing import Any

from simulator.machine.modules.arguments import ArgumentError, ModuleArguments
from simulator.machine.session import Session
from simulator.machine.windows_paths import is_illegal, parent


def stat(session: Session, arguments: ModuleArguments) -> dict[str, Any]:
    """Describe a file or folder (win_stat)."""
    arguments.modelled("path", "get_checksum", "get_size", "checksum_algorithm", "follow")
    path = arguments.path(session, "path", "dest", "name")
    files = session.machine.files
    entry = files.entry(path)
    if entry is None:
        return {"changed": False, "stat": {"exists": False}}
    if files.real(path).is_symlink():
        # Without links, `follow` has no effect.
        raise ArgumentError("the simulator does not model win_stat of a link")
    moment = entry.modified.timestamp()
    found: dict[str, Any] = {
        "exists": True,
        "attributes": "Directory" if entry.is_directory else "Archive",
        "isarchive": not entry.is_directory,
        "isdir": entry.is_directory,
        "isreg": not entry.is_directory,
        "ishidden": False,
        "isjunction": False,
        "islnk": False,
        "isreadonly": False,
        "isshared": False,
        "nlink": 1,
        "hlnk_targets": [],
        "creationtime": moment,
        "lastaccesstime": moment,
        "lastwritetime": moment,
        "path": entry.path,
        "filename": entry.name,
        "owner": "BUILTIN\\Administrators",
    }
    if entry.is_directory:
        if arguments.flag("get_size", default=True):
            found["size"] = sum(item.size for item in files.walk(path))
        return {"changed": False, "stat": found}
    found["extension"] = "." + entry.name.rsplit(".", 1)[-1] if "." in entry.name else ""
    if arguments.flag("get_size", default=True):
        found["size"] = entry.size
    if arguments.flag("get_checksum", default=True):
        algorithm = arguments.text("checksum_algorithm", default="sha1").casefold()
        found["checksum"] = hashlib.new(algorithm, files.read_bytes(path), usedforsecurity=False).hexdigest()
    return {"changed": False, "stat": found}


def file(session: Session, arguments: ModuleArguments) -> dict[str, Any]:
    """Create or remove a file or folder (win_file)."""
    arguments.modelled("path", "state")
    path, state = _legacy_path(session, arguments), arguments.raw("state")
    if state is not None and str(state).casefold() not in _STATES:
        known = ",".join(_STATES)
        raise ArgumentError(f"Get-AnsibleParam: Argument state needs to be one of {known} but was {state}.")
    files = session.machine.files
    original = arguments.raw("_original_basename")
    if original and files.is_directory(path):
        path = f"{path}\\{original}"
    try:
        return _file(session, path, state, change=not arguments.check_mode)
    except OSError as error:
        # Of .NET's messages, only that for a missing folder is known.
        why = f"Could not find a part of the path '{path}'." if isinstance(error, FileNotFoundError) else ""
        why = why or error.strerror or str(error)
        requested = str(state).casefold()
        if requested == "absent":
            raise ArgumentError(f"Failed to delete {path}: {why}") from None
        raise (ArgumentError(why) if requested == "directory" else _unhandled(why)) from None


_STATES = ("absent", "directory", "file", "touch")


def _unhandled(message: str) -> ArgumentError:
    return ArgumentError(f"Unhandled exception while executing module: {message}")


def _legacy_path(session: Session, arguments: ModuleArguments) -> str:
    """Return the value of the option `path` or of its alias `dest` or `name`.

    As Get-AnsibleParam does, reject paths for which `Test-Path -IsValid` is false.
    """
    name = next((name for name in ("path", "dest", "name") if arguments.raw(name) is not None), None)
    if name is None:
        raise ArgumentError("Get-AnsibleParam: Missing required argument: path")
    path = arguments.path(session, name)
    if is_illegal(path) or ":" in path[2:]:
        raise ArgumentError(f"Get-AnsibleParam: Parameter '{name}' has an invalid path '{path}' specified.")
    return path


def _file(session: Session, path: str, state: object, *, change: bool) -> dict[str, Any]:
    files = session.machine.files
    requested = str(state).casefold() if state is not None else None
    if requested == "touch":
        if files.is_directory(path):
            raise ArgumentError("the simulator does not model win_file with state=touch for a folder")
        if not files.exists(path) and not files.is_directory(parent(path)):
            raise _unhandled(f"Could not find a part of the path '{path}'.")
        if change:
            files.write_bytes(path, files.read_bytes(path) if files.is_file(path) else b"")
        return {"changed": True}
    if files.exists(path):
        if requested == "absent":
            if change:
                files.delete(path)
            return {"changed": True}
        if requested == "directory" and not files.is_directory(path):
            return {"changed": False, "failed": True, "msg": f"path {path} is not a directory"}
        if requested == "file" and files.is_directory(path):
            return {"changed": False, "failed": True, "msg": f"path {path} is not a file"}
        return {"changed": False}
    if requested == "directory":
        if change:
            files.make_directory(path)
        return {"changed": True}
    if requested == "absent":
        return {"changed": False}
    # Split-Path -Leaf returns the last name even if the path ends in a backslash, so such a path can be a file.
    return {"changed": False, "failed": True, "msg": f"path {path} will not be created"}


def slurp(session: Session, arguments: ModuleArguments) -> dict[str, Any]:
    """Return the contents of a file, encoded in base64 (slurp)."""
    path = arguments.path(session, "src", "path")
    files = session.machine.files
    if files.is_directory(path):
        return {"changed": False, "failed": True, "msg": f"Path {path} is a directory"}
    if not files.is_file(path):
        return {"changed": False, "failed": True, "msg": f"Path {path} is not found"}
    return {"changed": False, "content": base64.b64encode(files.read_bytes(path)).decode(), "encoding": "base64"}
