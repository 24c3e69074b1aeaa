# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""win_stat, win_file, slurp."""

from __future__ import annotations

import base64
import hashlib
from typing import Any

from simulator.machine.modules.arguments import ArgumentError, Arguments
from simulator.machine.session import Session


def stat(session: Session, arguments: Arguments) -> dict[str, Any]:
    """Describe a file or folder."""
    arguments.modelled("path", "get_checksum", "get_size", "checksum_algorithm")
    path = arguments.path(session, "path", "dest", "name")
    files = session.machine.files
    entry = files.entry(path)
    if entry is None:
        return {"changed": False, "stat": {"exists": False}}
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
        algorithm = arguments.text("checksum_algorithm", default="sha1")
        if algorithm not in ("md5", "sha1", "sha256", "sha384", "sha512"):
            known = "md5, sha1, sha256, sha384, sha512"
            raise ArgumentError(f"value of checksum_algorithm must be one of: {known}. Got no match for: {algorithm}")
        found["checksum"] = hashlib.new(algorithm, files.read_bytes(path), usedforsecurity=False).hexdigest()
    return {"changed": False, "stat": found}


def file(session: Session, arguments: Arguments) -> dict[str, Any]:
    """Make or remove a file or folder."""
    path = arguments.path(session, "path", "dest", "name")
    files = session.machine.files
    original = arguments.raw("_original_basename")
    if original and files.is_directory(path):
        path = f"{path}\\{original}"
    state = arguments.raw("state")
    change = not arguments.check_mode
    if state == "touch":
        if change:
            files.write_bytes(path, files.read_bytes(path) if files.is_file(path) else b"")
        return {"changed": True}
    if files.exists(path):
        if state == "absent":
            if change:
                files.delete(path)
            return {"changed": True}
        if state == "directory" and not files.is_directory(path):
            return {"changed": False, "failed": True, "msg": f"path {path} is not a directory"}
        if state == "file" and files.is_directory(path):
            return {"changed": False, "failed": True, "msg": f"path {path} is not a file"}
        return {"changed": False}
    if state in ("directory", None) and (state or path.endswith("\\")):
        if change:
            files.make_directory(path)
        return {"changed": True}
    if state == "absent":
        return {"changed": False}
    return {"changed": False, "failed": True, "msg": f"path {path} will not be created"}


def slurp(session: Session, arguments: Arguments) -> dict[str, Any]:
    """Return a file's content in base64."""
    path = arguments.path(session, "src", "path")
    files = session.machine.files
    if files.is_directory(path):
        return {"changed": False, "failed": True, "msg": f"Path {path} is a directory"}
    if not files.is_file(path):
        return {"changed": False, "failed": True, "msg": f"Path {path} is not found"}
    return {"changed": False, "content": base64.b64encode(files.read_bytes(path)).decode(), "encoding": "base64"}
