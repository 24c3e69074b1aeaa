# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Simulate Ansible's win_unzip module for zip archives. Other formats need PSCX, which no server has by default."""

from __future__ import annotations

import io
import ntpath
import zipfile
from typing import Any

from simulator.machine.modules.arguments import ModuleArguments
from simulator.machine.session import Session

_NO_PSCX = "PowerShellCommunityExtensions PowerShell Module (PSCX) is required for non-'.zip' compressed archive types."


def unzip(session: Session, arguments: ModuleArguments) -> dict[str, Any]:
    """Unpack an archive, overwriting existing files."""
    files, source, dest = session.machine.files, arguments.path(session, "src"), arguments.path(session, "dest")
    answer: dict[str, Any] = {"changed": False, "dest": dest, "removed": False, "src": source}
    creates = arguments.raw("creates")
    if creates and files.exists(arguments.path(session, "creates")):
        return answer | {"skipped": True, "msg": f"The file or directory '{creates}' already exists."}
    if not files.exists(source):
        return answer | {"failed": True, "msg": f"File '{source}' does not exist."}
    if not files.is_directory(dest) and not arguments.check_mode:
        files.make_directory(dest)
    if not source.casefold().endswith(".zip") or arguments.flag("recurse") or arguments.raw("password") is not None:
        return answer | {"failed": True, "msg": _NO_PSCX}
    head = f"Error unzipping '{source}' to '{dest}'!"
    try:
        with zipfile.ZipFile(io.BytesIO(files.read_bytes(source))) as archive:
            outside = _extract(session, arguments, archive, dest)
            answer["changed"] = bool(archive.infolist())
    except zipfile.BadZipFile:
        why = "End of Central Directory record could not be found."
        method = "Method: System.IO.Compression.ZipFile, Exception: Exception calling"
        return answer | {"failed": True, "msg": f'{head}. {method} "Open" with "3" argument(s): "{why}"'}
    if outside:
        why = "Filename contains relative paths which would extract outside the destination"
        return answer | {"failed": True, "msg": f"{head} {why}: {outside}"}
    if arguments.flag("delete_archive") or arguments.flag("rm"):
        if not arguments.check_mode:
            files.delete(source)
        answer["removed"] = True
    return answer


def _extract(session: Session, arguments: ModuleArguments, archive: zipfile.ZipFile, dest: str) -> str:
    """Unpack the entries. If an entry's path is outside `dest`, stop and return that path. Otherwise, return ""."""
    files = session.machine.files
    for entry in archive.infolist():
        path = ntpath.join(dest, entry.filename.replace("/", "\\"))
        if not ntpath.normpath(path).casefold().startswith(ntpath.normpath(dest).casefold() + "\\"):
            return path
        if arguments.check_mode:
            continue
        files.make_directory(path if entry.is_dir() else path.rpartition("\\")[0])
        if not entry.is_dir():
            files.write_bytes(path, archive.read(entry))
    return ""
