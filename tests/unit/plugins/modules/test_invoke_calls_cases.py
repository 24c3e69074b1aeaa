# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The cases that simulated servers run, with PowerShell itself; see tests/wire_cases/README.md."""

from __future__ import annotations

import os
import sys
import typing as t

import pytest
from unit.powershell_runs import MARKS, POWERSHELL
from wire_cases import agreement, recorded, windows_files
from wire_cases.on_powershell import PowerShellNode

pytestmark = [pytest.mark.waits, *MARKS]
EVERY = 1 if os.environ.get("WINKUBE_SWEEPS") == "full" else 24
"""Run only every n-th recorded case, because each case starts PowerShell at least once."""
# The names in disagreements.json for what runs here.
BACK_ENDS = ["windows"] if sys.platform == "win32" else []
BACK_ENDS += ["5.1"] if POWERSHELL == "powershell" else []
FILES = [("own", 1), ("cases", EVERY)]
if sys.platform == "win32":
    FILES += [("registry", EVERY), ("file-cmdlets", EVERY), ("open-files", 1)]
    # .NET Framework, under Windows PowerShell 5.1, rejects unusual names in its own way.
    FILES += [("names", 1)] if POWERSHELL == "pwsh" else []


@pytest.mark.parametrize(("name", "every"), FILES)
def test_the_module_answers_as_recorded(
    name: str, every: int, powershell: PowerShellNode, record_property: t.Callable[[str, object], None]
) -> None:
    cases = list(recorded.read(name))[::every]
    found = {case.name: recorded.run(case, powershell, windows_files.hold) for case in cases}
    agreement.record(f"{name} by {POWERSHELL}", found, record_property)
    agreement.check(name, found, BACK_ENDS)
