# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Scripts of other projects have the results of a real PowerShell, or are refused by name; see scripts/README.md."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from simulator_tests.machine import recorded_scripts as recorded

from simulator.machine.machine import Machine
from simulator.machine.objects import ProgramResult
from simulator.machine.powershell.host import run_text
from simulator.machine.session import Session

HOME = "C:\\fz"


def answer(machine: Machine, script: str) -> ProgramResult:
    """Run a script with powershell.exe in an empty folder, and return the result."""
    if machine.files.exists(HOME):
        machine.files.delete(HOME)
    machine.files.make_directory(HOME)
    process = machine.processes.begin("powershell.exe", "Administrator")
    try:
        return run_text(Session(machine, process, "Administrator", directory=HOME), script, [])
    finally:
        machine.processes.end(process)


def test_scripts_are_answered_as_powershell_does_or_refused(
    machine: Machine, record_property: Callable[[str, object], None]
) -> None:
    listed = recorded.refused()
    right = 0
    refused: set[str] = set()
    wrong: dict[str, list[str]] = {}
    for script in recorded.read():
        result = answer(machine, script.script)
        if recorded.is_refused(result):
            refused.add(script.id)
        elif found := recorded.differences(script, result):
            wrong[script.id] = [script.script, *found]
        else:
            right += 1
    counts = [right, right + len(refused) + len(wrong), len(refused), len(wrong)]
    record_property(recorded.TALLY.property, [recorded.TALLY.total, *counts])
    assert counts[1] == recorded.COUNT
    assert wrong == {}
    assert refused == set(listed), "what is refused is listed in scripts/refused.json, with the reason"


@pytest.mark.parametrize(
    "script",
    [
        "'before'; [Net.WebRequest]::Create('http://x'); 'after'",
        "try { [xml]'<a/>' } catch { 'caught' }",
        "[xml]'<a/>' 2>$null; 'after'",
        "$ErrorActionPreference = 'SilentlyContinue'; 'a'.Normalize(); 'after'",
        "function f { [xml]'<a/>' }; $x = f; 'after'",
        "class A { }; 'after'",
    ],
)
def test_a_script_cannot_hide_a_refusal(machine: Machine, script: str) -> None:
    result = answer(machine, script)
    assert (result.stdout, result.exit_code) == ("", 1)
    assert recorded.REFUSAL in result.stderr


@pytest.mark.parametrize(
    "refused", ["Add-Type -AssemblyName x", "$x = [xml]'<a/>'", "'a' | Start-Job { 1 }", "Get-Item x ||"]
)
def test_a_script_that_prints_its_refusal_does_nothing(machine: Machine, refused: str) -> None:
    result = answer(machine, f"Set-Content C:\\fz\\made.txt 1; {refused}")
    assert recorded.is_refused(result)
    assert not machine.files.exists("C:\\fz\\made.txt")
