# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A simulated server as the back end of the recorded cases."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Any

from simulator.machine import executables
from simulator.machine.machine import ENVIRONMENT, Machine
from simulator.machine.processes import Process
from simulator.machine.session import Session
from wire_cases import stand_ins
from wire_cases.recorded import Tree
from wire_provider import detached, module

FOLDER = "C:\\fz"
REGISTRY = "HKLM:\\SOFTWARE\\fz"
VARIABLES = ("FZ", "FZ2")


class SimulatedNode:
    """A simulated server whose families have the stand-ins.

    Args:
        machine: the server, which must be running.
    """

    program = "C:\\wire\\program.exe"

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        machine.files.make_directory("C:\\wire")
        machine.files.write_bytes(self.program, executables.make(stand_ins.PROGRAM, "1.0"))

    def path(self, below: str) -> str:
        """Return the Windows path of a file or folder below the folder of the cases."""
        return FOLDER + below.replace("/", "\\")

    def prepare(self, before: Tree) -> None:
        """Empty the folder, delete the registry key, the variables and the keys, and write the files."""
        files = self._machine.files
        if files.exists(FOLDER):
            files.delete(FOLDER)
        files.make_directory(FOLDER)
        place = files.real(FOLDER)
        for path, content in before.items():
            folder = place / path if content is None else (place / path).parent
            folder.mkdir(parents=True, exist_ok=True)
            if content is not None:
                (place / path).write_bytes(content)
        self._machine.registry.delete_key(REGISTRY)
        for name in VARIABLES:
            self._machine.registry.delete(ENVIRONMENT, name)
        if files.exists(detached.FOLDER):
            files.delete(detached.FOLDER)

    def run(self, batch: Mapping[str, Any]) -> dict[str, Any]:
        """Return the module's answer to a batch, in a process of its own."""
        process = self._machine.processes.begin("powershell.exe", "Administrator")
        try:
            return self._answer(batch, process)
        finally:
            self._machine.processes.end(process)

    def _answer(self, batch: Mapping[str, Any], process: Process) -> dict[str, Any]:
        session = Session(self._machine, process, "Administrator")
        answer = module.run(self._machine, json.dumps(batch), process, process.user, session.environment)
        # Convert the answer to JSON and back, as on the wire.
        found: dict[str, Any] = json.loads(json.dumps(answer))
        return found

    def kill(self, batch: Mapping[str, Any], sign: str) -> None:
        """Run a batch in a process that is killed as soon as the file `sign` exists."""

        def work(process: Process) -> None:
            self._answer(batch, process)

        process = self._machine.processes.detach("powershell.exe", "Administrator", work)
        end = time.monotonic() + 60
        while not self._machine.files.exists(sign):
            assert time.monotonic() < end, f"{sign} never came"
            time.sleep(0.01)
        self._machine.processes.kill(process)
        assert process.ended.wait(60)

    def files(self) -> Tree:
        """Return the files and folders below the folder of the cases."""
        place = self._machine.files.real(FOLDER)
        return {
            str(found.relative_to(place)): None if found.is_dir() else found.read_bytes() for found in place.rglob("*")
        }

    def hold(self, path: str, access: str, share: str) -> AbstractContextManager[object]:
        """Keep a file open, as another process does."""
        return self._machine.files.open.hold(path, access, share)
