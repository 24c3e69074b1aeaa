# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Errors of verbs for exceptions of .NET: docs/wire.md, "How verbs fail"."""

from __future__ import annotations

from simulator.machine.objects import CmdletError

_IO = "System.IO.IOException"
_IN_USE = ("because it is being used by another process", "Unable to remove the file to be replaced")
"""Parts of Windows' messages for its errors 32 and 1175."""
_NAME = "The filename, directory name, or volume label syntax is incorrect"
"""Part of Windows' message for its error 123."""
_CATEGORIES = {
    "System.IO.FileNotFoundException": "ObjectNotFound",
    "System.IO.DirectoryNotFoundException": "ObjectNotFound",
    "System.IO.DriveNotFoundException": "ObjectNotFound",
    "System.UnauthorizedAccessException": "PermissionDenied",
    "System.Security.SecurityException": "PermissionDenied",
    "System.IO.PathTooLongException": "InvalidArgument",
    "System.ArgumentException": "InvalidArgument",
    "System.ArgumentNullException": "InvalidArgument",
    "System.ArgumentOutOfRangeException": "InvalidArgument",
    "System.FormatException": "InvalidArgument",
    "System.NotSupportedException": "InvalidArgument",
}
_READING = ("@read-file", "@read-registry", "@free-space")


def categorised(error: CmdletError, verb: str) -> CmdletError:
    """Return the error with the wire's category and id. An error that already has a category is returned unchanged.

    Args:
        error: the error of a verb. PowerShell gives the category NotSpecified to all exceptions of .NET.
        verb: the verb.
    """
    if error.category != "NotSpecified":
        return error
    kind = error.exception_type
    name = kind.rpartition(".")[2]
    if kind != _IO:
        return CmdletError(_CATEGORIES.get(kind, "NotSpecified"), name, error.message, kind)
    if any(words in error.message for words in _IN_USE):
        return CmdletError("ResourceBusy", "FileInUse", error.message, _IO)
    if error.message.endswith(" is denied."):
        return CmdletError("PermissionDenied", name, error.message, _IO)
    if _NAME in error.message:
        return CmdletError("InvalidArgument", name, error.message, _IO)
    return CmdletError("ReadError" if verb in _READING else "WriteError", name, error.message, _IO)
