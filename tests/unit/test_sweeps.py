# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""How sweeps choose their points, and what they report."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest
from integration import sweeps

POINTS = [(kind, number) for number in range(50) for kind in ("before", "after")] + [("power", 7)]


@pytest.fixture(autouse=True)
def unset(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(sweeps.MODE, raising=False)
    monkeypatch.delenv(sweeps.SEED, raising=False)


def choose(name: str = "one", count: int = 9) -> list[tuple[str, int]]:
    return sweeps.choose(name, POINTS, count, by=lambda point: point[0])


def test_a_sample_is_the_same_for_the_same_seed_and_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    first = choose()
    assert (len(first), first) == (9, sorted(first, key=POINTS.index))
    assert choose() == first
    assert choose("another") != first
    monkeypatch.setenv(sweeps.SEED, "2")
    assert choose() != first


@pytest.mark.parametrize("count", [1, 3, 9, 60])
def test_a_sample_has_points_of_every_kind(count: int) -> None:
    found = choose(count=count)
    assert len(found) == max(count, 3)
    assert {kind for kind, _ in found} == {"before", "after", "power"}


def test_a_full_sweep_has_all_points(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(sweeps.MODE, "full")
    assert choose() == POINTS
    monkeypatch.setenv(sweeps.MODE, "all")
    with pytest.raises(ValueError, match="WINKUBE_SWEEPS: expected full"):
        choose()


def test_a_random_seed_is_drawn_once(monkeypatch: pytest.MonkeyPatch) -> None:
    environment = {sweeps.SEED: "random"}
    sweeps.fix_seed(environment)
    assert environment[sweeps.SEED].isdigit()
    before = dict(environment)
    sweeps.fix_seed(environment)
    assert environment == before


def test_the_result_contains_the_seed_to_repeat_it(monkeypatch: pytest.MonkeyPatch) -> None:
    recorded: list[tuple[str, object]] = []
    messages: list[str] = []
    sweep = sweeps.Sweeps(lambda name, value: recorded.append((name, value)), messages.append)
    chosen = sweep.choose("pull: psrp", range(100), 10)
    sweep.report("pull: psrp", injected=len(chosen), converged=9)
    assert messages == ["pull: psrp: faults injected 10, converged 9 (a sample of 100, WINKUBE_SWEEP_SEED=1)"]
    sweep.report("push", injected=4, converged=4)
    reports = [
        SimpleNamespace(when="call", user_properties=recorded),
        SimpleNamespace(when="teardown", user_properties=recorded),
        SimpleNamespace(when="call", user_properties=[("sweep", ["pull: winrm", 5, 5, 5])]),
    ]
    assert sweeps.TALLY.lines(reports) == [
        "pull: faults injected 15, converged 14 (a sample of 105, WINKUBE_SWEEP_SEED=1)",
        "push: faults injected 4, converged 4",
        "sweeps: faults injected 19, converged 18 (a sample of 109, WINKUBE_SWEEP_SEED=1)",
    ]
    assert sweeps.TALLY.lines([]) == []


def test_a_full_sweep_says_how_many_points_were_not_reached(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(sweeps.MODE, "full")
    assert sweeps.describe("reset", 10, 10, 12) == (
        "reset: faults injected 10, converged 10 (2 of 12 points were not reached)"
    )
    assert sweeps.describe("reset", 12, 12, 12) == "reset: faults injected 12, converged 12"


@pytest.mark.parametrize("name", [name for names in sweeps.TALLY.sums.values() for name in names])
def test_sums_are_of_sweeps_that_exist(name: str, repository: Path) -> None:
    texts = [path.read_text(encoding="utf-8") for path in (repository / "tests/integration").glob("test_*_sweep.py")]
    assert any(f'"{name}"' in text for text in texts)
