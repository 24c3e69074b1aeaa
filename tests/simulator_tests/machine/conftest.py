# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A machine that runs, and what scripts and programs stand in on it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from simulator.machine.families import Families, load
from simulator.machine.machine import Machine
from simulator.machine.session import Session
from simulator.machine.settings import MachineSettings

MachineFactory = Callable[..., Machine]


@pytest.fixture(scope="session")
def families() -> Families:
    """All families, imported once."""
    return load()


@pytest.fixture
def make_machine(tmp_path: Path, families: Families) -> Iterator[MachineFactory]:
    """A function that makes a machine and boots it."""
    made: list[Machine] = []

    def make(*, power_on: bool = True, **entry: object) -> Machine:
        name = str(entry.pop("name", f"win-{len(made)}"))
        options: Mapping[str, object] = {"reboot_seconds": 0.05, "time_scale": 0.001, **entry}
        settings = MachineSettings.read({"name": name, "address": "127.0.0.1", **options})
        machine = Machine(settings, tmp_path / name, families)
        made.append(machine)
        if power_on:
            machine.power_on()
        return machine

    yield make
    for machine in made:
        machine.power.power_off()


@pytest.fixture
def machine(make_machine: MachineFactory) -> Machine:
    """A Windows Server 2022 that runs."""
    return make_machine(name="win-a")


@pytest.fixture
def session(machine: Machine) -> Session:
    """The administrator's process on it."""
    process = machine.processes.begin("powershell.exe", "Administrator")
    return Session(machine, process, "Administrator")
