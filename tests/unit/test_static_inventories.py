# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The inventories of the demo and of molecule are files. Their checksums are those of the simulated downloads."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from integration.playbooks import simulated_pins

FILES = [
    "inventories/demo/hosts.yml",
    *(f"molecule/{name}/molecule.yml" for name in ("default", "lifecycle", "networks")),
]


@pytest.mark.parametrize("file", FILES)
def test_checksums_are_those_of_the_simulated_files(repository: Path, file: str) -> None:
    pinned = dict(re.findall(r"(?m)^ +(\w+_sha256): (\w+)$", (repository / file).read_text(encoding="utf-8")))
    assert pinned == {name: simulated_pins()[name] for name in pinned} != {}
