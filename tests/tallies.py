# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Counts that tests print at the end of a run: injected faults, recorded answers that agree.

A test hands its counts to pytest with `record_property(TALLY.property, [name, *counts])`, which also works in a worker
of xdist. tests/conftest.py prints the lines of every tally.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Tally:
    """One kind of counts.

    Attributes:
        property: the name of the pytest property in which a test hands over `[name, *counts]`.
        describe: returns one line for a name and its counts.
        total: the name for the line of all together.
        sums: further sums: the names that belong to each. A sum needs at least two of its names.
    """

    property: str
    describe: Callable[..., str]
    total: str
    sums: Mapping[str, Collection[str]] = field(default_factory=dict)

    def lines(self, reports: Sequence[Any]) -> list[str]:
        """Return one line for each name, one for each sum, and one for all names together if there are several.

        Args:
            reports: the reports of pytest, of all its workers. Names that differ only behind a colon count as one.
        """
        counts: dict[str, list[int]] = {}
        for report in reports:
            for key, value in getattr(report, "user_properties", ()):
                if key == self.property and report.when == "call":
                    name = str(value[0]).partition(":")[0]
                    before = counts.get(name, [0] * len(value[1:]))
                    counts[name] = [old + new for old, new in zip(before, value[1:], strict=True)]
        lines = [self.describe(name, *found) for name, found in sorted(counts.items())]
        for total, names in [*self.sums.items(), (self.total, counts)]:
            found = [counts[name] for name in names if name in counts]
            if len(found) > 1:
                lines.append(self.describe(total, *map(sum, zip(*found, strict=True))))
        return lines
