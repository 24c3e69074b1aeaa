# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Fixtures for tests of modules: PowerShell 7, and a Kubernetes API with a few objects."""

from __future__ import annotations

import json
import typing as t
from collections.abc import Iterator
from pathlib import Path

import pytest
from unit.fake_cluster import FakeCluster
from unit.powershell_runs import PWSH, Answer, Run
from wire_cases.on_powershell import PowerShellNode


@pytest.fixture
def powershell(tmp_path: Path) -> PowerShellNode:
    """Return this machine as a node that runs batches with PowerShell 7."""
    return PowerShellNode(str(PWSH), tmp_path)


@pytest.fixture
def answer(powershell: PowerShellNode) -> Answer:
    """Return a function that runs the module with the text of a batch, and returns its response."""
    return powershell.answer


@pytest.fixture
def run(answer: Answer) -> Run:
    """Return a function that runs a batch, and returns its observation."""

    def run_batch(*calls: dict[str, t.Any], **batch: t.Any) -> dict[str, t.Any]:
        answered = answer(json.dumps({"calls": list(calls), **batch}))
        assert answered.keys() == {"changed", "observation"}
        return t.cast("dict[str, t.Any]", answered["observation"])

    return run_batch


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[FakeCluster]:
    """Yield a cluster whose kubeconfig has all rights."""
    found = FakeCluster(tmp_path)
    # The cluster does not approve requests itself.
    found.denied = lambda spec: "groups" in spec
    yield found
    found.close()
