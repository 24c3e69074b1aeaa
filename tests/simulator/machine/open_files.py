# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Files that processes keep open, and the operations on these files that other processes may perform.

Access and share modes are strings of letters: `r` for reading, `w` for writing, `d` for deleting and renaming.
https://learn.microsoft.com/windows/win32/fileio/creating-and-opening-files
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from dataclasses import dataclass

from simulator.machine.processes import Process
from simulator.machine.windows_paths import normalise


@dataclass(eq=False)
class Handle:
    """An open file.

    Args:
        path: the path of the file; None after the file was deleted or replaced.
        access: the operations that the process may perform on the file.
        share: the operations that other processes may perform on the file at the same time.
        holder: the name of the process that opened the file.
        process: the process whose end closes the file; None if a context manager closes it.
    """

    path: str | None
    access: frozenset[str]
    share: frozenset[str]
    holder: str
    process: Process | None = None


class OpenFiles:
    """The open files of one machine."""

    def __init__(self) -> None:
        self._handles: list[Handle] = []
        self._lock = threading.Lock()
        self._infected: set[str] = set()

    @contextlib.contextmanager
    def hold(self, path: str, access: str, share: str, holder: str = "another process") -> Iterator[Handle]:
        """Keep a file open within the `with` block.

        Args:
            path: the path of the file.
            access: the operations that the process may perform on the file.
            share: the operations that other processes may perform on the file at the same time.
            holder: the name of the process, as Windows' Restart Manager reports it.
        """
        handle = Handle(normalise(path).casefold(), frozenset(access), frozenset(share), holder)
        with self._lock:
            self._handles.append(handle)
        try:
            yield handle
        finally:
            with self._lock:
                self._handles.remove(handle)

    def hold_until_end(self, path: str, access: str, share: str, process: Process) -> None:
        """Keep a file open until `process` ends. The other arguments are the same as for `hold`."""
        key = normalise(path).casefold()
        with self._lock:
            self._handles.append(Handle(key, frozenset(access), frozenset(share), process.name, process))

    def blocks(self, path: str, access: str, share: str = "rwd") -> bool:
        """Return whether another handle prevents a file from being opened.

        Args:
            path: the path of the file.
            access: the operations that the caller is going to perform on the file.
            share: the operations that the caller allows other processes to perform.
        """
        key = normalise(path).casefold()
        requested, shared = frozenset(access), frozenset(share)
        with self._lock:
            self._close_ended()
            handles = [handle for handle in self._handles if handle.path == key]
        return any(not requested <= handle.share or not handle.access <= shared for handle in handles)

    def infected(self, path: str) -> None:
        """Record that the antivirus blocks access to a file."""
        with self._lock:
            self._infected.add(normalise(path).casefold())

    def is_infected(self, path: str) -> bool:
        """Return whether the antivirus blocks access to a file."""
        return normalise(path).casefold() in self._infected

    def forget_infected(self, path: str) -> None:
        """Record that the antivirus has removed a file."""
        with self._lock:
            self._infected.discard(normalise(path).casefold())

    def blocks_below(self, path: str) -> bool:
        """Return whether any file below a folder is open. An open file prevents renaming the folder."""
        return any(handle.path != normalise(path).casefold() for handle in self._within(path))

    def blocks_removal(self, path: str) -> bool:
        """Return whether a file, or any file below a folder, is open in a way that prevents its deletion."""
        return any("d" not in handle.share for handle in self._within(path))

    def holders(self, path: str) -> list[str]:
        """Return the names of the processes that have opened a file, or any file below a folder."""
        return sorted({handle.holder for handle in self._within(path)})

    def _within(self, path: str) -> list[Handle]:
        """Return the handles of a file, or of all files below a folder."""
        start = normalise(path).casefold().rstrip("\\")
        with self._lock:
            self._close_ended()
            return [handle for handle in self._handles if handle.path and f"{handle.path}\\".startswith(f"{start}\\")]

    def _close_ended(self) -> None:
        """Close the handles of processes that have ended."""
        self._handles = [handle for handle in self._handles if handle.process is None or handle.process.alive]

    def moved(self, path: str, destination: str) -> None:
        """Update the handles after a file or folder was renamed.

        The handles of a renamed file refer to the new name. The handles of a file that was replaced lose their path.
        """
        old, new = normalise(path).casefold(), normalise(destination).casefold()
        with self._lock:
            for handle in self._handles:
                if handle.path == new:
                    handle.path = None
                elif handle.path and f"{handle.path}\\".startswith(f"{old}\\"):
                    handle.path = new + handle.path[len(old) :]

    def deleted(self, path: str) -> None:
        """Update the handles after a file or folder was deleted."""
        gone = normalise(path).casefold()
        with self._lock:
            for handle in self._handles:
                if handle.path and f"{handle.path}\\".startswith(f"{gone}\\"):
                    handle.path = None
