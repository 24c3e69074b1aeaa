# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The linters as tests, so that one summary of `make test` covers them: each runs the Makefile's own target."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

LINTERS = (
    "ruff",
    "mypy",
    "yamllint",
    "ansible-lint",
    "changelog-lint",
    "docs-lint",
    "sanity-quick",
    pytest.param("sanity", marks=pytest.mark.variant),
)


@pytest.mark.timeout(900)
@pytest.mark.parametrize("linter", LINTERS)
def test_linter_finds_nothing(linter: str, repository: Path) -> None:
    tools = Path(sys.executable).parent
    # Not the flags of the make that runs these tests: a `make -k` would hide which command failed.
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}
    answer = subprocess.run(
        ["make", "--no-print-directory", linter, f"BIN={tools}"],
        cwd=repository,
        env=environment | {"NO_COLOR": "1"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert answer.returncode == 0, f"make {linter} failed:\n{answer.stdout[-20000:]}"
