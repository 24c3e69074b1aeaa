# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Files that processes hold open, and what these allow others to do meanwhile.

Parameters of access and of share mode are letters: `r` reading, `w` writing, `d` deleting (which renaming is, too).
https://learn.microsoft.com/windows/win32/fileio/creating-and-opening-files
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from dataclasses import dataclass

from simulator.machine.windows_paths import normalise


@dataclass(eq=False)
class Handle:
    """An open file: its path (None: it has been deleted or replaced), what its holder may do, and what it shares."""

    path: str | None
    access: frozenset[str]
    share: frozenset[str]


class OpenFiles:
    """The open files of one machine."""

    def __init__(self) -> None:
        self._handles: list[Handle] = []
        self._lock = threading.Lock()
        self._infected: set[str] = set()

    @contextlib.contextmanager
    def hold(self, path: str, access: str, share: str) -> Iterator[Handle]:
        """Hold a file open; while it is, others may do what the share mode says."""
        handle = Handle(normalise(path).casefold(), frozenset(access), frozenset(share))
        with self._lock:
            self._handles.append(handle)
        try:
            yield handle
        finally:
            with self._lock:
                self._handles.remove(handle)

    def blocks(self, path: str, access: str, share: str = "rwd") -> bool:
        """Return whether somebody's open file forbids to open a path with an access and a share mode."""
        key = normalise(path).casefold()
        wanted, shared = frozenset(access), frozenset(share)
        with self._lock:
            held = [handle for handle in self._handles if handle.path == key]
        return any(not wanted <= handle.share or not handle.access <= shared for handle in held)

    def infected(self, path: str) -> None:
        """Note that an antivirus lets nobody open a file."""
        with self._lock:
            self._infected.add(normalise(path).casefold())

    def is_infected(self, path: str) -> bool:
        """Return whether an antivirus lets nobody open a file."""
        return normalise(path).casefold() in self._infected

    def forget_infected(self, path: str) -> None:
        """Note that an antivirus has taken a file away."""
        with self._lock:
            self._infected.discard(normalise(path).casefold())

    def blocks_below(self, path: str) -> bool:
        """Return whether a folder cannot be renamed because something in it is open."""
        start = normalise(path).casefold().rstrip("\\") + "\\"
        with self._lock:
            return any(handle.path and handle.path.startswith(start) for handle in self._handles)

    def moved(self, path: str, destination: str) -> None:
        """Note that a file or folder has another name: who holds it goes on holding it; what was there is gone."""
        old, new = normalise(path).casefold(), normalise(destination).casefold()
        with self._lock:
            for handle in self._handles:
                if handle.path == new:
                    handle.path = None
                elif handle.path and f"{handle.path}\\".startswith(f"{old}\\"):
                    handle.path = new + handle.path[len(old) :]

    def deleted(self, path: str) -> None:
        """Note that a file or folder is gone."""
        gone = normalise(path).casefold()
        with self._lock:
            for handle in self._handles:
                if handle.path and f"{handle.path}\\".startswith(f"{gone}\\"):
                    handle.path = None
