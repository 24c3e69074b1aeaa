# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The plays of each playbook match the golden files."""

from __future__ import annotations

from pathlib import Path

import pytest
from golden import comparison
from unit.playbooks import structure

ROOT = Path(__file__).resolve().parents[3]
PLAYBOOKS = sorted((ROOT / "playbooks").glob("*.yml"))


@pytest.mark.parametrize("playbook", PLAYBOOKS, ids=lambda path: path.stem)
def test_the_plays_of_a_playbook_are_the_golden_file(playbook: Path) -> None:
    assert comparison.compare({f"plays/{playbook.stem}.txt": structure.of(playbook)}) == ""


def test_every_golden_file_is_of_a_playbook() -> None:
    assert comparison.recorded("plays") == {f"plays/{playbook.stem}.txt" for playbook in PLAYBOOKS}
