# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The processes of a machine. A program, service or remote command stops when its process ends."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime

from simulator.machine.objects import ProcessEndedError
from simulator.machine.rights.acting import Acting
from simulator.machine.windows_paths import normalise


class StopSignal(threading.Event):
    """An event that is also set when its parent event is set. A process thus ends with the process that started it."""

    def __init__(self, parent: threading.Event) -> None:
        super().__init__()
        self._parent = parent

    def within(self, other: threading.Event) -> bool:
        """Return whether setting the signal `other` also sets this signal."""
        return self._parent is other or (isinstance(self._parent, StopSignal) and self._parent.within(other))

    def is_set(self) -> bool:
        """Return whether the signal or its parent is set."""
        return super().is_set() or self._parent.is_set()

    def wait(self, timeout: float | None = None) -> bool:
        """Wait up to `timeout` seconds until the signal or its parent is set. Return whether one of them is set."""
        end = None if timeout is None else time.monotonic() + timeout
        while not self.is_set():
            left = 0.05 if end is None else min(0.05, end - time.monotonic())
            if left <= 0:
                break
            super().wait(left)
        return self.is_set()


@dataclass
class Process:
    """A process on the machine. The event `stop` is set when the process is killed or the machine goes down."""

    id: int
    name: str
    user: str
    started: datetime
    image: str = ""
    """The Windows path of the executable; empty if it is not known."""
    stop: threading.Event = field(default_factory=threading.Event)
    starter: threading.Event | None = None
    """The `stop` event of the process that started this one; None if this process outlives that process."""
    ended: threading.Event = field(default_factory=threading.Event)

    @property
    def alive(self) -> bool:
        """Whether the process is running."""
        return not self.stop.is_set() and not self.ended.is_set()

    def check(self) -> None:
        """Raise ProcessEndedError if the process must end. Scripts and long operations call this between steps."""
        if self.stop.is_set():
            raise ProcessEndedError

    def sleep(self, seconds: float) -> None:
        """Wait for a number of seconds.

        Raises:
            ProcessEndedError: `stop` was set before the time was over.
        """
        if self.stop.wait(max(0.0, seconds)):
            raise ProcessEndedError


class Processes:
    """The processes of one machine.

    Args:
        acting: the access tokens of the machine's threads.
    """

    def __init__(self, acting: Acting) -> None:
        self._acting = acting
        self._ids = itertools.count(1000, 4)
        self._running: dict[int, Process] = {}
        self._lock = threading.Lock()

    def begin(self, name: str, user: str, stop: threading.Event | None = None, image: str = "") -> Process:
        """Register a process. The caller must call `end` when the process has ended, or `kill` to end it."""
        with self._lock:
            process = Process(next(self._ids), name, user, datetime.now(UTC), image, stop or threading.Event())
            self._running[process.id] = process
        return process

    def end(self, process: Process) -> None:
        """Record that a process has ended."""
        process.ended.set()
        with self._lock:
            self._running.pop(process.id, None)

    def detach(
        self, name: str, user: str, work: Callable[[Process], object], starter: threading.Event | None = None
    ) -> Process:
        """Run `work` in a separate process. The process survives the shell that started it, but not a reboot.

        Args:
            starter: the `stop` event of the process that starts the new process.
        """
        process = self.begin(name, user)
        process.starter = starter

        def run() -> None:
            try:
                with self._acting.as_account(user):
                    work(process)
            except ProcessEndedError:
                pass
            finally:
                self.end(process)

        threading.Thread(target=run, name=f"{name}-{process.id}", daemon=True).start()
        return process

    def get(self, process_id: int) -> Process | None:
        """Return the process with the given ID, or None if it is not running."""
        with self._lock:
            process = self._running.get(process_id)
        return process if process and process.alive else None

    def all(self) -> list[Process]:
        """Return the running processes."""
        with self._lock:
            return [process for process in self._running.values() if process.alive]

    def executing(self, path: str) -> str | None:
        """Return the path of a running executable at or below a path, or None if there is none.

        Windows allows renaming a running executable, but neither writing to it nor deleting it:
        https://en.wikipedia.org/wiki/File_locking#In_Microsoft_Windows
        """
        requested = normalise(path).casefold()
        for process in self.all():
            image = process.image.casefold()
            if image and (image == requested or image.startswith(requested.rstrip("\\") + "\\")):
                return process.image
        return None

    def moved(self, path: str, destination: str) -> None:
        """Record that a file or folder was renamed. Processes whose executable was renamed get the new path."""
        old, new = normalise(path), normalise(destination)
        for process in self.all():
            if process.image.casefold() == old.casefold() or process.image.casefold().startswith(f"{old}\\".casefold()):
                process.image = new + process.image[len(old) :]

    def kill(self, process: Process) -> None:
        """End a process."""
        process.stop.set()
        with self._lock:
            self._running.pop(process.id, None)

    def kill_started(self, stop: threading.Event) -> None:
        """End the processes that a process started directly or indirectly.

        Args:
            stop: the `stop` event of the process that started them.
        """
        for process in self.all():
            starter = process.starter
            if starter is stop or (isinstance(starter, StopSignal) and starter.within(stop)):
                self.kill(process)
                self.kill_started(process.stop)

    def kill_all(self) -> None:
        """End all processes, as a reboot does."""
        for process in self.all():
            self.kill(process)
