# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What all verbs have in common: their parameters, and how they fail."""

from __future__ import annotations

import ntpath
from collections.abc import Callable, Mapping
from typing import Any

from simulator.machine.machine import Machine
from simulator.machine.objects import CmdletError
from simulator.machine.processes import Process

Handler = Callable[[Machine, Mapping[str, Any], list[object], Process, float], list[object]]


def failure(category: str, error_id: str, message: str, kind: str = "System.IO.IOException") -> CmdletError:
    return CmdletError(category, error_id, message, kind)


def missing(path: str) -> CmdletError:
    kind = "System.Management.Automation.ItemNotFoundException"
    return CmdletError("ObjectNotFound", "PathNotFound", f"Cannot find path '{path}' because it does not exist.", kind)


def require_apart(path: str, destination: str) -> None:
    """Refuse a file as its own destination: File.Replace would delete it."""
    if _full(path) == _full(destination):
        raise failure("InvalidArgument", "SameFile", f"{path} and {destination} are the same file")


def _full(path: str) -> str:
    return ntpath.normpath(path).rstrip("\\").casefold()


def text(parameters: Mapping[str, Any], name: str) -> str:
    value = parameters.get(name)
    if not isinstance(value, str) or not value:
        raise failure(
            "InvalidArgument", "ParameterMissing", f"the verb needs the parameter {name}", "System.ArgumentException"
        )
    return value
