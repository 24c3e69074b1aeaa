# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Changes of PowerShell files, except in strings and comments."""

from __future__ import annotations

import re

from mutation.mutants import Mutant, make

RULES: tuple[tuple[str, str, str], ...] = (
    ("comparison", r"-c?eq\b", "-ne"),
    ("comparison", r"-c?ne\b", "-eq"),
    ("comparison", r"-lt\b", "-le"),
    ("comparison", r"-le\b", "-lt"),
    ("comparison", r"-gt\b", "-ge"),
    ("comparison", r"-ge\b", "-gt"),
    ("comparison", r"-isnot\b", "-is"),
    ("comparison", r"-is\b", "-isnot"),
    ("comparison", r"-contains\b", "-notcontains"),
    ("comparison", r"-notcontains\b", "-contains"),
    ("and/or", r"-and\b", "-or"),
    ("and/or", r"-or\b", "-and"),
    ("drop not", r"-not\b", ""),
    ("boolean", r"\$true\b", "$false"),
    ("boolean", r"\$false\b", "$true"),
    ("continue/break", r"(?m)^\s*\bcontinue\b", "break"),
    ("continue/break", r"(?m)^\s*\bbreak\b", "continue"),
    ("drop statement", r"(?m)^\s*throw\b.*$", ""),
)
_NUMBER = re.compile(r"(?<![\w.$'\"-])\d+(?![\w.'\"])")
_QUIET = re.compile(r"<#.*?#>|#[^\n]*|'[^'\n]*'|\"[^\"\n]*\"", re.DOTALL)


def find(path: str, text: str) -> list[Mutant]:
    """Return all changes of a PowerShell file.

    Args:
        path: the path of the file in the mutants.
        text: its text.
    """
    quiet = [(at.start(), at.end()) for at in _QUIET.finditer(text)]
    found = [
        make(path, text, at.start(), at.end(), replacement, operator)
        for operator, pattern, replacement in RULES
        for at in re.finditer(pattern, text, re.IGNORECASE)
    ]
    found += [make(path, text, at.start(), at.end(), str(int(at[0]) + 1), "number") for at in _NUMBER.finditer(text)]
    return sorted(one for one in found if not any(start <= one.start < end for start, end in quiet))
