# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Every molecule scenario with molecule's own command line: create, converge, idempotence, verify, destroy.

The scenario with a cluster runs on the one in memory, with the simulated kubeadm, whose output is that of a Windows
server. A variant runs it on a real control plane.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from integration import forked_runs

from simulator.cluster.cluster import real_unavailable

FOLDER = Path(__file__).parents[2] / "molecule"
SCENARIOS = sorted(path.parent.name for path in FOLDER.glob("*/molecule.yml"))
JOINS = [name for name in SCENARIOS if (FOLDER / name / "fleet.yml").read_text(encoding="utf-8").count("\ncluster:")]
REPEATED = ("cache", "hns", "image", "lifecycle", "networks", "patches")
"""Scenarios whose steps other tests repeat: test_cached_join.py, test_hns_playbooks.py, test_image.py (which builds the
image), test_verify_image.py and test_image_tests.py (the testinfra suite), test_upgrade_nodes.py and
test_reset_nodes.py, test_network_chain.py, and test_patches_role.py."""
# The addresses of a scenario are fixed, so its runs must not overlap.
RUNS = [
    *(
        pytest.param(
            name,
            {"KUBEBUILDER_ASSETS": ""},
            id=name,
            marks=[pytest.mark.xdist_group(f"molecule-{name}"), *([pytest.mark.variant] if name in REPEATED else [])],
        )
        for name in SCENARIOS
    ),
    *(
        pytest.param(
            name,
            {},
            id=f"{name}-real",
            marks=[
                pytest.mark.variant,
                pytest.mark.control_plane,
                pytest.mark.xdist_group(f"molecule-{name}"),
                pytest.mark.skipif(bool(real_unavailable()), reason=real_unavailable()),
            ],
        )
        for name in JOINS
    ),
]


@pytest.mark.molecule
@pytest.mark.timeout(900)
@pytest.mark.parametrize(("scenario", "variables"), RUNS)
def test_molecule_scenario(scenario: str, variables: dict[str, str], repository: Path, tmp_path: Path) -> None:
    tools = Path(sys.executable).parent
    environment = (
        os.environ
        | variables
        | {
            "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}",
            # The folder for molecule's state, which parallel runs must not share.
            "MOLECULE_EPHEMERAL_DIRECTORY": str(tmp_path),
            "NO_COLOR": "1",
            # The pauses of a play, as in other tests.
            "ANSIBLE_CALLBACK_PLUGINS": str(forked_runs.CALLBACKS),
            "ANSIBLE_CALLBACKS_ENABLED": "short_pauses",
        }
    )
    answer = subprocess.run(
        [tools / "molecule", "test", "--scenario-name", scenario],
        cwd=repository,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert answer.returncode == 0, f"molecule test -s {scenario} failed:\n{answer.stdout[-30000:]}"
