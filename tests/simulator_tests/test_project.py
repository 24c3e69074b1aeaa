# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The simulator as a separate project: what its pyproject.toml declares, and how layers are found."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import Any

import pytest

from simulator.machine import families

SIMULATOR = Path(families.__file__).resolve().parents[1]
PROJECT: dict[str, Any] = tomllib.loads((SIMULATOR / "pyproject.toml").read_text(encoding="utf-8"))
DATA = {".json", ".toml", ".yaml"}


def own(pattern: str) -> list[Path]:
    """Return the simulator's files that match a pattern, without the files of `pip install tests/simulator`."""
    return [path for path in SIMULATOR.rglob(pattern) if path.relative_to(SIMULATOR).parts[0] != "build"]


def test_the_wheel_contains_every_package() -> None:
    found = [path.parent.relative_to(SIMULATOR).parts for path in own("__init__.py")]
    assert PROJECT["tool"]["setuptools"]["packages"] == sorted(".".join(("simulator", *parts)) for parts in found)


def test_the_wheel_contains_every_data_file() -> None:
    patterns: dict[str, list[str]] = PROJECT["tool"]["setuptools"]["package-data"]
    packed = {
        file for package in own("__init__.py") for pattern in patterns["*"] for file in package.parent.glob(pattern)
    }
    packed |= {file for pattern in patterns["simulator"] for file in SIMULATOR.glob(pattern)}
    data = {file for file in own("*") if file.suffix in DATA and file.name != "pyproject.toml"}
    assert len(data) > 10
    assert data - packed == set()


def imported(path: Path) -> set[str]:
    """Return the top-level packages that a file imports."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.add(node.module.partition(".")[0])
    return found


def test_every_import_is_a_declared_dependency() -> None:
    others = set().union(*map(imported, own("*.py"))) - set(sys.stdlib_module_names) - {"simulator"}
    declared = [*PROJECT["project"]["dependencies"], *PROJECT["project"]["optional-dependencies"]["pytest"]]
    names = {line.partition(">=")[0].casefold() for line in declared}
    providers = packages_distributions()
    assert {name for name in others if not names & {found.casefold() for found in providers[name]}} == set()


def test_the_simulator_imports_nothing_of_the_collection_or_its_tests() -> None:
    others = {path.name.removesuffix(".py") for path in SIMULATOR.parent.iterdir()} - {"simulator"}
    found = {path: imported(path) & (others | {"ansible_collections"}) for path in own("*.py")}
    assert {path: names for path, names in found.items() if names} == {}


def test_layers_come_after_those_that_they_need() -> None:
    kinds = [name.removeprefix("simulator.").split(".")[0] for name in families.names()]
    order = list(dict.fromkeys(kinds))
    assert sorted(order) == ["kubernetes_node", "machine", "windows", "wire_provider"]
    assert order.index("machine") < order.index("windows") < order.index("kubernetes_node")
    assert order.index("machine") < order.index("wire_provider")
    assert sum(map(kinds.count, order)) == len(kinds) == len(set(families.names()))


def test_a_machine_runs_without_the_layers_above(tmp_path: Path) -> None:
    program = """
import sys
from pathlib import Path
from simulator.machine import commands, families, layer
from simulator.machine.endpoint import MachineHost
from simulator.machine.machine import Machine
from simulator.machine.settings import MachineSettings

settings = MachineSettings.read({"name": "win-a", "address": "127.0.0.1"})
machine = Machine(settings, Path(sys.argv[1]), families.load(layer.LAYER.modules))
machine.power_on()
commands.run(machine, "New-Item", {"Path": ["C:\\\\made"], "ItemType": "Directory"})
assert machine.files.is_directory("C:\\\\made")
print(sorted(MachineHost(machine).winrm().transports))
machine.power.power_off()
print(sorted({name.split(".")[1] for name in sys.modules if name.startswith("simulator.")}))
"""
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(SIMULATOR.parent), os.environ.get("PYTHONPATH", "")])},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.stdout.splitlines() == ["['HTTP']", "['certificates', 'machine', 'transport']"], done.stderr


def test_another_project_adds_a_layer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    installed = tmp_path / "printers-1.0.dist-info"
    installed.mkdir()
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: printers\nVersion: 1.0\n")
    (installed / "entry_points.txt").write_text("[simulator.layers]\nprinters = printers:LAYER\n")
    monkeypatch.syspath_prepend(tmp_path)
    found = {entry.name: entry.value for entry in families.declared()}
    assert found == {
        "core": "simulator.machine.layer:LAYER",
        "windows": "simulator.windows.layer:LAYER",
        "kubernetes": "simulator.kubernetes_node.layer:LAYER",
        "winkube": "wire_provider:LAYER",
        "printers": "printers:LAYER",
    }
