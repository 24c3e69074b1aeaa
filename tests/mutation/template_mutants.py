# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Changes of Jinja templates of roles: their expressions, and each line that holds no statement."""

from __future__ import annotations

import re

from mutation import jinja_mutants
from mutation.mutants import Mutant, make

_STATEMENT = re.compile(r"\{%|%\}|\{#|#\}")


def find(path: str, text: str) -> list[Mutant]:
    """Return all changes of a template.

    Args:
        path: the file, as the mutants name it.
        text: its text.
    """
    found = list(jinja_mutants.of_template(path, text, 0, len(text)))
    start = 0
    for line in text.splitlines(keepends=True):
        # A line may open a quotation or a structure: the tests notice what no longer parses.
        if line.strip() and not _STATEMENT.search(line) and not line.lstrip().startswith("#"):
            found.append(make(path, text, start, start + len(line), "", "drop line"))
        start += len(line)
    return sorted(found)
