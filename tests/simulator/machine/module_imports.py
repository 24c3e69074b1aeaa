# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Cold imports of PowerShell modules: a runspace's first call of a module's cmdlet waits for the module's import.

For example, this fault makes the imports of two modules slow ("*" in place of the list stands for all modules):
{"kind": "slow_imports", "seconds": 8, "modules": ["HostNetworkingService", "NetTCPIP"]}

A module is imported once per runspace, and the import counts towards the cmdlet's time limit. If a runspace is
abandoned at this time limit, the next runspace imports the module again.
https://learn.microsoft.com/powershell/module/microsoft.powershell.core/about/about_modules (module autoloading)
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from simulator.machine import contract
from simulator.machine.objects import ProcessEndedError

if TYPE_CHECKING:
    from simulator.machine.machine import Machine

_BUILT_IN = ("microsoft.powershell.",)


@dataclass
class ColdImports:
    """The duration of an import in simulated seconds, and the modules to which it applies (None for all)."""

    seconds: float = 0.0
    modules: frozenset[str] | None = frozenset()


def set_cold(machine: Machine, fault: Mapping[str, object], seconds: float) -> None:
    """Inject a `slow_imports` fault.

    Raises:
        ValueError: the fault is invalid.
    """
    modules = fault.get("modules", "*")
    if modules != "*" and not isinstance(modules, list):
        raise ValueError(f"expected '*' or a list of names for the modules key of the fault, got {modules!r}")
    cold = machine.part(ColdImports)
    cold.seconds = seconds
    cold.modules = None if modules == "*" else frozenset(str(name).casefold() for name in modules)


class Imported:
    """The modules that one runspace has imported."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._names: set[str] = set()

    def cost(self, command: str) -> float:
        """Return the number of simulated seconds that a command waits for its module's import, or 0 for no wait."""
        module = contract.module_of(command).casefold()
        cold = self._machine.part(ColdImports)
        if not module or module.startswith(_BUILT_IN) or module in self._names:
            return 0.0
        return cold.seconds if cold.modules is None or module in cold.modules else 0.0

    def add(self, command: str) -> None:
        """Record that a command's module was imported."""
        self._names.add(contract.module_of(command).casefold())


def wait(machine: Machine, seconds: float, stop: threading.Event) -> None:
    """Wait a number of simulated seconds, which the machine's time scale converts to real seconds.

    Raises:
        ProcessEndedError: `stop` was set while this function waited.
    """
    end = time.monotonic() + seconds * machine.settings.time_scale
    if stop.wait(max(0.0, end - time.monotonic())):
        raise ProcessEndedError
