# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A simulated machine with cmdlets and programs of the test. Batches run on it without a transport."""

from __future__ import annotations

import dataclasses
import functools
import json
import shutil
import tempfile
import threading
import time
import typing as t
import weakref
from pathlib import Path

from simulator.machine import executables, families
from simulator.machine.contract import Contract, Parameter, ParameterPlace, common_parameters
from simulator.machine.machine import Machine
from simulator.machine.objects import (
    Bound,
    CmdletError,
    IdleServiceProgram,
    Invocation,
    ProcessEndedError,
    ProgramResult,
    custom_object,
)
from simulator.machine.processes import Process
from simulator.machine.settings import MachineSettings
from simulator.machine.text import iso_utc
from wire_provider import detached, module

Wire = dict[str, t.Any]
Handler = t.Callable[[Wire], t.Any]
"""Takes a call (`command`, `parameters`, `arguments`), and returns output objects, a `ProgramResult`, or a failure."""

PARAMETERS = ("Name", "Value")
"""The parameters of a test's cmdlet."""
IDLE = "idle-service"
"""The program of a test's services."""
WAIT_SCALE = 0.001
"""Real seconds per second that `collect` waits on the node."""


def failure(message: str, error_id: str = "Broken", category: str = "NotSpecified") -> CmdletError:
    """Return the failure that a handler returns for its cmdlet or program."""
    return CmdletError(category, error_id, message)


class Warned(list[t.Any]):
    """Output objects of a cmdlet with a warning."""

    def __init__(self, objects: list[t.Any], *warnings: str) -> None:
        super().__init__(objects)
        self.warnings = warnings


class ScriptedMachine:
    """Runs batches on a simulated machine, and records what ran.

    Args:
        handlers: functions for the test's cmdlets and programs (`NAME.exe`), by name. They may be replaced later.
        options: the options of the simulated machine, as in a fleet file.
    """

    def __init__(self, handlers: t.Mapping[str, Handler], **options: object) -> None:
        self.handlers = dict(handlers)
        self.batches: list[Wire] = []
        self.executed: list[Wire] = []
        """The calls that ran, except barriers."""
        self.running_answers = 0
        """The number of collects that find the detached batch still in its first call."""
        self._holding, self._entered, self._released = False, threading.Event(), threading.Event()
        self._doomed: Process | None = None
        self._detached: Process | None = None
        folder = Path(tempfile.mkdtemp(prefix="scripted-"))
        quick = {"reboot_seconds": 0.0, "time_scale": 0.02, "first_delay": 0.02}
        entry = {"name": "WIN-1", "address": "127.0.0.1", **quick, **options}
        # Without a reference to self, so that the object can be garbage-collected.
        answer = functools.partial(_forward, weakref.ref(self))
        self.node = Machine(MachineSettings.read(entry), folder, _offered(tuple(self.handlers), answer))
        self.node.power_on()
        weakref.finalize(self, _discard, self.node, folder)

    @property
    def boot(self) -> str:
        """The boot time."""
        return iso_utc(self.node.power.boot_time)

    @property
    def is_on(self) -> bool:
        """Whether the machine is on."""
        return self.node.power.state == "on"

    def wait_until_on(self) -> bool:
        """Wait until the machine is on, and return whether it was already on when called."""
        was_on = self.is_on
        while not self.is_on:
            time.sleep(0.002)
        return was_on

    @property
    def reboots(self) -> int:
        """The number of reboots."""
        return self.node.power.boots - 1

    def has_services(self, **states: str) -> None:
        """Create services.

        Args:
            states: `Running` or `Stopped`, by name.
        """
        for name, state in states.items():
            self.node.services.create(name, f"C:\\{name}.exe")
            self.node.files.write_bytes(f"C:\\{name}.exe", executables.make(IDLE, "1.0"))
            if state == "Running":
                self.node.services.start(name)

    def ran(self, command: str) -> int:
        """Return how often a command ran."""
        return sum(call["command"] == command for call in self.executed)

    def handle(self, batch: Wire) -> Wire:
        """Run a batch, and return its observation."""
        self.batches.append(batch)
        if batch["mode"] == "collect":
            return self._collect(batch)
        process = self.node.processes.begin("powershell.exe", "Administrator")
        try:
            return self._run(batch, process)
        finally:
            self.node.processes.end(process)

    def detach(self, batch: Wire) -> None:
        """Start a batch in a separate process, and return when the batch has ended or waits in its first call."""
        self.batches.append(batch)
        self._entered.clear()
        self._released.clear()
        self._holding = bool(self.running_answers)
        self._detached = self.node.processes.detach(
            "powershell.exe", "Administrator", functools.partial(self._run, batch)
        )
        while self._holding and not self._entered.is_set() and not self._detached.ended.wait(0.005):
            pass
        if not self._holding:
            self._release()

    def kill(self, batch: Wire) -> None:
        """Run a batch in a process that is killed in its first call of a handler."""
        self.batches.append(batch)
        process = self.node.processes.begin("powershell.exe", "Administrator")
        self._doomed = process
        try:
            self._run(batch, process)
        except ProcessEndedError:
            return
        finally:
            self._doomed = None
            self.node.processes.end(process)
        raise AssertionError("nothing of this batch asks the test: nobody was there to kill it")

    def lose(self, key: str) -> None:
        """Delete the files of a batch that has ended, as if its process had been killed at its end."""
        self.node.files.delete(f"{detached.FOLDER}\\{key}.json")

    def kept(self) -> list[str]:
        """Return the names of the files that batches with keys have left."""
        return [entry.name for entry in self.node.files.listing(detached.FOLDER)]

    def _collect(self, batch: Wire) -> Wire:
        process = self.node.processes.begin("powershell.exe", "Administrator")
        try:
            observation = self._run({**batch, "wait": WAIT_SCALE * batch.get("wait", 0)}, process)
        finally:
            self.node.processes.end(process)
        if observation["state"] == "running":
            self.running_answers -= 1
            if not self.running_answers:
                self._release()
        return observation

    def _release(self) -> None:
        """Let the detached batch continue to its end."""
        self._released.set()
        self._holding = False
        if self._detached is not None:
            assert self._detached.ended.wait(60)

    def _run(self, batch: Wire, process: Process) -> Wire:
        answer = module.run(self.node, json.dumps(batch), process, process.user, {})
        assert not answer.get("failed"), answer
        # In the form for the wire.
        observation: Wire = json.loads(json.dumps(answer["observation"]))
        results = observation["calls"]
        if batch["mode"] == "run":
            ran = [call for call in batch.get("calls", ()) if results.get(call["id"], {}).get("attempts")]
            self.executed += [call for call in ran if call["command"] != "@stop-if"]
        return observation

    def answer(self, call: Wire, stop: threading.Event) -> t.Any:
        """Return the result of the test's handler for a call."""
        self._entered.set()
        if self._doomed is not None:
            self.node.processes.kill(self._doomed)
            raise ProcessEndedError
        while self._holding and not self._released.wait(0.005):
            if stop.is_set():
                raise ProcessEndedError
        found = self.handlers[call["command"]](call)
        if isinstance(found, CmdletError):
            raise found
        return found


Answer = t.Callable[[Wire, threading.Event], t.Any]


def _forward(machine: weakref.ref[ScriptedMachine], call: Wire, stop: threading.Event) -> t.Any:
    found = machine()
    if found is None:
        raise ProcessEndedError
    return found.answer(call, stop)


def _cmdlet(name: str, answer: Answer, machine: Machine, bound: Bound) -> t.Iterable[object]:
    given = {parameter: bound[parameter] for parameter in PARAMETERS if parameter in bound}
    found = answer({"command": name, "parameters": given}, bound.stop)
    for warning in getattr(found, "warnings", ()):
        bound.warn(warning)
    return [custom_object(**item) if isinstance(item, dict) else item for item in found]


def _program(name: str, answer: Answer, machine: Machine, invocation: Invocation) -> ProgramResult:
    try:
        found = answer({"command": name, "arguments": invocation.argv}, invocation.stop)
    except CmdletError as error:
        return ProgramResult(1, "", error.message)
    return found if isinstance(found, ProgramResult) else ProgramResult()


@functools.cache
def _core() -> families.Families:
    """Return the families of every scripted machine: the cmdlets and programs of Windows itself."""
    kinds = ("simulator.machine.core.", "simulator.machine.powershell.")
    return families.load([name for name in families.names() if name.startswith(kinds)])


def _offered(names: t.Sequence[str], answer: Answer) -> families.Families:
    """Return the families of a machine with these additional cmdlets and programs."""
    core = _core()
    programs = [name for name in names if name.endswith(".exe")]
    cmdlets = [name for name in names if name not in programs]
    return dataclasses.replace(
        core,
        cmdlets={
            **core.cmdlets,
            **{name.casefold(): (name, functools.partial(_cmdlet, name, answer)) for name in cmdlets},
        },
        contracts={**core.contracts, **{name.casefold(): _contract(name) for name in cmdlets}},
        programs={
            **core.programs,
            **{name.casefold(): functools.partial(_program, name, answer) for name in programs},
        },
        services={**core.services, IDLE: IdleServiceProgram()},
        in_box=(*core.in_box, *programs),
    )


def _contract(name: str) -> Contract:
    named = {parameter.casefold(): Parameter(parameter, "Object") for parameter in PARAMETERS}
    places = ({key: ParameterPlace() for key in named},)
    return Contract(name, name, function=True, parameters={**named, **common_parameters()}, sets=places)


def _discard(node: Machine, folder: Path) -> None:
    node.power.power_off()
    shutil.rmtree(folder, ignore_errors=True)
