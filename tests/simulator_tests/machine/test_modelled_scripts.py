# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Scripts that a layer models: invoke_calls.ps1 as a file that another script calls, with its parts as modules."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest

from simulator.machine.machine import Machine
from simulator.machine.objects import ProgramResult

FOLDER = r"C:\calls"
PARTS = ("_CallJson", "_CallVerbs")
MODULE = "#!powershell\n" + "".join(f"#AnsibleRequires -PowerShell ..module_utils.{part}\n" for part in PARTS)
BATCH = {"calls": [{"id": "made", "command": "@write-file", "parameters": {"path": r"C:\made.txt", "content": "x"}}]}


@pytest.fixture
def folder(machine: Machine) -> Machine:
    machine.files.make_directory(FOLDER)
    machine.files.write_text(rf"{FOLDER}\invoke_calls.ps1", MODULE)
    for part in PARTS:
        machine.files.write_text(rf"{FOLDER}\{part}.psm1", "")
    machine.files.write_text(rf"{FOLDER}\batch.json", json.dumps(BATCH))
    return machine


def call(machine: Machine, *imported: str, errors: Sequence[str] = ()) -> ProgramResult:
    """Run a script that imports parts, and calls the module."""
    lines = [
        *(rf'Import-Module -Name "$PSScriptRoot\{part}.psm1" -Scope Global' for part in imported),
        r'$text = Get-Content -LiteralPath "$PSScriptRoot\batch.json" -Raw',
        "Set-Variable -Name complex_args -Value @{ batch = $text }",
        r'$answer = @(& "$PSScriptRoot\invoke_calls.ps1")[-1] | ConvertFrom-Json',
        "$answer.observation.state",
        *errors,
    ]
    machine.files.write_text(rf"{FOLDER}\run.ps1", "\n".join(lines))
    return machine.programs.run("powershell.exe", ["-File", rf"{FOLDER}\run.ps1"])


def test_a_batch_runs_without_ansible(folder: Machine) -> None:
    result = call(folder, *PARTS)
    assert (result.stdout, result.stderr) == ("finished\r\n", "")
    assert folder.files.read_text(r"C:\made.txt") == "x"


def test_the_module_needs_all_of_its_parts(folder: Machine) -> None:
    result = call(folder, PARTS[0])
    assert "The term 'Read-Batch' is not recognized" in result.stderr
    assert not folder.files.exists(r"C:\made.txt")


def test_a_module_file_has_to_exist(folder: Machine) -> None:
    result = call(folder, *PARTS, "_CallNothing")
    assert r"The specified module 'C:\calls\_CallNothing.psm1' was not loaded" in result.stderr


def test_a_script_writes_to_standard_error(folder: Machine) -> None:
    result = call(folder, *PARTS, errors=['[Console]::Error.WriteLine("refused: $(1 + 1)")', "exit 3"])
    assert (result.exit_code, result.stderr) == (3, "refused: 2\r\n")
