# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Names in plugins and tests: one name per class, and names that a reader would search for."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

PLUGINS = Path(__file__).parents[2] / "plugins"
ROLES = PLUGINS.parent / "roles"
TESTS = PLUGINS.parent / "tests"
SIMULATOR = TESTS / "simulator"
RIDDLES = frozenset(
    "aside found held look looks passing patience pushes room said tell teller told wanted weaving wish words".split()  # noqa: SIM905
)
"""Names that do not describe anything; `_look` and `Look` count, too."""
ANSIBLE = frozenset({"ActionModule", "FilterModule", "LookupModule", "CallbackModule", "ModuleDocFragment"})
"""Names by which Ansible loads plugins."""
SAME_CONCEPT = {
    "ApiError": "an error of the API server, as a client sees it",
    "ContainerdConfig": "the settings of containerd",
    "ImageReference": "a parsed reference to a container image",
    "Namespace": "HNS' network namespace",
    "PageFile": "Windows' page file",
    "PolicyList": "HNS' policy list",
    "Registry": "Windows' registry",
    "RegistryClient": "a client that reads container images from a registry",
    "RegistryEndpoint": "the registry or the mirror that a client asks for container images",
    "Service": "a Windows service",
    "StoredImage": "a container image in a runtime's store",
    "WindowsVersion": "a version of Windows Server",
}
"""The class names that the collection and the simulator share, with their common meaning."""


def definitions(tree: ast.AST) -> Iterator[str]:
    """Yield the names of classes, functions and fields, and those assigned in modules and classes."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node.name
        for child in node.body if isinstance(node, (ast.Module, ast.ClassDef)) else ():
            targets = child.targets if isinstance(child, ast.Assign) else [getattr(child, "target", None)]
            yield from (target.id for target in targets if isinstance(target, ast.Name))


def variables(tree: ast.AST) -> Iterator[str]:
    """Yield the names of arguments and of whatever is assigned, by whichever statement."""
    for node in ast.walk(tree):
        match node:
            case ast.arg(arg=name) | ast.Name(id=name, ctx=ast.Store()):
                yield name
            case ast.alias(asname=str(name)) | ast.ExceptHandler(name=str(name)):
                yield name
            case ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)) | ast.MatchMapping(rest=str(name)):
                yield name


def options(document: object) -> Iterator[str]:
    """Yield the names of the options in a plugin's documentation or a role's argument specification."""
    if isinstance(document, list):
        document = dict(enumerate(document))
    if isinstance(document, dict):
        for key, value in document.items():
            if key in ("options", "suboptions") and isinstance(value, dict):
                yield from map(str, value)
            yield from options(value)


def riddles(names: Iterator[str]) -> list[str]:
    """Return the names that do not describe anything."""
    return [name for name in names if name.strip("_").lower() in RIDDLES]


def trees(folder: Path = PLUGINS) -> Iterator[tuple[Path, ast.Module]]:
    """Yield all Python files of a folder."""
    for path in sorted(folder.rglob("*.py")):
        yield path.relative_to(folder), ast.parse(path.read_text(encoding="utf-8"))


def classes(folder: Path) -> Counter[str]:
    """Count the classes of each name in a folder, nested ones included."""
    return Counter(
        node.name for dummy, tree in trees(folder) for node in ast.walk(tree) if isinstance(node, ast.ClassDef)
    )


@pytest.mark.parametrize("folder", [PLUGINS, SIMULATOR], ids=lambda folder: folder.name)
def test_every_class_has_its_own_name(folder: Path) -> None:
    names = classes(folder)
    assert len(names) > 100
    assert [name for name, count in names.items() if count > 1 and name not in ANSIBLE] == []


def test_the_collection_and_the_simulator_share_only_names_of_the_same_concept() -> None:
    shared = classes(PLUGINS).keys() & classes(SIMULATOR).keys()
    assert sorted(shared) == sorted(SAME_CONCEPT)


def test_a_nested_class_counts_as_a_class(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("class A:\n  class B: ...\ndef f():\n  class A: ...\n", encoding="utf-8")
    assert classes(tmp_path) == {"A": 2, "B": 1}


@pytest.mark.parametrize("folder", [PLUGINS, TESTS], ids=lambda folder: folder.name)
def test_names_in_python_describe_something(folder: Path) -> None:
    wrong = [
        f"{path}: {name}" for path, tree in trees(folder) for name in riddles(iter((path.stem, *definitions(tree))))
    ]
    assert wrong == []


def test_names_of_variables_describe_something() -> None:
    assert [f"{path}: {name}" for path, tree in trees() for name in riddles(variables(tree))] == []


def test_names_of_options_describe_something() -> None:
    files = [*PLUGINS.rglob("*.yml"), *ROLES.glob("*/meta/argument_specs.yml")]
    documents = [(path, yaml.safe_load(path.read_text(encoding="utf-8"))) for path in files]
    for path, tree in trees():
        if path.parts[0] in ("modules", "doc_fragments"):
            documents += [
                (PLUGINS / path, yaml.safe_load(node.value.value))
                for node in ast.walk(tree)
                if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
                if isinstance(node.targets[0], ast.Name) and node.targets[0].id == "DOCUMENTATION"
            ]
    assert len(documents) > 50
    assert [f"{path.name}: {name}" for path, document in documents for name in riddles(options(document))] == []


@pytest.mark.parametrize(
    "text", ["class Wish: ...", "def _look(): ...", "class A:\n  room: int", "_WORDS = 1", "async def told(): ..."]
)
def test_a_riddle_is_found(text: str) -> None:
    assert len(riddles(definitions(ast.parse(text)))) == 1


@pytest.mark.parametrize(
    "text",
    [
        "def f(wish): ...",
        "def f(*, told=1): ...",
        "lambda *words: 1",
        "def f():\n  found = 1",
        "for look in x: ...",
        "[1 for _said in x]",
        "with x as held: ...",
        "(aside := 1)",
        "from x import y as patience",
        "try: ...\nexcept E as passing: ...",
        "match x:\n  case [*room]: ...",
    ],
)
def test_a_riddle_among_variables_is_found(text: str) -> None:
    assert len(riddles(variables(ast.parse(text)))) == 1


def test_a_riddle_among_options_is_found() -> None:
    specification = {"options": {"a": {"options": {"found": {}}}, "held_items": {}}}
    assert riddles(options(specification)) == ["found"]
    assert riddles(options([specification])) == ["found"]
