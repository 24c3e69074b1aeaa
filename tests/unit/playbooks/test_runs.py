# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The runs of playbooks and roles match the golden files: all except site.yml (test_site_runs.py)."""

from __future__ import annotations

from pathlib import Path

import pytest
from golden import comparison
from unit.playbooks import trace
from unit.playbooks.other_scenarios import OTHERS
from unit.playbooks.scenarios import SCENARIOS


@pytest.mark.parametrize("name", OTHERS)
def test_a_run_is_the_golden_file(name: str, tmp_path: Path) -> None:
    assert comparison.compare({f"runs/{name}.txt": trace.of(OTHERS[name], tmp_path)}) == ""


def test_every_golden_file_is_of_a_run() -> None:
    assert comparison.recorded("runs") == {f"runs/{name}.txt" for name in [*SCENARIOS, *OTHERS]}
