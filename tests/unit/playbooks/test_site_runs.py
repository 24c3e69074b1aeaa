# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The runs of site.yml match the golden files."""

from __future__ import annotations

from pathlib import Path

import pytest
from golden import comparison
from unit.playbooks import trace
from unit.playbooks.scenarios import SCENARIOS


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_run_is_the_golden_file(name: str, tmp_path: Path) -> None:
    assert comparison.compare({f"runs/{name}.txt": trace.of(SCENARIOS[name], tmp_path)}) == ""
