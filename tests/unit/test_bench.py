# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""`make bench` can run: its measurements are found and imported as it does, in a separate process."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
PROGRAM = """
from bench.__main__ import load, measurements
for name in measurements():
    assert load(name).measure.__doc__, name
    print(name)
"""


def test_each_measurement_can_be_imported() -> None:
    answer = subprocess.run([sys.executable, "-c", PROGRAM], cwd=TESTS, capture_output=True, text=True, check=False)
    assert (answer.returncode, answer.stderr) == (0, "")
    assert "downloads" in answer.stdout.split()
