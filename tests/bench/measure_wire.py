# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The time in which the module reads a batch and writes its response, with PowerShell 7 (skipped without it)."""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

HERE = Path(__file__).resolve().parent
MODULE = HERE.parents[1] / "plugins/module_utils/_CallJson.psm1"
SIZES = (200, 800)


def measure() -> Mapping[str, float]:
    """Return the times to read a batch of many calls and to write as many results; the fastest of five runs."""
    pwsh = shutil.which("pwsh")
    return {} if pwsh is None else {name: value for calls in SIZES for name, value in _measured(pwsh, calls).items()}


def _measured(pwsh: str, calls: int) -> Mapping[str, float]:
    with tempfile.TemporaryDirectory() as folder:
        batch = Path(folder) / "batch.json"
        batch.write_text(json.dumps({"calls": [_call(number) for number in range(calls)]}), encoding="utf-8")
        command = [pwsh, "-NoProfile", "-NonInteractive", "-File", str(HERE / "wire.ps1"), str(MODULE), str(batch)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    read, written = map(float, done.stdout.split())
    return {f"read_{calls}_calls_seconds": read, f"write_{calls}_results_seconds": written}


def _call(number: int) -> dict[str, object]:
    """Return a typical call of a resource, which reads the state of a file."""
    path = f"C:\\Program Files\\Kubernetes\\part {number}\\kubelet.exe"
    parameters = {"paths": [path, f"{path}.checksum"], "hash": True, "content": True}
    return {"id": f"r{number}.file", "command": "@read-file", "parameters": parameters, "on_error": "continue"}
