# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""One run of pytest in this process, as a job requests it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from mutation.jobs import Job, Run

# Without randomly, the tests have the same order for each mutant.
OPTIONS = ["-q", "--tb=no", "--rootdir=.", "-p", "no:cacheprovider", "-p", "no:randomly"]


class Observer:
    """A plugin for pytest that chooses the tests, and collects their failures and times.

    Args:
        job: the job.
        recorder: records the lines of each test; None: nothing is recorded.
    """

    def __init__(self, job: Job, recorder: Any = None) -> None:
        self._job, self._recorder = job, recorder
        self.failed: dict[str, None] = {}
        self.seconds: dict[str, float] = {}

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        """Keep the chosen tests, in their order."""
        without = set(self._job.without)
        kept = [item for item in items if item.nodeid not in without]
        if self._job.only is not None:
            places = {name: number for number, name in enumerate(self._job.only)}
            # If a chosen test no longer exists, the mutant has changed parameters in its file. Then run the whole file.
            gone = places.keys() - {item.nodeid for item in items}
            files = {name.split("::")[0] for name in gone}
            kept = [item for item in kept if item.nodeid in places or item.nodeid.split("::")[0] in files]
            kept.sort(key=lambda item: places.get(item.nodeid, len(places)))
        if dropped := [item for item in items if item not in set(kept)]:
            config.hook.pytest_deselected(items=dropped)
        items[:] = kept

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Any:
        """Set the recorder's current test."""
        if self._recorder is None:
            return (yield)
        self._recorder.test(item.nodeid)
        try:
            return (yield)
        finally:
            self._recorder.test("")

    def pytest_collectreport(self, report: Any) -> None:
        """Store the name of a test file that cannot be loaded."""
        if report.failed:
            self.failed[report.nodeid] = None

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Store the time of a test, and its name if it failed."""
        self.seconds[report.nodeid] = self.seconds.get(report.nodeid, 0.0) + report.duration
        if report.failed:
            self.failed[report.nodeid] = None


def run(job: Job) -> Run:
    """Run a job in the current folder, and return the result of pytest without the output and the total time.

    Args:
        job: the job. The caller enforces its time limit.
    """
    recorder = None
    if job.record:
        # Imported only here, so that the server does not load it.
        from mutation.recording import Recorder

        recorder = Recorder(Path.cwd().resolve(), job.record)
        recorder.start()
    observer = Observer(job, recorder)
    files = [file for file in job.files if file not in job.without]
    options = [*OPTIONS, "--exitfirst"] if job.exitfirst else OPTIONS
    status = int(pytest.main([*options, *files], plugins=[observer]))
    found = Run(status, failed=tuple(observer.failed), by_test=observer.seconds)
    if recorder is None:
        return found
    recorder.stop()
    return Run(status, failed=found.failed, by_test=found.by_test, reached=recorder.reached(), read=recorder.read())
