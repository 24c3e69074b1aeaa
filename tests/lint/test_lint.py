# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The linters as tests, so that one summary of `make test` covers them: each runs the Makefile's own target."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from integration import forked_runs

LINTERS = (
    "ruff",
    "mypy",
    "yamllint",
    "changelog-lint",
    "docs-lint",
    "sanity-quick",
    pytest.param("sanity", marks=pytest.mark.variant),
)


@pytest.fixture
def forked_syntax_checks(tmp_path: Path) -> Iterator[Path]:
    """Yield a folder with an ansible-playbook that runs in forks of a process that has imported Ansible.

    ansible-lint starts it for each playbook and role. The linter needed 54 CPU seconds instead of 83.
    """
    server = forked_runs.ForkServer(forked_runs.PROGRAM, os.environ)
    program = tmp_path / "ansible-playbook"
    real = shlex.quote(str(Path(sys.executable).with_name("ansible-playbook")))
    program.write_text(f'#!/bin/sh\nexec {server.client()} {real} "$@"\n', encoding="utf-8")
    program.chmod(0o700)
    server.wait()
    yield tmp_path
    server.stop()


@pytest.mark.timeout(900)
@pytest.mark.parametrize("linter", LINTERS)
def test_linter_finds_nothing(linter: str, repository: Path) -> None:
    run_linter(linter, repository)


def test_ansible_lint_finds_nothing(repository: Path, forked_syntax_checks: Path) -> None:
    variants = os.environ.get(forked_runs.CHOICE) == "all"
    run_linter("ansible-lint", repository, *(() if variants else [forked_syntax_checks]))


def run_linter(linter: str, repository: Path, *programs: Path) -> None:
    """Run a linter, which looks for programs in these folders first."""
    tools = Path(sys.executable).parent
    # Not the flags of the make that runs these tests: a `make -k` would hide which command failed.
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}
    path = os.pathsep.join([*map(str, programs), str(tools), os.environ["PATH"]])
    answer = subprocess.run(
        ["make", "--no-print-directory", linter, f"BIN={tools}", f"PATH={path}"],
        cwd=repository,
        env=environment | {"NO_COLOR": "1"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert answer.returncode == 0, f"make {linter} failed:\n{answer.stdout[-20000:]}"
