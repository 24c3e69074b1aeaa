# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Scripts with the results of a real PowerShell: read them, compare results, print how many agree."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tallies import Tally

from simulator.machine.objects import ProgramResult

FOLDER = Path(__file__).parent / "scripts"
COUNT = 403
"""The number of recorded scripts."""
REFUSAL = "the simulator does not model"


@dataclass(frozen=True)
class Script:
    """A script and the result of PowerShell; `error` is a part of the standard error, None if it is empty."""

    id: str
    script: str
    stdout: str
    error: str | None
    exit_code: int


def read() -> Iterator[Script]:
    """Yield the recorded scripts."""
    for line in (FOLDER / "recorded.jsonl").read_text(encoding="utf-8").splitlines():
        yield Script(**json.loads(line))


def refused() -> dict[str, str]:
    """Return the scripts that the simulator refuses, by id, with the reasons."""
    found: dict[str, str] = json.loads((FOLDER / "refused.json").read_text(encoding="utf-8"))
    return found


def is_refused(result: ProgramResult) -> bool:
    """Return whether the simulator refused a script: by name, and without any output."""
    return REFUSAL in result.stderr and not result.stdout and result.exit_code != 0


def differences(script: Script, result: ProgramResult) -> list[str]:
    """Return the differences between a result and PowerShell's; blank lines at the end do not count."""
    found: list[str] = []
    output = result.stdout.replace("\r\n", "\n").rstrip()
    if output != script.stdout.rstrip():
        found.append(f"output: expected {script.stdout.rstrip()!r}, got {output!r}")
    if script.error is None and result.stderr:
        found.append(f"errors: expected none, got {result.stderr!r}")
    if script.error is not None and script.error not in result.stderr:
        found.append(f"errors: expected {script.error!r}, got {result.stderr!r}")
    if result.exit_code != script.exit_code:
        found.append(f"exit code: expected {script.exit_code}, got {result.exit_code}")
    return found


def describe(name: str, right: int, total: int, refused: int, wrong: int) -> str:
    """Return one line with the numbers of scripts that have PowerShell's result, are refused, or are wrong."""
    return f"{name}: {right} of {total} answered as PowerShell does, {refused} refused by name, {wrong} wrong"


TALLY = Tally("recorded_scripts", describe, "recorded scripts")
"""Prints `describe` for the recorded scripts at the end of a test run."""
