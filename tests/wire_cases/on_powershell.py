# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A back end of the recorded cases that runs the module itself in PowerShell on this machine.

On Linux, this is PowerShell 7; on Windows, it can also be Windows PowerShell 5.1.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import ansible.module_utils.powershell

from wire_cases import programs
from wire_cases.recorded import Tree

REPOSITORY = Path(__file__).parents[2]
HERE = Path(__file__).parent / "powershell"
# The parts of this machine's own registry that the cases use. An environment variable is also a registry value.
REGISTRY = (
    (r"HKLM\SOFTWARE\fz",),
    (r"HKLM\SYSTEM\CurrentControlSet\Control\Session Manager\Environment", "/v", "FZ"),
    (r"HKLM\SYSTEM\CurrentControlSet\Control\Session Manager\Environment", "/v", "FZ2"),
)


class PowerShellNode:
    """This machine. Each batch runs in its own PowerShell process, on files below a folder.

    Args:
        powershell: the path of PowerShell.
        folder: the folder to create. It contains the cases' files, the program that they run, and a folder that is used
            as ProgramData.
    """

    def __init__(self, powershell: str, folder: Path) -> None:
        self._powershell = powershell
        self._files = folder / "fz"
        self._data = folder / "data"
        self._documents = folder / "documents"
        for made in (self._files, self._data, self._documents):
            made.mkdir(parents=True)
        self.program = programs.make(folder, "program.exe", (HERE / "program.py").read_text(encoding="utf-8"))

    def path(self, below: str) -> str:
        """Return the path of a file or folder below the folder of the cases."""
        return f"{self._files}{below.replace('/', os.sep)}"

    def prepare(self, before: Tree) -> None:
        """Empty the folder, discard the keys, and write the files. On Windows, also clean the registry."""
        if sys.platform == "win32":
            for known in REGISTRY:
                # The key or value may not exist.
                subprocess.run(["reg.exe", "delete", *known, "/f"], capture_output=True, check=False)
        shutil.rmtree(self._files)
        shutil.rmtree(self._data)
        self._files.mkdir()
        self._data.mkdir()
        for path, content in before.items():
            place = self._files / path
            (place if content is None else place.parent).mkdir(parents=True, exist_ok=True)
            if content is not None:
                place.write_bytes(content)

    def answer(self, text: str) -> dict[str, Any]:
        """Return the module's answer to the text of a batch."""
        done = subprocess.run(
            self._command(text), capture_output=True, timeout=120, check=False, env=self._environment()
        )
        assert done.returncode == 0, done.stderr.decode()
        found: dict[str, Any] = json.loads(done.stdout.decode("ascii"))
        return found

    def run(self, batch: Mapping[str, Any]) -> dict[str, Any]:
        """Return the module's answer to a batch."""
        return self.answer(json.dumps(batch))

    def kill(self, batch: Mapping[str, Any], sign: str) -> None:
        """Run a batch in a process that is killed, with its programs, as soon as the file `sign` exists."""
        process = subprocess.Popen(
            self._command(json.dumps(batch)),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=self._environment(),
            start_new_session=True,
        )
        try:
            end = time.monotonic() + 120
            while not Path(sign).exists():
                assert process.poll() is None, "the batch ended by itself"
                assert time.monotonic() < end, f"{sign} never came"
                time.sleep(0.05)
        finally:
            _end(process)
            process.wait()

    def files(self) -> Tree:
        """Return the files and folders below the folder of the cases."""
        return {
            found.relative_to(self._files).as_posix(): None if found.is_dir() else found.read_bytes()
            for found in self._files.rglob("*")
        }

    def _command(self, text: str) -> list[str]:
        document = self._documents / f"{uuid.uuid4()}.json"
        document.write_text(text, encoding="utf-8")
        module = REPOSITORY / "plugins/modules/invoke_calls.ps1"
        parser = Path(ansible.module_utils.powershell.__path__[0]) / "Ansible.ModuleUtils.ArgvParser.psm1"
        utilities = [parser, *sorted((REPOSITORY / "plugins/module_utils").glob("_Call*.psm1"))]
        arguments = [str(module), os.pathsep.join(map(str, utilities)), str(document)]
        # Windows' default policy does not allow scripts.
        policy = ["-ExecutionPolicy", "Bypass"] if sys.platform == "win32" else []
        return [
            *(self._powershell, "-NoProfile", "-NonInteractive", *policy),
            *("-File", str(HERE / "harness.ps1"), *arguments),
        ]

    def _environment(self) -> dict[str, str]:
        # On Windows, os.environ has names in upper case. The name in another case would be a second variable.
        name = "PROGRAMDATA" if sys.platform == "win32" else "ProgramData"
        return {**os.environ, name: str(self._data), "NO_COLOR": "1"}


def _end(process: subprocess.Popen[bytes]) -> None:
    """Kill a process and its programs, which may still run after the process has ended."""
    if sys.platform == "win32":
        subprocess.run(["taskkill.exe", "/F", "/T", "/PID", str(process.pid)], capture_output=True, check=False)
    else:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
