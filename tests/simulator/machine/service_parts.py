# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A service and its executable, as the service control manager sees them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from simulator.machine.objects import RunningService, ServiceProgram
from simulator.machine.processes import Process

State = Literal["Stopped", "StartPending", "StopPending", "Running"]


@dataclass(frozen=True)
class Service:
    """A service's current configuration in the registry, and its state.

    Args:
        command_line: ImagePath with expanded variables.
        argv: the program and the arguments in the command line, split by the Win32 rules.
        environment: the service's own environment variables (its `Environment` value).
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
        """The start mode as PowerShell names it: `Boot`, `System`, `Automatic`, `Manual` or `Disabled`."""
        return ("Boot", "System", "Automatic", "Manual", "Disabled")[self.start]


@dataclass(frozen=True)
class Resolved:
    """The executable and arguments of a service's command line, or Windows' error if the command line cannot run."""

    argv: list[str]
    path: str
    program: ServiceProgram | None
    error: int = 0


@dataclass
class ServiceRuntime:
    """The part of a service's state that the service control manager keeps until the next boot."""

    state: State = "Stopped"
    running: RunningService | None = None
    process: Process | None = None
    exit_code: int = 1077  # ERROR_SERVICE_NEVER_STARTED
    failures: int = 0
    deleted: bool = False


@dataclass
class HungServices:
    """The lower-case names of the services that a simulated fault keeps from starting."""

    names: set[str] = field(default_factory=set)
