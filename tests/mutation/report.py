# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What a mutation run prints."""

from __future__ import annotations

from collections.abc import Mapping

from mutation.mutants import Mutant
from mutation.running import Outcome


class Report:
    """Prints mutants as they are tried, and at the end how many were killed.

    Args:
        texts: the texts of the files, by path.
    """

    def __init__(self, texts: Mapping[str, str]) -> None:
        self._texts = texts
        self._outcomes: list[tuple[str, Mutant, Outcome]] = []

    def say(self, line: str) -> None:
        """Print a line at once, also into a file."""
        print(line, flush=True)

    def show(self, mutant: Mutant, remark: str) -> None:
        """Print a mutant: file, line, change."""
        self.say(f"{mutant.path}:{mutant.line}: {mutant.describe(self._texts[mutant.path])} [{remark}]")

    def count(self, area: str, mutant: Mutant, outcome: Outcome) -> None:
        """Count what became of a mutant."""
        self._outcomes.append((area, mutant, outcome))

    def close(self) -> None:
        """Print the survivors, and the counts of each area and of all."""
        survivors = [(mutant, outcome) for _area, mutant, outcome in self._outcomes if not outcome.is_killed]
        if survivors:
            self.say("\nSurvivors:")
        for mutant, outcome in survivors:
            self.show(mutant, outcome.value)
        self.say("")
        for area in dict.fromkeys(area for area, _mutant, _outcome in self._outcomes):
            self.say(f"{area}: {self._count([outcome for name, _, outcome in self._outcomes if name == area])}")
        self.say(self._count([outcome for _area, _mutant, outcome in self._outcomes]))

    @staticmethod
    def _count(outcomes: list[Outcome]) -> str:
        killed = sum(outcome.is_killed for outcome in outcomes)
        share = f" ({100 * killed / len(outcomes):.0f} %)" if outcomes else ""
        return f"mutants {len(outcomes)}, killed {killed}{share}"
