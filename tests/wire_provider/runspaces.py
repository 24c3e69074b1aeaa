# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Separate runspaces for cmdlets with a time limit. A cmdlet that exceeds its limit is abandoned, and keeps running.

A cmdlet that waits in a service cannot be interrupted (moby/moby#40699: not even by Ctrl+C). The cmdlet's effects may
still occur later, until its process ends.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Generic, TypeVar

from simulator.machine.objects import ProcessEndedError
from simulator.machine.processes import Process, StopSignal

Result = TypeVar("Result")
_INTERVAL = 0.05  # seconds between two checks of the process


class LateError(Exception):
    """The time limit was exceeded, and the operation was abandoned."""


class _Runspace(Generic[Result]):
    """One runspace: its thread and the result."""

    def __init__(self, work: Callable[[threading.Event], Result], stop: threading.Event) -> None:
        self.ended = threading.Event()
        self._work, self._stop = work, stop
        self._result: list[Result] = []
        self._error: BaseException | None = None
        threading.Thread(target=self._run, name="runspace", daemon=True).start()

    def _run(self) -> None:
        try:
            self._result.append(self._work(self._stop))
        except BaseException as error:
            self._error = error
        self.ended.set()

    def result(self) -> Result:
        """Return the result, or raise the exception."""
        if self._error is not None:
            raise self._error
        return self._result[0]


class Runspaces:
    """The runspaces of one process. `close` ends the abandoned ones, as the end of the process does."""

    def __init__(self, process: Process) -> None:
        self._process = process
        self._abandoned: list[threading.Event] = []

    def run(self, work: Callable[[threading.Event], Result], seconds: float) -> Result:
        """Run `work(stop)` with a time limit. The exceptions of `work` pass through.

        Raises:
            LateError: the time limit was exceeded.
            ProcessEndedError: the process must end.
        """
        stop = StopSignal(self._process.stop)
        runspace = _Runspace(work, stop)
        end = time.monotonic() + seconds
        while not runspace.ended.wait(min(_INTERVAL, max(0.0, end - time.monotonic()))):
            if self._process.stop.is_set():
                raise ProcessEndedError
            if time.monotonic() >= end:
                self._abandoned.append(stop)
                raise LateError
        return runspace.result()

    def close(self) -> None:
        """End the abandoned runspaces."""
        for stop in self._abandoned:
            stop.set()
