# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Choose the mutants to try: those on changed lines, or on a random sample of lines.

The sample contains one mutant for each line, so that a table of fifty names does not outweigh the rule that reads it.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from mutation import sources, workplace
from mutation.mutants import Mutant

_FILE = re.compile(r"^\+\+\+ b/(.*)$")
_HUNK = re.compile(r"^@@ -\S+ \+(\d+)(?:,(\d+))? @@")


def changed_lines(diff: str) -> dict[str, set[int]]:
    """Return the new or changed lines of each file.

    Args:
        diff: the output of `git diff --unified=0` with the prefixes a/ and b/.
    """
    lines: dict[str, set[int]] = {}
    path = ""
    for line in diff.splitlines():
        if found := _FILE.match(line):
            path = found[1]
        elif line.startswith("+++"):
            path = ""  # deleted
        elif path and (found := _HUNK.match(line)):
            first, count = int(found[1]), int(found[2] or 1)
            lines.setdefault(path, set()).update(range(first, first + count))
    return {path: numbers for path, numbers in lines.items() if numbers}


def changed_since(root: Path, revision: str) -> dict[str, set[int]]:
    """Return the lines of each file that differ from a revision, and all lines of untracked files.

    Args:
        root: the checkout.
        revision: a revision in any form that git accepts.
    """
    # A user's settings may turn the prefixes off, or run another program.
    options = ["--unified=0", "--no-color", "--no-ext-diff", "--src-prefix=a/", "--dst-prefix=b/"]
    lines = changed_lines(workplace.git(root, "diff", *options, revision, "--"))
    for path in workplace.git(root, "ls-files", "-z", "--others", "--exclude-standard").split("\0"):
        if path.endswith(sources.SUFFIXES):
            count = (root / path).read_text(encoding="utf-8").count("\n") + 1
            lines[path] = set(range(1, count + 1))
    return lines


def choose(
    texts: Mapping[str, str],
    seed: int,
    count: int | None = None,
    lines: Mapping[str, Iterable[int]] | None = None,
) -> list[Mutant]:
    """Return the mutants to try, in an order that depends only on the arguments.

    Args:
        texts: the text of each file that may be changed.
        seed: the seed of the sample.
        count: the number of lines, with one mutant for each; None: every mutant of every line.
        lines: the lines of each file that may be changed; None: all lines.
    """
    places = [
        (path, line)
        for path in sorted(texts)
        for line in range(1, texts[path].count("\n") + 2)
        if lines is None or line in lines.get(path, ())
    ]
    chance = random.Random(seed)
    if count is not None:
        chance.shuffle(places)
    mutants_of = _by_line(texts)
    chosen: list[Mutant] = []
    for path, line in places:
        if count is not None and len(chosen) >= count:
            break
        candidates = mutants_of(path).get(line, [])
        if count is not None:
            candidates = _shuffled(candidates, chance)
        usable = (one for one in candidates if sources.differs(one, texts[path]))
        chosen += list(usable) if count is None else [one for one in [next(usable, None)] if one]
    return chosen


def _by_line(texts: Mapping[str, str]) -> Callable[[str], dict[int, list[Mutant]]]:
    known: dict[str, dict[int, list[Mutant]]] = {}

    def mutants_of(path: str) -> dict[int, list[Mutant]]:
        if path not in known:
            found = known[path] = {}
            for mutant in sources.find(path, texts[path]):
                found.setdefault(mutant.line, []).append(mutant)
        return known[path]

    return mutants_of


def _shuffled(candidates: list[Mutant], chance: random.Random) -> list[Mutant]:
    """Return the mutants of one line, so that each kind of change is equally likely to come first."""
    operators = sorted({one.operator for one in candidates})
    chance.shuffle(operators)
    mixed = candidates.copy()
    chance.shuffle(mixed)
    return sorted(mixed, key=lambda one: operators.index(one.operator))
