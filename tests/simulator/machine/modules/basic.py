# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The Ansible modules ping and win_ping."""

from __future__ import annotations

from typing import Any

from simulator.machine.modules.arguments import ArgumentError, ModuleArguments
from simulator.machine.session import Session


def ping(session: Session, arguments: ModuleArguments) -> dict[str, Any]:
    """Return `pong` or the value of the option `data`. If `data` is `crash`, fail as the real module does."""
    data = arguments.text("data", default="pong")
    if data == "crash":
        raise ArgumentError("Unhandled exception while executing module: boom")
    return {"changed": False, "ping": data}
