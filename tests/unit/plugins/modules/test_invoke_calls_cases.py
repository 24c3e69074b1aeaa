# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The cases that simulated servers run, run by PowerShell 7 where it is on PATH; see tests/wire_cases/README.md."""

from __future__ import annotations

import json
import os
import typing as t

import pytest
from unit.powershell_runs import MARKS
from wire_cases import recorded
from wire_cases.on_powershell import PowerShellNode

pytestmark = [pytest.mark.waits, *MARKS]
EVERY = 1 if os.environ.get("WINKUBE_SWEEPS") == "full" else 24
"""One of so many recorded cases is run: each starts PowerShell at least once."""


# The other files need Windows.
@pytest.mark.parametrize(("name", "every"), [("own", 1), ("cases", EVERY)])
def test_the_module_answers_as_recorded(name: str, every: int, powershell: PowerShellNode) -> None:
    differing: dict[str, t.Any] = {}
    for case in list(recorded.read(name))[::every]:
        if found := recorded.differences(case, powershell):
            differing[case.name] = found
    assert not differing, json.dumps(differing, indent=2, ensure_ascii=False)
