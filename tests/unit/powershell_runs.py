# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Batches run by PowerShell 7 itself, where it is on PATH."""

from __future__ import annotations

import shutil
import stat
import sys
import typing as t
from pathlib import Path

import pytest

PWSH = shutil.which("pwsh")
MARKS = [pytest.mark.pwsh, pytest.mark.skipif(PWSH is None, reason="PowerShell 7 (pwsh) is not on PATH")]

Run = t.Callable[..., dict[str, t.Any]]
"""Runs a batch of calls and returns its observation."""
Answer = t.Callable[[str], dict[str, t.Any]]
"""Runs the module with the text of a batch and returns what it answers."""


def program(folder: Path, name: str, code: str) -> str:
    """An executable of that name, written in Python."""
    path = folder / name
    path.write_text(f"#!{sys.executable}\nimport os, sys, time\n{code}\n", encoding="utf-8")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)
