# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The collection's module invoke_calls, which runs a batch of calls (docs/wire.md)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from simulator.machine.modules.arguments import ArgumentError, Module, ModuleArguments
from simulator.machine.session import Session
from wire_provider.module import run as run_batch


def run(session: Session, arguments: ModuleArguments) -> dict[str, Any]:
    """Run the batch.

    Raises:
        ArgumentError: Ansible did not send the script, which a real node needs.
    """
    if not arguments.script.lstrip("\ufeff").startswith("#!powershell"):
        raise ArgumentError("invoke_calls.ps1 was not sent: its text has to begin with #!powershell")
    return run_batch(session.machine, arguments.raw("batch"), session.process, session.user, session.environment)


MODULES: Mapping[str, Module] = {"invoke_calls": run}
STATUS_FOLDERS = (r"C:\ProgramData\winkube",)
