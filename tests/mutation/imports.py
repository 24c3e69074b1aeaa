# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The imports between Python files, and the names that the files mention."""

from __future__ import annotations

import ast
import functools
import re
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath

COLLECTION = "ansible_collections.winkube.node"
_BLANK = re.compile(r"\s")
_WORD = re.compile(r"[\w-]+(?:\.yml)?")


@dataclass(frozen=True)
class Module:
    """The references of a Python file to other files.

    Attributes:
        imports: the dotted names that it imports.
        mentioned_words: the words in its strings without whitespace, which include names of roles and playbooks.
    """

    imports: frozenset[str]
    mentioned_words: frozenset[str]


@functools.cache
def dotted(path: str) -> str:
    """Return the name by which a Python file is imported.

    Args:
        path: the file, relative to the root of the checkout.
    """
    parts = list(PurePosixPath(path).with_suffix("").parts)
    if parts[0] == "tests":
        del parts[0]
    else:
        parts = [*COLLECTION.split("."), *parts]
    if parts[-1] == "__init__":
        del parts[-1]
    return ".".join(parts)


def read(path: str, text: str) -> Module:
    """Return the references of a Python file to other files.

    Args:
        path: the file, relative to the root of the checkout.
        text: its text.
    """
    name = dotted(path)
    package = name if path.endswith("/__init__.py") else name.rpartition(".")[0]
    imports: set[str] = set()
    words: set[str] = set()
    for node in ast.walk(ast.parse(text)):
        imports.update(_imported(node, package))
        # Strings with whitespace are messages.
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and not _BLANK.search(node.value):
            words.update(_WORD.findall(node.value))
    return Module(frozenset(imports), frozenset(words))


def _imported(node: ast.AST, package: str) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        base = node.module or ""
        if node.level:
            parts = package.split(".")
            base = ".".join([*parts[: len(parts) - node.level + 1], *([base] if base else [])])
        yield base
        yield from (f"{base}.{alias.name}" for alias in node.names)


def distances(start: str, modules: Mapping[str, Module], also: Iterable[str] = ()) -> dict[str, int]:
    """Return the number of imports between a file and each file that it reaches; 0 for the file itself.

    Args:
        start: the first file.
        modules: every Python file of the checkout, by path.
        also: files that are imported with the first one, such as its conftest.py.
    """
    paths = {dotted(path): path for path in modules}
    found = {start: 0}
    found.update(dict.fromkeys(also, 1))
    waiting = deque(found)
    while waiting:
        path = waiting.popleft()
        for name in modules[path].imports:
            imported = paths.get(name)
            if imported is not None and imported not in found:
                found[imported] = found[path] + 1
                waiting.append(imported)
    return found
