# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Running batches with PowerShell itself: PowerShell 7 on PATH, or the one in WINKUBE_POWERSHELL."""

from __future__ import annotations

import os
import shutil
import typing as t
from pathlib import Path

import pytest
from wire_cases import programs

POWERSHELL = os.environ.get("WINKUBE_POWERSHELL", "pwsh")
"""`pwsh`, or on Windows `powershell`, which is Windows PowerShell 5.1."""
PWSH = shutil.which(POWERSHELL)
MARKS = [pytest.mark.pwsh, pytest.mark.skipif(PWSH is None, reason=f"PowerShell ({POWERSHELL}) is not on PATH")]

Run = t.Callable[..., dict[str, t.Any]]
"""Runs a batch of calls, and returns its observation."""
Answer = t.Callable[[str], dict[str, t.Any]]
"""Runs the module with the text of a batch, and returns its response."""


def program(folder: Path, name: str, code: str) -> str:
    """Create an executable with this name, written in Python."""
    return programs.make(folder, name, f"import os, sys, time\n{code}")
