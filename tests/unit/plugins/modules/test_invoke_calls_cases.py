# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The cases that simulated servers run, run by PowerShell itself; see tests/wire_cases/README.md."""

from __future__ import annotations

import json
import os
import sys
import typing as t

import pytest
from unit.powershell_runs import MARKS, POWERSHELL
from wire_cases import recorded, windows_files
from wire_cases.on_powershell import PowerShellNode

pytestmark = [pytest.mark.waits, *MARKS]
EVERY = 1 if os.environ.get("WINKUBE_SWEEPS") == "full" else 24
"""One of so many recorded cases is run: each starts PowerShell at least once."""
FILES = [("own", 1), ("cases", EVERY)]
if sys.platform == "win32":
    FILES += [("registry", EVERY), ("file-cmdlets", EVERY), ("open-files", 1)]
    # .NET Framework, under Windows PowerShell 5.1, refuses odd names in its own way.
    FILES += [("names", 1)] if POWERSHELL == "pwsh" else []


@pytest.mark.parametrize(("name", "every"), FILES)
def test_the_module_answers_as_recorded(name: str, every: int, powershell: PowerShellNode) -> None:
    differing: dict[str, t.Any] = {}
    for case in list(recorded.read(name))[::every]:
        if found := recorded.differences(case, powershell, windows_files.hold):
            differing[case.name] = found
    assert not differing, json.dumps(differing, indent=2, ensure_ascii=False)
