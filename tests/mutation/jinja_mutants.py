# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Changes of Jinja expressions, in YAML files and in templates."""

from __future__ import annotations

import re
from collections.abc import Iterator

from mutation.mutants import Mutant, make

RULES: tuple[tuple[str, str, str], ...] = (
    ("comparison", r"==", "!="),
    ("comparison", r"!=", "=="),
    ("comparison", r"<=", "<"),
    ("comparison", r">=", ">"),
    ("comparison", r"(?<![<>=!-])<(?![=<])", "<="),
    ("comparison", r"(?<![<>=!-])>(?![=>])", ">="),
    ("comparison", r"\bnot\s+in\b", "in"),
    ("comparison", r"\bis\s+not\b", "is"),
    ("comparison", r"\bis\b(?!\s+not\b)", "is not"),
    ("and/or", r"\band\b", "or"),
    ("and/or", r"\bor\b", "and"),
    ("drop not", r"(?<!is )\bnot\b(?!\s+in\b)\s*", ""),
    ("negate", r"(?<=\bif )(?!not\b)", "not "),
    ("boolean", r"\btrue\b", "false"),
    ("boolean", r"\bfalse\b", "true"),
    ("drop default", r"\|\s*default\((?:[^()'\"]|'[^']*')*\)", ""),
    ("drop filter", r"\|\s*(?!default\b)[\w.]+(?:\((?:[^()'\"]|'[^']*'|\([^()]*\))*\))?", ""),
)
_NUMBER = re.compile(r"(?<![\w.'])\d+(?![\w.'])")
_TEXT = re.compile(r"'([^'\s{}|]*)'")
_CODE = re.compile(r"\{\{.*?\}\}|\{%.*?%\}", re.DOTALL)
_QUOTED = re.compile(r"'[^'\n]*'|\"[^\"\n]*\"")


def of_template(path: str, text: str, start: int, end: int) -> Iterator[Mutant]:
    """Yield the mutants of the Jinja expressions (`{{ }}` and `{% %}`) in a part of a text.

    Args:
        path: the path of the file in the mutants.
        text: the text of the file.
        start: where the part begins.
        end: where it ends.
    """
    for code in _CODE.finditer(text, start, end):
        yield from of_expression(path, text, code.start() + 2, code.end() - 2)


def of_expression(path: str, text: str, start: int, end: int) -> Iterator[Mutant]:
    """Yield the changes of an expression, which is a part of a text.

    Args:
        path: the path of the file in the mutants.
        text: the text of the file.
        start: where the expression begins.
        end: where it ends.
    """
    part = text[start:end]
    # Quoted text is not code, unless the whole expression is quoted for YAML.
    quoted = [(at.start(), at.end()) for at in _QUOTED.finditer(part) if at.end() - at.start() < len(part)]

    def in_quotes(position: int) -> bool:
        return any(begin < position < stop for begin, stop in quoted)

    for operator, pattern, replacement in RULES:
        for at in re.finditer(pattern, part):
            if not in_quotes(at.start()):
                yield make(path, text, start + at.start(), start + at.end(), replacement, operator)
    for at in _NUMBER.finditer(part):
        if not in_quotes(at.start()):
            yield make(path, text, start + at.start(), start + at.end(), str(int(at[0]) + 1), "number")
    for at in _TEXT.finditer(part):
        yield make(path, text, start + at.start(), start + at.end(), f"'{at[1]}mutated'", "text")
