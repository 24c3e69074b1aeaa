# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The errors of cmdlets that are denied access to a file or registry key.

The error ids for files come from PowerShell's FileSystemProvider:
https://github.com/PowerShell/PowerShell/blob/master/src/System.Management.Automation/namespaces/FileSystemProvider.cs
"""

from __future__ import annotations

from simulator.machine.objects import CmdletError
from simulator.machine.registry import RegistryDeniedError
from simulator.machine.rights.guard import AccessDeniedError

UNAUTHORIZED = "System.UnauthorizedAccessException"
SECURITY = "System.Security.SecurityException"
_IO = "System.IO.IOException"
_IDS = {
    "get-content": "GetContentReaderUnauthorizedAccessError",
    "set-content": "GetContentWriterUnauthorizedAccessError",
    "add-content": "GetContentWriterUnauthorizedAccessError",
    "clear-content": "ClearContentUnauthorizedAccessError",
    "copy-item": "CopyFileInfoItemUnauthorizedAccessError",
    "get-childitem": "DirUnauthorizedAccessError",
    "new-item": "NewItemUnauthorizedAccessError",
}
_MOVES = {
    "move-item": ("MoveFileInfoItemUnauthorizedAccessError", "MoveDirectoryItemIOError"),
    "rename-item": ("RenameItemUnauthorizedAccessError", "RenameItemIOError"),
}


def denied(command: str, error: AccessDeniedError, *, folder: bool) -> CmdletError:
    """Return a cmdlet's error for a file or folder to which access is denied.

    Args:
        folder: whether the item is a folder.
    """
    name, message = command.casefold(), str(error)
    category, error_id, kind = "PermissionDenied", _IDS.get(name, UNAUTHORIZED), UNAUTHORIZED
    if name in _MOVES:
        # FileInfo.MoveTo does not name the path, and DirectoryInfo.MoveTo throws a different exception.
        message = message if folder else "Access to the path is denied."
        error_id = _MOVES[name][folder]
        category, kind = ("WriteError", _IO) if folder else (category, kind)
    elif name == "remove-item":
        leaf = error.path.rpartition("\\")[2]
        message = f"Cannot remove item {error.path}: Access to the path '{leaf}' is denied."
        error_id = "RemoveFileSystemItemUnAuthorizedAccess"
    elif name == "new-item" and folder:
        error_id = "CreateDirectoryUnauthorizedAccessError"
    elif name == "out-file":
        category, error_id = "OpenError", "FileOpenFailure"
    made = CmdletError(category, error_id, message, kind)
    made.target = error.path
    return made


def key_denied(error: RegistryDeniedError) -> CmdletError:
    """Return a cmdlet's error for a registry key that the user is not allowed to write."""
    made = CmdletError("PermissionDenied", SECURITY, str(error), SECURITY)
    made.target = error.path
    return made
