# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The command line: `python -m mutation`, from tests/."""

from __future__ import annotations

import argparse
import dataclasses
import fnmatch
import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

from mutation import choice, coverage, mapping, sources, workplace
from mutation.coverage import Coverage
from mutation.linemap import LineMap
from mutation.mutants import Mutant
from mutation.report import Report
from mutation.running import Runner, Server
from mutation.selection import Selection
from mutation.sources import AREAS, POWERSHELL, Area
from mutation.trying import Trial, Worker, judge, spread
from mutation.workplace import Workplace

ROOT = Path(__file__).resolve().parents[2]


def options(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="make mutants", description="Break the code, and see whether tests notice.")
    parser.add_argument("--area", choices=sorted(AREAS), action="append", help="only this area; may be repeated")
    parser.add_argument("--path", metavar="PATTERN", action="append", help="only files like this; may be repeated")
    parser.add_argument("--since", metavar="REVISION", help="only lines that differ from this git revision")
    parser.add_argument("--sample", type=int, metavar="N", help="N lines of each area, with one mutant each")
    parser.add_argument("--seed", type=int, default=1, help="the seed of the sample (1)")
    parser.add_argument("--all", action="store_true", help="every mutant, no sample")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="N mutants at a time (1)")
    parser.add_argument("--budget", type=float, default=60, metavar="N", help="run tests of N seconds at most (60)")
    limit = "time limit of a run (20), or five times what its tests take without the mutant, if that is longer"
    parser.add_argument("--seconds", type=float, default=20, metavar="N", help=limit)
    parser.add_argument("--tests", action="append", metavar="PATH", help="run these test files or folders instead")
    parser.add_argument("--files", type=int, default=10, metavar="N", help="with --tests: at most N test files (10)")
    parser.add_argument("--list", action="store_true", help="show the mutants and their tests, and run nothing")
    read = parser.parse_args(arguments)
    if read.sample is None and read.since is None and not read.all:
        read.sample = 20
    return read


class Mutation:
    """One run of mutation tests.

    Args:
        arguments: the command line.
        texts: the texts of the checkout, by path.
        report: receives the events.
    """

    def __init__(self, arguments: argparse.Namespace, texts: Mapping[str, str], report: Report) -> None:
        self._arguments, self._texts, self._report = arguments, texts, report
        self._areas = [self._with_tests(AREAS[name]) for name in arguments.area or AREAS]
        self._coverage = Coverage(coverage.texts_of(texts.items()))
        self._map = LineMap.load(ROOT / mapping.FILE)

    def _with_tests(self, area: Area) -> Area:
        folders = tuple(str(path).rstrip("/") for path in self._arguments.tests or area.tests)
        return dataclasses.replace(area, tests=folders)

    def choose(self, lines: Mapping[str, set[int]] | None) -> list[tuple[Mutant, Area]]:
        """Return the mutants to try.

        Args:
            lines: the lines that may be changed; None: all lines.
        """
        found = []
        for area in self._areas:
            inside = {path: text for path, text in self._texts.items() if area.holds(path) and self._is_wanted(path)}
            chosen = choice.choose(inside, self._arguments.seed, self._arguments.sample, lines)
            found += [(mutant, area) for mutant in chosen]
        return found

    def _is_wanted(self, path: str) -> bool:
        return not self._arguments.path or any(fnmatch.fnmatchcase(path, pattern) for pattern in self._arguments.path)

    def trials(self, chosen: Iterable[tuple[Mutant, Area]]) -> list[Trial]:
        """Return mutants with the tests that run for them: tests from the line map, or whole test files."""
        selection = Selection(self._map, self._texts, self._arguments.budget)
        found = []
        for mutant, area in chosen:
            if self._is_mapped(area):
                tests = selection.tests_of(mutant, area)
            else:
                tests = self._coverage.tests_of(mutant.path, area, self._arguments.files)
            found.append(Trial(mutant, area, tuple(tests)))
        return found

    def _is_mapped(self, area: Area) -> bool:
        # Recording is too slow for the tests of the PowerShell module, which start processes and take minutes.
        return not self._arguments.tests and area.name != POWERSHELL.name

    def show(self, chosen: Iterable[tuple[Mutant, Area]]) -> None:
        """Show mutants with their tests, as far as the line map contains them."""
        for trial in self.trials(chosen):
            self._report.show(trial.mutant, " ".join(trial.tests) or "no test known")

    def run(self, chosen: Sequence[tuple[Mutant, Area]]) -> None:
        """Try mutants.

        Args:
            chosen: the mutants.
        """
        with ExitStack() as stack:
            places = [stack.enter_context(workplace.copy_of(ROOT)) for _job in range(self._arguments.jobs)]
            servers = [stack.enter_context(Server(place.root)) for place in places]
            self._record(
                servers, {area.name: area for _mutant, area in chosen}.values(), {one.path for one, _ in chosen}
            )
            trials = self.trials(chosen)
            self._report.say(f"{len(trials)} mutants, seed {self._arguments.seed}")
            judge(trials, self._workers(trials, places, servers), self._report)

    def _workers(self, trials: Iterable[Trial], places: Iterable[Workplace], servers: Sequence[Server]) -> list[Worker]:
        known = {test: seconds for entry in self._map.entries.values() for test, seconds in entry.tests.items()}
        whole = {test for trial in trials for test in trial.tests if "::" not in test}
        known |= Runner(servers[0], self._arguments.seconds).baseline(whole)
        runners = [Runner(server, self._arguments.seconds, known) for server in servers]
        return [Worker(place, runner) for place, runner in zip(places, runners, strict=True)]

    def _record(self, servers: Sequence[Server], areas: Iterable[Area], paths: Collection[str]) -> None:
        """Update the line map for the tests of some areas that may notice changes of some files."""
        mapped = [area for area in areas if self._is_mapped(area)]
        modules = self._coverage.modules
        files = [path for path in sorted(modules) if any(coverage.is_test_of(path, area) for area in mapped)]
        keys = mapping.keys(files, self._texts, modules)
        stale = [test for test in mapping.stale(self._map, keys) if mapping.concerns(test, paths, self._map, modules)]
        runs = spread(stale, servers, lambda file, server: mapping.record(file, server))
        try:
            for number, (file, run) in enumerate(runs, start=1):
                self._map.add(file, keys[file], run, self._texts)
                self._report.say(f"line map: {number} of {len(stale)}: {file}: {mapping.remark(run)}")
        finally:
            if stale:
                self._map.forget(modules)
                self._map.save(ROOT / mapping.FILE)


def main(arguments: Sequence[str] | None = None) -> int:
    """Try mutants, and return the exit status, which is 0 even if mutants survive."""
    requested = options(arguments)
    texts = {
        path: (ROOT / path).read_text(encoding="utf-8")
        for path in workplace.files_of(ROOT)
        if path.endswith((*sources.SUFFIXES, ".py"))
    }
    lines = None
    if requested.since:
        lines = choice.changed_since(ROOT, requested.since)
    report = Report(texts)
    mutation = Mutation(requested, texts, report)
    chosen = mutation.choose(lines)
    if requested.list:
        mutation.show(chosen)
        return 0
    mutation.run(chosen)
    report.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
