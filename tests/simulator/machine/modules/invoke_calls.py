# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""invoke_calls: a batch of calls (docs/wire.md)."""

from __future__ import annotations

from typing import Any

from simulator.machine.calls.module import run as run_batch
from simulator.machine.modules.arguments import ArgumentError, Arguments
from simulator.machine.session import Session


def run(session: Session, arguments: Arguments) -> dict[str, Any]:
    """Run the batch. The script itself has to have been sent: a real node has no other."""
    if not arguments.script.lstrip("\ufeff").startswith("#!powershell"):
        raise ArgumentError("invoke_calls.ps1 was not sent: its text has to begin with #!powershell")
    return run_batch(session.machine, arguments.raw("batch"), session.process, session.user, session.environment)
