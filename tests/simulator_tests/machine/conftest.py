# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A running machine, and a session in which tests run scripts and programs."""

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
    """Return all families, imported once."""
    return load()


@pytest.fixture
def make_machine(tmp_path: Path, families: Families) -> Iterator[MachineFactory]:
    """Yield a function that makes a machine and boots it, unless `power_on` is false."""
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
    """Return a running Windows Server 2022."""
    return make_machine(name="win-a")


@pytest.fixture
def session(machine: Machine) -> Session:
    """Return a session of the administrator on the machine."""
    process = machine.processes.begin("powershell.exe", "Administrator")
    return Session(machine, process, "Administrator")
