# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Every molecule scenario, by molecule's own command line: create, converge, idempotence, verify, destroy."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

SCENARIOS = sorted(path.parent.name for path in (Path(__file__).parents[2] / "molecule").glob("*/molecule.yml"))


@pytest.mark.molecule
@pytest.mark.timeout(900)
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_molecule_scenario(scenario: str, repository: Path, tmp_path: Path) -> None:
    tools = Path(sys.executable).parent
    environment = os.environ | {
        "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}",
        # Molecule keeps its state here: two runs side by side must not share it.
        "MOLECULE_EPHEMERAL_DIRECTORY": str(tmp_path),
        "NO_COLOR": "1",
    }
    answer = subprocess.run(
        [tools / "molecule", "test", "--scenario-name", scenario],
        cwd=repository,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert answer.returncode == 0, f"molecule test -s {scenario} failed:\n{answer.stdout[-30000:]}"
