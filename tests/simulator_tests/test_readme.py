# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The simulator's README opens with an example that works, and ends with what the simulator does not do."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import simulator

PACKAGE = Path(simulator.__file__).resolve().parent
README = (PACKAGE / "README.md").read_text(encoding="utf-8")


def test_the_first_example_runs(tmp_path: Path) -> None:
    found = re.search(r"```python\n(.*?)```", README, re.DOTALL)
    assert found is not None
    assert found.start() < README.index("\n## "), "the example belongs to the introduction"
    (tmp_path / "test_example.py").write_text(found[1], encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:pytest-ansible", "--basetemp=temporary", "test_example.py"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(PACKAGE.parent)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 passed" in done.stdout


def test_the_last_section_lists_what_is_not_simulated() -> None:
    assert re.findall(r"^## (.+)$", README, re.MULTILINE)[-1] == "What it does not simulate"
