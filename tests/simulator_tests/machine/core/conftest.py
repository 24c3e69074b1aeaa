# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Cmdlets and programs of one machine, as tests call them."""

from __future__ import annotations

import pytest

from simulator.machine import commands
from simulator.machine.machine import Machine
from simulator.machine.objects import CmdletError, ProgramResult, PSObject


class Shell:
    """Runs cmdlets and programs of a machine."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine

    def __call__(self, command: str, pipeline: list[object] | None = None, **parameters: object) -> list[object]:
        """Run a cmdlet and return the objects of its output."""
        return commands.run(self.machine, command, parameters, pipeline=pipeline).objects

    def one(self, command: str, pipeline: list[object] | None = None, **parameters: object) -> PSObject:
        """Run a cmdlet and return its one object."""
        (found,) = self(command, pipeline, **parameters)
        assert isinstance(found, PSObject)
        return found

    def error(self, command: str, pipeline: list[object] | None = None, **parameters: object) -> CmdletError:
        """Run a cmdlet that fails, and return its terminating error."""
        with pytest.raises(CmdletError) as caught:
            self(command, pipeline, **parameters)
        return caught.value

    def program(self, name: str, *arguments: str) -> ProgramResult:
        """Run a program."""
        return self.machine.programs.run(name, list(arguments))


@pytest.fixture
def shell(machine: Machine) -> Shell:
    """Return the cmdlets and programs of a running Windows Server 2022."""
    return Shell(machine)
