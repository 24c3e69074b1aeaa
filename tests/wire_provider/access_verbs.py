# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The verbs of docs/wire.md that set owners and access lists."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from simulator.machine import net_files
from simulator.machine.machine import Machine
from simulator.machine.processes import Process
from simulator.machine.rights.guard import AccessDeniedError, InvalidOwnerError
from wire_provider.verb_parameters import failure, missing, text

UNAUTHORIZED = "Attempted to perform an unauthorized operation."
"""The error of SetAccessControl, which enables no privilege: dotnet/runtime, NativeObjectSecurity.Persist."""


def require_no_link(machine: Machine, path: str) -> None:
    """Reject a path with a junction or symbolic link on it.

    Raises:
        CmdletError: there is a link on the path.
    """
    link = machine.files.link_on(path)
    if link is not None:
        message = f"{link} is a junction or symbolic link"
        raise failure("SecurityError", "LinkOnPath", message)


def set_security(machine: Machine, path: str, sddl: str) -> None:
    """Set the owner and the access list that the SDDL contains.

    Raises:
        CmdletError: there is a link on the path, or the error of .NET.
    """
    require_no_link(machine, path)
    try:
        machine.files.set_sddl(path, sddl)
    except ValueError as error:
        raise net_files.exception(net_files.ARGUMENT, str(error)) from None
    except InvalidOwnerError as error:
        raise net_files.exception("System.InvalidOperationException", str(error)) from None
    except AccessDeniedError:
        raise net_files.exception(net_files.DENIED, UNAUTHORIZED) from None


def set_acl(
    machine: Machine, parameters: Mapping[str, Any], given: list[object], process: Process, timeout: float
) -> list[object]:
    """Set the owner and the access list that the SDDL contains on an existing item."""
    path = text(parameters, "path")
    if not net_files.exists(machine, path):
        raise missing(path)
    set_security(machine, path, text(parameters, "sddl"))
    return []


def make_directory(
    machine: Machine, parameters: Mapping[str, Any], given: list[object], process: Process, timeout: float
) -> list[object]:
    """Create a folder that has its owner and access list from the beginning.

    On an existing folder, set both, unless `existing` is `leave`.
    """
    path, sddl = text(parameters, "path"), text(parameters, "sddl")
    require_no_link(machine, path)
    existed = net_files.is_directory(machine, path)
    process.check()
    net_files.create_directory(machine, path, sddl)
    existing = text(parameters, "existing").casefold()
    if existed and existing == "leave":
        return []
    set_security(machine, path, sddl)
    if existed and existing == "empty" and machine.files.listing(path):
        message = f"{path} was made meanwhile, and is not empty"
        raise failure("ResourceExists", "FolderNotEmpty", message)
    return []
