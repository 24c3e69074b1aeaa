# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A machine for the tests of Windows' families, without WinRM."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from simulator_tests.windows.updates import QUICK

from simulator.machine import commands
from simulator.machine.machine import Machine
from simulator.machine.objects import CmdletError, ProgramResult, PSObject
from simulator.machine.settings import MachineSettings

MakeMachine = Callable[..., Machine]


@pytest.fixture
def make_machine(tmp_path: Path) -> Iterator[MakeMachine]:
    """Yield a function that makes and boots a machine: `make_machine("2019", feature_seconds=0, secure_boot=False)`."""
    numbers = itertools.count(11)
    machines: list[Machine] = []

    def make(windows: str = "2022", **entry: object) -> Machine:
        number = next(numbers)
        known = {"feature_seconds": 0.01, "reboot_seconds": 0.01, "time_scale": 0.01}
        defaults: dict[str, object] = {"name": f"node-{number}", "address": f"127.0.0.{number}", "windows": windows}
        machine = Machine(MachineSettings.read({**defaults, **known, **entry}), tmp_path / str(number))
        machine.power_on()
        machines.append(machine)
        return machine

    yield make
    for machine in machines:
        machine.power.power_off()


@pytest.fixture
def machine(make_machine: MakeMachine) -> Machine:
    """Return a running Windows Server 2022."""
    return make_machine()


@pytest.fixture
def server(make_machine: MakeMachine) -> MakeMachine:
    """Return a function that makes a machine with quick updates: `server("2022", updates=["KB5046616"])`."""

    def make(windows: str = "2022", **entry: object) -> Machine:
        return make_machine(windows, **{**QUICK, **entry})

    return make


class Shell:
    """Runs cmdlets and programs of one machine."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine

    def all(self, command: str, pipeline: list[object] | None = None, **parameters: object) -> list[PSObject]:
        """Run a cmdlet and return its objects."""
        found = commands.run(self.machine, command, parameters, pipeline=pipeline).objects
        assert all(isinstance(item, PSObject) for item in found)
        return [item for item in found if isinstance(item, PSObject)]

    def one(self, command: str, pipeline: list[object] | None = None, **parameters: object) -> PSObject:
        """Run a cmdlet and return its one object."""
        (found,) = self.all(command, pipeline, **parameters)
        return found

    def error(self, command: str, pipeline: list[object] | None = None, **parameters: object) -> CmdletError:
        """Run a cmdlet that fails, and return its terminating error."""
        with pytest.raises(CmdletError) as caught:
            commands.run(self.machine, command, parameters, pipeline=pipeline)
        return caught.value

    def program(self, name: str, *arguments: str) -> ProgramResult:
        """Run a program."""
        return self.machine.programs.run(name, list(arguments))


@pytest.fixture
def shell(machine: Machine) -> Shell:
    """Return the cmdlets and programs of the machine."""
    return Shell(machine)
