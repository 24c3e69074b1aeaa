# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Changes of Jinja templates of roles: their expressions, and each line without a statement."""

from __future__ import annotations

import re

from mutation import jinja_mutants
from mutation.mutants import Mutant, make

_STATEMENT = re.compile(r"\{%|%\}|\{#|#\}")


def find(path: str, text: str) -> list[Mutant]:
    """Return all changes of a template.

    Args:
        path: the path of the file in the mutants.
        text: its text.
    """
    found = list(jinja_mutants.of_template(path, text, 0, len(text)))
    start = 0
    for line in text.splitlines(keepends=True):
        # The line may begin a quotation or a structure. Tests notice a result that can no longer be parsed.
        if line.strip() and not _STATEMENT.search(line) and not line.lstrip().startswith("#"):
            found.append(make(path, text, start, start + len(line), "", "drop line"))
        start += len(line)
    return sorted(found)
