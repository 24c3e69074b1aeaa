# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The command line: `python -m mutation`, from tests/."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from mutation import choice, coverage, sources, workplace
from mutation.mutants import Mutant
from mutation.report import Report
from mutation.running import Outcome, Runner, Verdict
from mutation.sources import AREAS, Area
from mutation.workplace import Workplace

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Trial:
    """A mutant and the test files that may notice it."""

    mutant: Mutant
    area: Area
    tests: tuple[str, ...]


def options(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="make mutants", description="Break the code, and see whether tests notice.")
    parser.add_argument("--area", choices=sorted(AREAS), action="append", help="only this area; may be repeated")
    parser.add_argument("--since", metavar="REVISION", help="only lines that differ from this git revision")
    parser.add_argument("--sample", type=int, metavar="N", help="N lines of each area, with one mutant each")
    parser.add_argument("--seed", type=int, default=1, help="the seed of the sample (1)")
    parser.add_argument("--files", type=int, default=10, metavar="N", help="at most N test files for each mutant (10)")
    limit = "time limit of a mutant (60), or five times what its tests take without it, if that is longer"
    parser.add_argument("--seconds", type=float, default=60, metavar="N", help=limit)
    parser.add_argument("--tests", action="append", metavar="FOLDER", help="look for tests here instead")
    parser.add_argument("--list", action="store_true", help="show the mutants and their tests, and run nothing")
    read = parser.parse_args(arguments)
    if read.sample is None and read.since is None:
        read.sample = 20
    return read


def trials(wanted: argparse.Namespace, texts: Mapping[str, str], lines: Mapping[str, set[int]] | None) -> list[Trial]:
    """Return the mutants to try, with their tests.

    Args:
        wanted: the command line.
        texts: the texts of the checkout, by path.
        lines: the lines that may be changed; None: all.
    """
    reach = coverage.Coverage(coverage.texts_of(texts.items()))
    found = []
    for name in wanted.area or AREAS:
        area = AREAS[name]
        if wanted.tests:
            area = Area(area.name, area.files, tuple(folder.rstrip("/") for folder in wanted.tests), area.without)
        inside = {path: text for path, text in texts.items() if area.holds(path)}
        chosen = choice.choose(inside, wanted.seed, wanted.sample, lines)
        found += [Trial(mutant, area, tuple(reach.tests_of(mutant.path, area, wanted.files))) for mutant in chosen]
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Try mutants, and return the exit status: 0, however many survived."""
    wanted = options(arguments)
    texts = {
        path: (ROOT / path).read_text(encoding="utf-8")
        for path in workplace.files_of(ROOT)
        if path.endswith((*sources.SUFFIXES, ".py"))
    }
    lines = None
    if wanted.since:
        lines = choice.changed_since(ROOT, wanted.since)
    chosen = trials(wanted, texts, lines)
    report = Report(texts)
    if wanted.list:
        for trial in chosen:
            report.show(trial.mutant, " ".join(trial.tests) or "no test file")
        return 0
    report.say(f"{len(chosen)} mutants, seed {wanted.seed}")
    with workplace.copy_of(ROOT) as place:
        runner = Runner(place.root, wanted.seconds)
        runner.baseline(test for trial in chosen for test in trial.tests)
        judge(chosen, place, runner, report)
    report.close()
    return 0


def judge(chosen: Sequence[Trial], place: Workplace, runner: Runner, report: Report) -> None:
    """Try mutants and report them; then look whether the tests that failed pass without a mutant.

    Args:
        chosen: the mutants.
        place: where they are made.
        runner: runs tests there.
        report: is told the outcomes.
    """
    verdicts: dict[Trial, Verdict] = {}
    try:
        for trial in chosen:
            verdicts[trial] = _try(trial, place, runner)
            report.show(trial.mutant, verdicts[trial].outcome.value)
        _without_red(verdicts, place, runner, report)
    except KeyboardInterrupt:
        report.say(f"interrupted: {len(chosen) - len(verdicts)} mutants were not tried")
    for trial, verdict in verdicts.items():
        report.count(trial.area.name, trial.mutant, verdict.outcome)


def _try(trial: Trial, place: Workplace, runner: Runner, without: Sequence[str] = ()) -> Verdict:
    with place.changed(trial.mutant):
        verdict = runner.judge(trial.tests, without)
    if verdict.outcome is Outcome.TIMEOUT and runner.judge(trial.tests, without).outcome is not Outcome.SURVIVED:
        # They are as slow without it: the machine is busy, and the mutant is not the cause.
        return Verdict(Outcome.BROKEN)
    return verdict


def _without_red(verdicts: dict[Trial, Verdict], place: Workplace, runner: Runner, report: Report) -> None:
    """Run mutants again whose test also fails without them: it may pass only together with others, or at times."""
    red: list[str] = []
    while news := runner.red(
        sorted({found.test for found in verdicts.values() if found.test and found.test not in red})
    ):
        red += news
        for trial, verdict in verdicts.items():
            if verdict.test in news:
                report.say(f"fails without a mutant, too, and is left out: {verdict.test}")
                verdicts[trial] = _try(trial, place, runner, red)
                report.show(trial.mutant, verdicts[trial].outcome.value)


if __name__ == "__main__":
    sys.exit(main())
