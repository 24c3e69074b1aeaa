# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Simulate Ansible's win_powershell, which runs a script and returns its output objects, streams and `$Ansible`.

Source: win_powershell.ps1 of ansible.windows 3.3.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from simulator.machine.modules.arguments import ArgumentError, ModuleArguments
from simulator.machine.objects import (
    CmdletError,
    Enumeration,
    ErrorRecord,
    NotModelled,
    PSObject,
    custom_object,
)
from simulator.machine.session import Session

_OPTIONS = (
    "chdir", "creates", "depth", "error_action", "parameters", "path", "remote_src", "removes", "script",
)  # fmt: skip
_ACTIONS = {"silently_continue": "SilentlyContinue", "continue": "Continue", "stop": "Stop"}
# The module searches for this pattern only in a script that it cannot parse; the simulator does so in all scripts.
_SHOULD_PROCESS = re.compile(
    r"\[CmdletBinding\((?:[\w=$]+,\s*)?SupportsShouldProcess(?:\s*=\s*\$true)?(?:,\s*[\w=$]+)?\)\]", re.IGNORECASE
)


def run(session: Session, arguments: ModuleArguments) -> dict[str, Any]:
    """Run a script and return its objects and streams."""
    from simulator.machine.powershell.host import Runspace, run_script

    arguments.modelled(*_OPTIONS)
    text = _script(session, arguments)
    skipped = _skipped(session, arguments, text)
    if skipped:
        return skipped
    _change_directory(session, arguments)
    ansible = custom_object(
        CheckMode=arguments.check_mode,
        Verbosity=arguments.verbosity,
        Result={},
        Diff={},
        Changed=True,
        Failed=False,
        Tmpdir=session.variable("TEMP", "C:\\Windows\\Temp"),
    )
    runspace = Runspace()
    runspace.variables["ansible"] = ansible
    action = arguments.text("error_action", default="continue").casefold()
    runspace.variables["erroractionpreference"] = _ACTIONS[action]
    outcome = run_script(session, text, [], runspace=runspace, variables=_parameters(arguments, text))
    if isinstance(outcome.failure, NotModelled):
        raise ArgumentError(outcome.failure.message)
    return _answer(arguments, ansible, outcome)


def _script(session: Session, arguments: ModuleArguments) -> str:
    if arguments.raw("script") is not None:
        return arguments.text("script")
    path = session.absolute(session.expand(arguments.text("path")))
    if not session.machine.files.is_file(path):
        raise ArgumentError(f"Could not find or access '{arguments.text('path')}' on Windows host")
    return session.machine.files.read_text(path)


def _skipped(session: Session, arguments: ModuleArguments, text: str) -> dict[str, Any] | None:
    files = session.machine.files
    creates, removes = arguments.raw("creates"), arguments.raw("removes")
    if creates and files.exists(session.absolute(str(creates))):
        return {**_EMPTY, "changed": False, "msg": f"skipped, since {creates} exists"}
    if removes and not files.exists(session.absolute(str(removes))):
        return {**_EMPTY, "changed": False, "msg": f"skipped, since {removes} does not exist"}
    if arguments.check_mode and not _SHOULD_PROCESS.search(text):
        return {**_EMPTY, "changed": True, "msg": "skipped, running in check mode"}
    return None


_EMPTY: Mapping[str, Any] = {
    "result": {},
    "host_out": "",
    "host_err": "",
    "output": [],
    "error": [],
    "warning": [],
    "verbose": [],
    "debug": [],
    "information": [],
}


def _change_directory(session: Session, arguments: ModuleArguments) -> None:
    if arguments.raw("chdir"):
        folder = session.absolute(arguments.text("chdir")).rstrip("\\")
        if not session.machine.files.is_directory(folder + "\\"):
            raise ArgumentError(f"the simulator does not model a chdir to {folder}, which is not a folder")
        session.directory = folder


def _parameters(arguments: ModuleArguments, text: str) -> dict[str, Any]:
    from simulator.machine.powershell.parsing.parser import Parser

    given = dict(arguments.raw("parameters", {}))
    if _SHOULD_PROCESS.search(text):
        # The module also adds Confirm: $false. Nothing asks for confirmation here.
        given |= {"WhatIf": arguments.check_mode}
    if not given:
        return {}
    try:
        block = Parser().script(text)
    except CmdletError:
        return given
    if not (block.parameters or block.advanced):
        raise ArgumentError("the simulator does not model parameters for a script without param()")
    return given


def _answer(arguments: ModuleArguments, ansible: PSObject, outcome: Any) -> dict[str, Any]:
    from simulator.machine.powershell.types.convert import truth

    depth = int(arguments.raw("depth", 2))
    failure = outcome.failure
    try:
        answer = {
            **_EMPTY,
            "changed": truth(ansible.get("Changed")),
            "failed": failure is not None or truth(ansible.get("Failed")),
            "result": converted(ansible.get("Result"), depth),
            "output": converted(list(outcome.output), depth),
            "error": [_error(error) for error in [*outcome.errors, *([failure] if failure else [])]],
            "warning": outcome.warnings,
            "verbose": outcome.verbose,
            "debug": outcome.debug,
            "information": [_information(record) for record in outcome.information],
            "host_out": _host(outcome.console),
            "host_err": outcome.standard_error,
        }
        diff = ansible.get("Diff")
        if isinstance(diff, dict) and diff:
            answer["diff"] = converted(diff, depth)
    except NotModelled as error:
        raise ArgumentError(error.message) from None
    return answer


def _host(console: Iterable[object]) -> str:
    """Return the text that a script wrote to its host (the console). The script's output objects are not included."""
    from simulator.machine.powershell.running.streams import HostText

    return "".join(item.text + ("\r\n" if item.newline else "") for item in console if isinstance(item, HostText))


def _information(record: Any) -> dict[str, Any]:
    message: object = record.text
    if record.source == "Write-Host":
        message = {
            "Message": record.text,
            "NoNewLine": not record.newline,
            "ForegroundColor": None,
            "BackgroundColor": None,
        }
    tags = ["PSHOST"] if record.source == "Write-Host" else []
    return {"message_data": message, "source": record.source, "tags": tags}


def _error(error: CmdletError) -> dict[str, Any]:
    name = error.exception_type.rsplit(".", 1)[-1]
    return {
        "exception": {"message": error.message, "type": error.exception_type, "inner_exception": None},
        "category_info": {"category": error.category, "activity": error.activity, "reason": name},
        "error_details": None,
        "fully_qualified_error_id": error.error_id,
    }


def converted(value: object, depth: int) -> Any:
    """Convert an output object to a value for the JSON result, as Convert-OutputObject in win_powershell.ps1 does.

    Raises:
        NotModelled: the conversion of the value's type is not modelled.
    """
    from simulator.machine.powershell.members.objects import ScriptMember
    from simulator.machine.powershell.types.kinds import SwitchValue, TypeValue
    from simulator.machine.powershell.types.plain_text import to_text
    from simulator.machine.powershell.types.text import date_text

    if value is None or isinstance(value, (bool, int, float)):
        return value
    if isinstance(value, str):
        return str(value)
    if isinstance(value, Enumeration):
        found = {"Type": value.type_name, "String": value.name, "Value": value.number}
        return found if depth >= 0 else value.number
    if isinstance(value, datetime):
        return date_text(value, "o")
    if isinstance(value, SwitchValue):
        return value.on
    if isinstance(value, PSObject) and value.type_name == "System.Guid":
        return to_text(value)
    if depth < 0 and isinstance(value, (PSObject, list, tuple, dict, bytes)):
        return to_text(value)
    if isinstance(value, (list, tuple, bytes)):
        return [converted(item, depth - 1) for item in value]
    if isinstance(value, dict):
        return {to_text(key): converted(item, depth - 1) for key, item in value.items()}
    if not isinstance(value, PSObject) or isinstance(value, (TypeValue, ErrorRecord)):
        raise NotModelled(f"the type {type(value).__name__} in win_powershell's output")
    if any(isinstance(item, ScriptMember) for item in value.properties.values()):
        raise NotModelled("an object with script properties or script methods in win_powershell's output")
    return {name: converted(item, depth - 1) for name, item in value.properties.items() if not callable(item)}
