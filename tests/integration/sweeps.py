# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Sweeps: tests that inject a fault at every point of a run, one at a time, and check that the node converges.

A full sweep takes minutes, so `make test` runs a sample of its points and `make sweeps` runs all of them:

    pytestmark = [pytest.mark.sweep, ...]

    def test_every_cut_is_survived(sweep: Sweeps) -> None:
        points = sweep.choose("patches", all_points, 12, by=lambda point: point.kind)
        failures = [...]
        sweep.report("patches", injected=len(points), converged=len(points) - len(failures))

The sample depends only on a seed and on the name of the sweep. The seed is printed with the result. The same seed
always selects the same points. Environment variables:

* WINKUBE_SWEEPS=full: all points.
* WINKUBE_SWEEP_SEED: a number, or `random` for a new one in each run; 1 if unset, so that CI is reproducible.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Hashable, MutableMapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from tallies import Tally

MODE, SEED = "WINKUBE_SWEEPS", "WINKUBE_SWEEP_SEED"
Point = TypeVar("Point")


def is_full() -> bool:
    """Return whether sweeps inject faults at all of their points.

    Raises:
        ValueError: WINKUBE_SWEEPS is neither empty nor `full`.
    """
    mode = os.environ.get(MODE, "")
    if mode not in ("", "full"):
        raise ValueError(f"{MODE}: expected full, or nothing for a sample, got {mode!r}")
    return mode == "full"


def fix_seed(environment: MutableMapping[str, str]) -> None:
    """Replace the seed `random` by a number, before processes start that need the same seed."""
    if environment.get(SEED) == "random":
        environment[SEED] = str(random.SystemRandom().randrange(1_000_000))


def seed() -> int:
    """Return the seed of this run."""
    return int(os.environ.get(SEED) or 1)


def choose(
    name: str, points: Sequence[Point], count: int, *, by: Callable[[Point], Hashable] = lambda _: None
) -> list[Point]:
    """Choose the points of a sweep that this run injects faults at.

    Args:
        name: The name of the sweep; different sweeps choose independently with the same seed.
        points: All points, in order.
        count: How many points a sample has, unless there are fewer.
        by: The kind of a point. Every kind gets an equal share of the sample, and at least one point, so a sample
            may have more than `count` points.

    Returns:
        All points in a full sweep, else a sample; in the given order.
    """
    if is_full() or count >= len(points):
        return list(points)
    kinds: dict[Hashable, list[int]] = {}
    for index, point in enumerate(points):
        kinds.setdefault(by(point), []).append(index)
    # Seeds that are text give the same numbers in every process, unlike the hash of a tuple.
    generator = random.Random(f"{seed()} {name}")
    chosen: list[int] = []
    # The smallest kind comes first, so that the others share the points that it lacks.
    for left, indexes in zip(range(len(kinds), 0, -1), sorted(kinds.values(), key=len), strict=True):
        share = max(1, (count - len(chosen)) // left)
        chosen += generator.sample(indexes, min(share, len(indexes)))
    return [points[index] for index in sorted(chosen)]


@dataclass
class Sweeps:
    """The interface of a sweep test, from the fixture `sweep`."""

    record: Callable[[str, object], None]
    """Adds a property of the test to pytest's report."""
    say: Callable[[str], None]
    """Prints a line even while pytest captures output."""
    _possible: dict[str, int] = field(default_factory=dict)

    def choose(
        self, name: str, points: Sequence[Point], count: int, *, by: Callable[[Point], Hashable] = lambda _: None
    ) -> list[Point]:
        """Choose the points of this run; see the function `choose`."""
        self._possible[name] = len(points)
        return choose(name, points, count, by=by)

    def report(self, name: str, *, injected: int, converged: int) -> None:
        """Print how many faults a sweep injected and how many nodes converged, and add them to the summary.

        Args:
            name: The name with which the points were chosen.
            injected: How many faults were injected.
            converged: After how many of them the node reached the expected state.
        """
        possible = max(self._possible.get(name, 0), injected)
        self.record(TALLY.property, [name, injected, converged, possible])
        self.say(describe(name, injected, converged, possible))


def describe(name: str, injected: int, converged: int, possible: int) -> str:
    """Return one line about a sweep."""
    if injected >= possible:
        about = ""
    elif is_full():
        # The number of polls depends on the load, so a run may have fewer requests than the counted one.
        about = f" ({possible - injected} of {possible} points were not reached)"
    else:
        about = f" (a sample of {possible}, {SEED}={seed()})"
    return f"{name}: faults injected {injected}, converged {converged}{about}"


TALLY = Tally(
    "sweep",
    describe,
    "sweeps",
    {"join, upgrade and reset": ("site.yml", "kubeadm_join", "upgrade_nodes.yml", "node_reset")},
)
"""Sums up the sweeps at the end of a test run, those over the life of a node on a line of their own."""
