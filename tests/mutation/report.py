# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The output of a mutation run. A mutant is killed if a test fails or does not end, but passes without the mutant."""

from __future__ import annotations

from collections.abc import Mapping

from mutation.mutants import Mutant
from mutation.running import Outcome


class Report:
    """Prints mutants as they are tried, and at the end how many were killed.

    Args:
        texts: the texts of the files, by path.

    Attributes:
        counted: area, mutant and outcome of each mutant that was tried.
    """

    def __init__(self, texts: Mapping[str, str]) -> None:
        self._texts = texts
        self.counted: list[tuple[str, Mutant, Outcome]] = []

    def say(self, line: str) -> None:
        """Print a line immediately, even if the output is a file."""
        print(line, flush=True)

    def show(self, mutant: Mutant, remark: str) -> None:
        """Print a mutant: file, line, change."""
        self.say(f"{mutant.path}:{mutant.line}: {mutant.describe(self._texts[mutant.path])} [{remark}]")

    def count(self, area: str, mutant: Mutant, outcome: Outcome) -> None:
        """Count the outcome of a mutant."""
        self.counted.append((area, mutant, outcome))

    def close(self) -> None:
        """Print the mutants that no test killed, and the counts of each area and of all."""
        for outcome in Outcome:
            found = [mutant for _area, mutant, its in self.counted if its is outcome]
            if found and outcome not in (Outcome.KILLED, Outcome.TIMEOUT):
                self.say(f"\n{outcome.value[0].upper()}{outcome.value[1:]}:")
                for mutant in found:
                    self.show(mutant, outcome.value)
        self.say("")
        for area in dict.fromkeys(area for area, _mutant, _outcome in self.counted):
            self.say(f"{area}: {self._count([outcome for name, _, outcome in self.counted if name == area])}")
        self.say(self._count([outcome for _area, _mutant, outcome in self.counted]))

    @staticmethod
    def _count(outcomes: list[Outcome]) -> str:
        broken, late = outcomes.count(Outcome.BROKEN), outcomes.count(Outcome.TIMEOUT)
        killed = outcomes.count(Outcome.KILLED) + late
        share = f" ({100 * killed / len(outcomes):.0f} %)" if outcomes else ""
        by_limit = f", {late} of them by the time limit" if late else ""
        # These mutants are neither killed nor survivors, because their tests did not run to the end.
        return f"mutants {len(outcomes)}, killed {killed}{share}{by_limit}{f', not run {broken}' if broken else ''}"
