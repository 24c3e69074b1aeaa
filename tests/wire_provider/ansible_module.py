# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The collection's modules invoke_calls (runs a batch of calls) and collect_batch (fetches a result): docs/wire.md."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from simulator.machine import commands
from simulator.machine.modelled_scripts import ModelledFile, ScriptCall
from simulator.machine.modules.arguments import ArgumentError, Module, ModuleArguments
from simulator.machine.session import Session
from wire_provider.module import fetches
from wire_provider.module import run as run_batch


def run(session: Session, arguments: ModuleArguments) -> dict[str, Any]:
    """Run the batch.

    Raises:
        ArgumentError: Ansible did not send the script, which a real node needs.
    """
    if not arguments.script.lstrip("\ufeff").startswith("#!powershell"):
        raise ArgumentError("the module was not sent: its text has to begin with #!powershell")
    return run_batch(session.machine, arguments.raw("batch"), session.process, session.user, session.environment)


def collect(session: Session, arguments: ModuleArguments) -> dict[str, Any]:
    """Fetch the result of an earlier batch.

    Raises:
        ArgumentError: Ansible did not send the script, which a real node needs.
    """
    batch = arguments.raw("batch")
    if isinstance(batch, str) and not fetches(batch):
        message = "collect_batch runs no calls: the mode has to be collect"
        return {"failed": True, "changed": False, "msg": message}
    return run(session, arguments)


def run_file(call: ScriptCall) -> list[object]:
    """Run the module as a script without Ansible: its parts are imported, and a variable contains its argument.

    Raises:
        CmdletError: a part was not imported, so the first function that the script calls does not exist.
    """
    machine = call.session.machine
    folder = call.path.rpartition("\\")[0]
    parts = re.findall(
        r"^#AnsibleRequires -PowerShell \.\.module_utils\.(\w+)$", machine.files.read_text(call.path), re.M
    )
    if any(f"{folder}\\{part}.psm1".casefold() not in call.modules for part in parts):
        raise commands.not_found("Read-Batch")
    arguments = call.variable("complex_args")
    batch = arguments.get("batch") if isinstance(arguments, Mapping) else None
    session = call.session
    quotes = any(_QUOTES.search(machine.files.read_text(path)) for path in call.modules)
    return [json.dumps(run_batch(machine, batch, session.process, session.user, session.environment, quotes=quotes))]


# The function of Ansible's own module Ansible.ModuleUtils.ArgvParser, without which no program with arguments starts.
_QUOTES = re.compile(r"^function Argv-ToString\b", re.MULTILINE | re.IGNORECASE)
SCRIPTS: Mapping[str, ModelledFile] = {"invoke_calls.ps1": run_file}
MODULES: Mapping[str, Module] = {"invoke_calls": run, "collect_batch": collect}
STATUS_FOLDERS = (r"C:\ProgramData\winkube",)
