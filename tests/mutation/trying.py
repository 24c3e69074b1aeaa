# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Try mutants with several workers. Each worker has its own copy of the checkout, and tries one mutant at a time."""

from __future__ import annotations

import queue
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from typing import TypeVar

from mutation.mutants import Mutant
from mutation.report import Report
from mutation.running import Outcome, Runner, Verdict
from mutation.sources import Area
from mutation.workplace import Workplace

Item = TypeVar("Item")
Helper = TypeVar("Helper")
Result = TypeVar("Result")


@dataclass(frozen=True)
class Trial:
    """A mutant and the tests, or test files, that may notice it."""

    mutant: Mutant
    area: Area
    tests: tuple[str, ...]


@dataclass(frozen=True)
class Worker:
    """A copy of the checkout, and the runner of the tests in it."""

    place: Workplace
    runner: Runner

    def judge(self, trial: Trial, without: Sequence[str] = ()) -> Verdict:
        """Try one mutant.

        Args:
            trial: the mutant with its tests.
            without: tests that are left out.
        """
        with self.place.changed(trial.mutant):
            verdict = self.runner.judge(trial.tests, without)
        if verdict.outcome is Outcome.TIMEOUT:
            again = self.runner.judge(trial.tests, without)
            if again.outcome is not Outcome.SURVIVED:
                # The tests do not pass without the mutant either, for example because the machine is busy.
                return Verdict(Outcome.BROKEN)
        return verdict


def spread(
    items: Iterable[Item], helpers: Sequence[Helper], work: Callable[[Item, Helper], Result]
) -> Iterator[tuple[Item, Result]]:
    """Yield each item with its result, in the order in which the results are ready.

    Args:
        items: the items.
        helpers: the helpers, each of which processes one item at a time.
        work: processes an item with a helper, and returns the result.
    """
    free: queue.SimpleQueue[Helper] = queue.SimpleQueue()
    for helper in helpers:
        free.put(helper)

    def do(item: Item) -> Result:
        helper = free.get()
        try:
            return work(item, helper)
        finally:
            free.put(helper)

    with ThreadPoolExecutor(len(helpers)) as pool:
        waiting = {pool.submit(do, item): item for item in items}
        try:
            for ready in as_completed(waiting):
                yield waiting[ready], ready.result()
        finally:
            pool.shutdown(cancel_futures=True)


def judge(trials: Sequence[Trial], workers: Sequence[Worker], report: Report) -> None:
    """Try mutants, check whether the failed tests pass without a mutant, and report the outcomes.

    Args:
        trials: the mutants with their tests.
        workers: the workers that try them.
        report: receives the outcomes.
    """
    verdicts: dict[Trial, Verdict] = {}
    try:
        for trial, verdict in spread(trials, workers, lambda trial, worker: worker.judge(trial)):
            verdicts[trial] = verdict
            report.show(trial.mutant, verdict.outcome.value)
        _without_red(verdicts, workers[0], report)
    except KeyboardInterrupt:
        report.say(f"interrupted: {len(trials) - len(verdicts)} mutants were not tried")
    for trial in trials:
        if trial in verdicts:
            report.count(trial.area.name, trial.mutant, verdicts[trial].outcome)


def _without_red(verdicts: dict[Trial, Verdict], worker: Worker, report: Report) -> None:
    """Try mutants again if their failed test also fails without a mutant.

    Such a test may depend on other tests, or may be unreliable.
    """
    red: list[str] = []
    while news := worker.runner.red(
        sorted({found.test for found in verdicts.values() if found.test and found.test not in red})
    ):
        red += news
        for trial, verdict in verdicts.items():
            if verdict.test in news:
                report.say(f"fails without a mutant, too, and is left out: {verdict.test}")
                verdicts[trial] = worker.judge(trial, red)
                report.show(trial.mutant, verdicts[trial].outcome.value)
