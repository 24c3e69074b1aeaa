# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The demo: its addresses, its folder, its figures, and its requirements."""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from demo import outcome, place
from demo.controller import ROOT, Counted, Ran
from simulator.fleet import read_fleet

# Modules with the names of their packages, if those differ.
MODULES = {
    "ansible-core": "ansible",
    "cyclonedx-python-lib": "cyclonedx",
    "pyspnego": "spnego",
    "pywinrm": "winrm",
    "requests-ntlm": "requests_ntlm",
}
# Dependencies of these packages, and what only the simulator's pytest plugins import.
BROUGHT = {"yaml", "jinja2", "ansible_collections", "urllib3", "pytest", "dateutil", "packageurl"}


def test_each_demo_has_addresses_of_its_own(tmp_path: Path) -> None:
    taken = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        taken.append(place.take(tmp_path / name))
    assert taken[0].network != taken[1].network
    for here in taken:
        fleet = read_fleet(here.fleet)
        assert {node.address.rpartition(".")[0] for node in fleet.nodes} == {here.network}
        addresses = set(re.findall(r"127\.\d+\.\d+(?=\.\d+)", here.inventory.read_text(encoding="utf-8")))
        assert addresses == {here.network}
        assert yaml.safe_load(here.inventory.read_text(encoding="utf-8"))


def test_a_second_demo_of_a_checkout_reports_the_first_one(tmp_path: Path) -> None:
    build = tmp_path / "build" / "demo"
    busy = pytest.raises(place.BusyError, match=r"another demo .* writes to .*build/demo")
    with place.alone(build), busy, place.alone(build):
        pass
    with place.alone(build):
        pass


def ran(name: str, seconds: float, *tasks: dict[str, Any]) -> Ran:
    full = [
        {"name": "t", "status": "ok", "seconds": 1.5, "changed": bool(task.get("changes")), "remote_commands": 1,
         "rebooted": False, "message": "", "changes": [], **task}
        for task in tasks
    ]  # fmt: skip
    report = {"playbook": "site.yml", "seconds": seconds, "nodes": {"win": full}}
    counted = {"WIN": Counted(commands=len(tasks), requests=9, bytes_sent=9)}
    return Ran(name=name, status=0, seconds=seconds + 1, report=report, nodes=counted)


def test_the_table_has_the_figures_of_the_pages_below_it(tmp_path: Path) -> None:
    change = {"type": "File", "name": "x", "action": "create", "why": "y"}
    runs = {
        "first": ran("first", 99.5, {"changes": [change] * 3}, {"changed": True}),
        "second": ran("second", 62.2, {}),
        "plan": ran("plan", 5.0, {"changes": [change]}),
    }
    same = {"name": "win", "key": "WIN", "os": "2022", "ready": True, "version": "v2"}
    node = outcome.NodeOutcome(**same, joined_version="v2", runs=runs)
    upgraded = outcome.NodeOutcome(**same, joined_version="v1", runs={**runs, "upgrade": ran("upgrade", 8.0, {}, {})})
    assert outcome.rows([node]) == [("win (2022)", "v2", "yes", "4 / 0 / 1", "2 / 1 / 1", "3.0 / 1.5 / 1.5")]
    assert outcome.rows([upgraded, node]) == [
        ("win (2022)", "v1 -> v2", "yes", "4 / 0 / 1 / 0", "2 / 1 / 1 / 2", "3.0 / 1.5 / 1.5 / 3.0"),
        ("win (2022)", "v2", "yes", "4 / 0 / 1 / -", "2 / 1 / 1 / -", "3.0 / 1.5 / 1.5 / -"),
    ]
    image = {"generalized": True, "started_as_new_machine": True, "ready": True}
    outcome.write(tmp_path, [node], image, list(runs.values()))
    page = " ".join((tmp_path / "report.html").read_text(encoding="utf-8").split())
    assert '4 changes</span> <span class="soft">&middot; 2 remote commands &middot; 3.0 s' in page


def imported(folder: Path) -> set[str]:
    """Return the packages that the Python files in a folder import."""
    found: set[str] = set()
    for path in folder.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                found |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and not node.level:
                found.add(str(node.module).partition(".")[0])
    return found


def required(name: str) -> set[str]:
    """Return the modules of a requirements file and of the files that it includes."""
    found: set[str] = set()
    for line in (ROOT / name).read_text(encoding="utf-8").splitlines():
        if line.startswith("-r "):
            found |= required(line.split()[1])
        elif line and not line.startswith("#"):
            package = re.split(r"[<>=~]", line)[0]
            found.add(MODULES.get(package, package))
    return found


def test_the_demo_installs_what_it_imports_and_nothing_for_tests() -> None:
    own = {"simulator", "demo", "integration", *sys.stdlib_module_names}
    needed = set().union(*(imported(ROOT / folder) for folder in ("plugins", "tests/simulator", "tests/demo"))) - own
    assert needed - required("requirements-demo.txt") <= BROUGHT
    assert required("requirements-demo.txt").isdisjoint({"pytest", "molecule", "hypothesis", "mypy", "ruff"})
    assert required("requirements.txt") < required("requirements-demo.txt") < required("requirements-test.txt")


def test_the_demo_prints_its_duration() -> None:
    script = (ROOT / "tests" / "demo" / "__main__.py").read_text(encoding="utf-8")
    (minutes,) = re.findall(r"^MINUTES = (\d+)$", script, re.MULTILINE)
    assert minutes == "2"
    assert "demo takes about two minutes" in " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
