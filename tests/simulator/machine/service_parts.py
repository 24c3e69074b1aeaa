# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What the service control manager knows of a service, and of its executable."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from simulator.machine.objects import ServiceProgram

State = Literal["Stopped", "StartPending", "StopPending", "Running"]


@dataclass(frozen=True)
class Service:
    """A service's definition as the registry has it now, and its state.

    Args:
        command_line: ImagePath with its variables expanded.
        argv: the command line split by the Win32 rules, the program first.
        environment: the service's own variables (its `Environment` value).
        dependencies: names of services that must run before it.
    """

    name: str
    display_name: str
    description: str
    image_path: str
    command_line: str
    argv: list[str]
    start: int
    delayed: bool
    account: str
    dependencies: list[str]
    environment: Mapping[str, str]
    state: State
    process_id: int
    exit_code: int

    @property
    def start_mode(self) -> str:
        """`Boot`, `System`, `Automatic`, `Manual` or `Disabled`, as PowerShell says it."""
        return ("Boot", "System", "Automatic", "Manual", "Disabled")[self.start]


@dataclass(frozen=True)
class Resolved:
    """What a service's command line names: the executable and its arguments, or the error that Windows gives."""

    argv: list[str]
    path: str
    program: ServiceProgram | None
    error: int = 0
