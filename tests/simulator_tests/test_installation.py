# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The simulator installed with pip into a new virtual environment, and used there without this repository.

Nothing is downloaded: a .pth file adds the packages of the tests' own environment to the new one.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import venv
from importlib.metadata import distribution
from pathlib import Path

import pytest

import simulator

SIMULATOR = Path(simulator.__file__).resolve().parent
NEEDED = ("cryptography", "jsonpatch", "psrpcore", "pypsrp", "pyspnego", "pytest", "PyYAML", "setuptools")
WHAT_IS_THERE = """
import importlib.util, json, simulator
from simulator.machine import families
layers = sorted(entry.name for entry in families.declared())
others = [name for name in ("ansible_collections.winkube", "wire_provider") if importlib.util.find_spec(name)]
print(json.dumps([simulator.__file__, layers, others]))
"""

pytestmark = [pytest.mark.packaging, pytest.mark.xdist_group("installation")]


class Environment:
    """A virtual environment outside of the repository, in which the simulator is installed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "venv"
        self.python = self.folder / "bin" / "python"
        self.work = folder / "work"
        self.work.mkdir()
        venv.create(self.folder, with_pip=False, symlinks=True)
        [packages] = self.folder.glob("lib/python*/site-packages")
        needed = {str(distribution(name).locate_file("")) for name in NEEDED}
        lent = [entry for entry in sys.path if entry in needed]
        (packages / "lent.pth").write_text("\n".join(lent) + "\n", encoding="utf-8")

    def install(self, source: Path) -> None:
        """Build the wheel of a folder and install it, both without the network."""
        options = ["--no-deps", "--no-build-isolation", "--no-index", "--no-input", "--quiet"]
        pip = [sys.executable, "-m", "pip", "--python", str(self.python), "install", *options, str(source)]
        self._run(pip)

    def run(self, *arguments: str) -> str:
        """Run the environment's Python and return what it prints."""
        return self._run([str(self.python), *arguments])

    def _run(self, command: list[str]) -> str:
        hidden = {"PYTHONPATH", "PYTHONHOME", "ANSIBLE_COLLECTIONS_PATH"}
        done = subprocess.run(
            command,
            cwd=self.work,
            env={name: value for name, value in os.environ.items() if name not in hidden},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """Install a copy of the simulator, so that building the wheel leaves no files in the checkout."""
    folder = tmp_path_factory.mktemp("installation")
    source = folder / "source"
    shutil.copytree(SIMULATOR, source, ignore=shutil.ignore_patterns("__pycache__", "build", "*.egg-info"))
    made = Environment(folder)
    made.install(source)
    return made


def test_the_first_example_of_the_readme_runs(environment: Environment) -> None:
    readme = (SIMULATOR / "README.md").read_text(encoding="utf-8")
    found = re.search(r"```python\n(.*?)```", readme, re.DOTALL)
    assert found is not None
    (environment.work / "test_example.py").write_text(found[1], encoding="utf-8")
    # Without --basetemp, pytest also deletes what other runs left in the common folder, which takes time.
    options = ["-q", "-p", "no:pytest-ansible", "--basetemp=temporary"]
    answer = environment.run("-m", "pytest", *options, "test_example.py")
    assert "1 passed" in answer


def test_the_installed_simulator_needs_nothing_of_the_repository(environment: Environment) -> None:
    place, layers, others = json.loads(environment.run("-c", WHAT_IS_THERE))
    assert Path(place).is_relative_to(environment.folder)
    assert layers == ["core", "kubernetes", "windows"]
    assert others == []
