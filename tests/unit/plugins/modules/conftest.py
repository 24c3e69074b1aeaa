# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The module under PowerShell 7."""

from __future__ import annotations

import json
import os
import subprocess
import typing as t
import uuid
from pathlib import Path

import ansible.module_utils.powershell
import pytest
from unit.powershell_runs import PWSH, Answer, Run


@pytest.fixture
def answer(repository: Path, tmp_path: Path) -> Answer:
    """Return a function that runs the module with the text of a batch, and returns what it answers."""
    parser = Path(ansible.module_utils.powershell.__path__[0]) / "Ansible.ModuleUtils.ArgvParser.psm1"
    utilities = os.pathsep.join(
        str(path) for path in [parser, *(repository / "plugins/module_utils").glob("_Call*.psm1")]
    )
    module = str(repository / "plugins/modules/invoke_calls.ps1")
    harness = Path(__file__).parent / "powershell" / "harness.ps1"
    (tmp_path / "data").mkdir()

    def run_text(text: str) -> dict[str, t.Any]:
        document = tmp_path / f"{uuid.uuid4()}.json"
        document.write_text(text, encoding="utf-8")
        done = subprocess.run(
            [str(PWSH), "-NoProfile", "-NonInteractive", "-File", str(harness), module, utilities, str(document)],
            capture_output=True,
            timeout=120,
            check=False,
            env={**os.environ, "ProgramData": str(tmp_path / "data"), "NO_COLOR": "1"},
        )
        assert done.returncode == 0, done.stderr.decode()
        return t.cast("dict[str, t.Any]", json.loads(done.stdout.decode("ascii")))

    return run_text


@pytest.fixture
def run(answer: Answer) -> Run:
    """Return a function that runs a batch, and returns its observation."""

    def run_batch(*calls: dict[str, t.Any], **batch: t.Any) -> dict[str, t.Any]:
        answered = answer(json.dumps({"calls": list(calls), **batch}))
        assert answered.keys() == {"changed", "observation"}
        return t.cast("dict[str, t.Any]", answered["observation"])

    return run_batch
