# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The log lines of a node's programs, which go to a log file or to a function that stands for standard error."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from simulator.machine import net_files
from simulator.machine.services import ServiceError

if TYPE_CHECKING:
    from simulator.machine.machine import Machine

Stderr = Callable[[str], None]
"""A function that is called with each line that a program writes to standard error, without the line ending."""


def nowhere(text: str) -> None:
    """Discard a line. This is the default for services, because Windows gives them no standard error."""


def klog(severity: str, text: str) -> str:
    """Return a log line in the format of the Kubernetes programs: severity (`I`, `W`, `E`), time in UTC, and text."""
    return f"{severity}{datetime.now(UTC):%m%d %H:%M:%S.%f}    1000 server.go:1] {text}"


class ProgramLogFile:
    """A log file to which lines are appended.

    Args:
        path: a Windows path, or an empty string to discard the lines. The file's folder must exist, because Go's
            os.OpenFile does not create it.

    Raises:
        ServiceError: the file cannot be opened. The error code is 1053, because the program ends before it reports to
            the service control manager.
    """

    def __init__(self, machine: Machine, path: str) -> None:
        self._files, self._path = machine.files, path
        if path:
            if machine.files.open.blocks(path, "w", "rw"):
                raise ServiceError(1053, f"open {path}: {net_files.used(path).message}")
            try:
                self._append("")
            except OSError as error:
                raise ServiceError(1053, f"open {path}: {error}") from error

    def write(self, text: str) -> None:
        """Append a line. The line is lost if it cannot be written, for example because the disk is full."""
        if self._path:
            try:
                self._append(f"{text}\n")
            except OSError:
                return

    def _append(self, text: str) -> None:
        before = self._files.read_text(self._path) if self._files.is_file(self._path) else ""
        self._files.write_text(self._path, before + text)
