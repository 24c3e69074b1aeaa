# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What playbooks and roles do, run by run, is what the golden files say."""

from __future__ import annotations

from pathlib import Path

import pytest
from golden import comparison
from unit.playbooks import structure, trace
from unit.playbooks.scenarios import SCENARIOS

ROOT = Path(__file__).resolve().parents[3]
PLAYBOOKS = sorted((ROOT / "playbooks").glob("*.yml"))


@pytest.mark.parametrize("playbook", PLAYBOOKS, ids=lambda path: path.stem)
def test_the_plays_of_a_playbook_are_the_golden_file(playbook: Path) -> None:
    assert comparison.compare({f"plays/{playbook.stem}.txt": structure.of(playbook)}) == ""


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_run_is_the_golden_file(name: str, tmp_path: Path) -> None:
    assert comparison.compare({f"runs/{name}.txt": trace.of(SCENARIOS[name], tmp_path)}) == ""


def test_every_golden_file_is_of_a_playbook_or_a_run() -> None:
    assert comparison.recorded("plays") == {f"plays/{playbook.stem}.txt" for playbook in PLAYBOOKS}
    assert comparison.recorded("runs") == {f"runs/{name}.txt" for name in SCENARIOS}
