# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A service and its executable, as the service control manager sees them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from simulator.machine.objects import ServiceProgram

State = Literal["Stopped", "StartPending", "StopPending", "Running"]


@dataclass(frozen=True)
class Service:
    """A service's current configuration in the registry, and its state.

    Args:
        command_line: ImagePath with expanded variables.
        argv: the arguments of the command line by the Win32 rules, starting with the program.
        environment: the service's own variables (its `Environment` value).
        dependencies: the names of services that must run before this one.
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
        """The start mode in PowerShell's terms: `Boot`, `System`, `Automatic`, `Manual` or `Disabled`."""
        return ("Boot", "System", "Automatic", "Manual", "Disabled")[self.start]


@dataclass(frozen=True)
class Resolved:
    """The executable and arguments of a service's command line, or the Windows error if it cannot be run."""

    argv: list[str]
    path: str
    program: ServiceProgram | None
    error: int = 0
