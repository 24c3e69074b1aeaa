# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The parts of the simulator import each other in one direction: the order of the table in its README."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import simulator

SIMULATOR = Path(simulator.__file__).resolve().parent
README = (SIMULATOR / "README.md").read_text(encoding="utf-8")
ORDER = [
    name.removesuffix("/").removesuffix(".py")
    for row in re.findall(r"^\| (`.+?`) \|", README.split("## Packages\n")[1].split("\n## ")[0], re.MULTILINE)
    for name in re.findall(r"`([\w./]+)`", row)
]
CERTIFICATE_MAKERS = ("CertificateBuilder", "CertificateSigningRequestBuilder", "generate_private_key")


def files(part: str) -> list[Path]:
    """Return the modules of a part: those of a package, or the one of this name."""
    folder = SIMULATOR / part
    return sorted(folder.rglob("*.py")) if folder.is_dir() else [folder.with_suffix(".py")]


def used(path: Path) -> Iterator[str]:
    """Yield the simulator's modules that a file imports, or names in a string, without the prefix `simulator.`."""
    package = ("simulator", *path.relative_to(SIMULATOR).parts[:-1])
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            start = ".".join((*base, *filter(None, [node.module])))
            names = [f"{start}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            names = re.findall(r"^(simulator\.[\w.]+)(?::\w+)?$", node.value)
        yield from (name.removeprefix("simulator.") for name in names if name.startswith("simulator."))


def test_the_readme_names_every_part() -> None:
    packages = {path.parent.name for path in SIMULATOR.glob("*/__init__.py")}
    modules = {path.stem for path in SIMULATOR.glob("*.py")} - {"__init__"}
    assert sorted(ORDER) == sorted(packages | modules)


@pytest.mark.parametrize("part", ORDER)
def test_a_part_uses_only_parts_below_it(part: str) -> None:
    # A string may also be the name of a group of entry points, which is not a part.
    known = set(ORDER)
    below = set(ORDER[ORDER.index(part) :])
    wrong = [
        f"{path.relative_to(SIMULATOR)} uses simulator.{name}"
        for path in files(part)
        for name in used(path)
        if (top := name.split(".")[0]) in known and top not in below
    ]
    assert wrong == []


def test_nodes_and_the_cluster_meet_on_the_network_only() -> None:
    nodes = {"transport", "machine", "windows", "kubernetes_node"}
    assert {name for path in files("cluster") for name in used(path) if name.split(".")[0] in nodes} == set()
    assert {
        name for part in nodes for path in files(part) for name in used(path) if name.startswith("cluster")
    } == set()


def test_the_check_sees_every_kind_of_import(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "SIMULATOR", tmp_path)
    source = tmp_path / "machine" / "core" / "items.py"
    source.parent.mkdir(parents=True)
    source.write_text(
        "import simulator.fleet\n"
        "from simulator import world\n"
        "from ..files import FileSystem\n"
        "def later():\n    from simulator.windows.wmi.cim import query\n"
        'LAYER = ("simulator.kubernetes_node.layer:LAYER", "see simulator.control for more")\n'
    )
    found = ["fleet", "world", "machine.files.FileSystem", "windows.wmi.cim.query", "kubernetes_node.layer"]
    assert sorted(used(source)) == sorted(found)


def test_the_simulator_does_not_name_the_collection() -> None:
    licence = "# Copyright: (c) 2026, winkube.node contributors"
    paths = [path for path in SIMULATOR.rglob("*") if path.is_file() and path.suffix != ".pyc"]
    named = [
        f"{path.relative_to(SIMULATOR)}:{number}"
        for path in paths
        if path.relative_to(SIMULATOR).parts[0] != "build"
        for number, line in enumerate(path.read_bytes().decode("utf-8", "replace").splitlines(), 1)
        if "winkube" in line.casefold() and line != licence
    ]
    assert len(paths) > 400
    assert named == []


def test_certificates_are_made_by_one_module() -> None:
    makers = {
        path.relative_to(SIMULATOR).as_posix()
        for part in ORDER
        for path in files(part)
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute) and node.attr in CERTIFICATE_MAKERS
    }
    assert makers == {"certificates.py"}


def test_the_readmes_have_at_most_120_columns() -> None:
    """Rows of tables may be longer."""
    long = [
        f"{path.relative_to(SIMULATOR)}:{number}"
        for path in SIMULATOR.rglob("*.md")
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if len(line) > 120 and not line.startswith("|")
    ]
    assert long == []
