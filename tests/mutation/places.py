# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The place of a line in a Python file: the lines of its statement, and the names by which other code uses it."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Place:
    """The place of a line.

    Attributes:
        lines: the lines of its statement; of a compound statement, only the lines before its first block.
        names: the names that the statement assigns or defines, and the functions and classes around it.
    """

    lines: range
    names: frozenset[str] = frozenset()


def place_of(tree: ast.Module, line: int) -> Place:
    """Return the place of a line.

    Args:
        tree: the file.
        line: the number of the line, from 1.
    """
    return _find(tree.body, line, frozenset(), inside=False) or Place(range(line, line + 1))


def _find(body: Sequence[ast.stmt], line: int, around: frozenset[str], *, inside: bool) -> Place | None:
    for statement in body:
        decorators = getattr(statement, "decorator_list", [])
        start = min([statement.lineno, *(decorator.lineno for decorator in decorators)])
        end = statement.end_lineno or start
        if start <= line <= end:
            is_function = isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef)
            # Code outside of a function does not use the function's variables.
            names = around if inside and not is_function else around | _names(statement)
            inner = list(_bodies(statement))
            if not inner:
                return Place(range(start, end + 1), names)
            first = min(part[0].lineno for part in inner)
            if line < first:
                return Place(range(start, first), names)
            found = (_find(part, line, names, inside=inside or is_function) for part in inner)
            return next((place for place in found if place), Place(range(line, line + 1), names))
    return None


def _bodies(statement: ast.AST) -> Iterator[list[ast.stmt]]:
    """Yield the blocks of a compound statement."""
    for name in ("body", "orelse", "finalbody"):
        if block := getattr(statement, name, None):
            yield block
    for name in ("handlers", "cases"):
        for part in getattr(statement, name, ()):
            yield part.body


def _names(statement: ast.stmt) -> frozenset[str]:
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return frozenset({statement.name})
    targets: list[ast.expr] = []
    if isinstance(statement, ast.Assign):
        targets = statement.targets
    elif isinstance(statement, ast.AnnAssign | ast.AugAssign):
        targets = [statement.target]
    return frozenset(name.id for target in targets for name in ast.walk(target) if isinstance(name, ast.Name))
