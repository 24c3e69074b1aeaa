# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Computing aside: in a process that ends right after it, and takes along what memory that took.

A worker shares its memory with Ansible's main process, page by page, until it writes to a page; Python does whenever it
looks at something. What a worker looked at once to template a long list it would keep, as all other workers do, for
the many minutes that it waits for its node. A process forked for that alone gives it all back. Not more of them run at
once than there are cores: that would take memory and save no time.
"""

from __future__ import annotations

import contextlib
import fcntl
import functools
import json
import os
import signal
import tempfile
import time
import typing as t

from ansible.utils.display import Display

from ..values.ansible_data import plain

_NOTICES = ("warning", "deprecated", "error_as_warning", "_deprecated_with_plugin_info")
"""Ansible's ways to tell users something that belongs to a task's result, by methods of Display."""
_PAUSE = 0.01
"""Seconds between two looks for a free slot."""


class ProcessSlots:
    """So many processes at once; made before they are forked.

    A slot is a byte of a file without a name, locked by a process: whoever dies gives it back (fcntl(2), record locks).

    Args:
        number: how many; by default as many as there are cores, but at least two.
    """

    def __init__(self, number: int | None = None) -> None:
        self._number = number or max(2, os.cpu_count() or 1)
        self._file = tempfile.TemporaryFile()  # noqa: SIM115 - for as long as the process lives
        try:
            with self.one():
                pass
        except OSError:
            # A file system without locks: then all of them at once.
            self._number = 0

    @contextlib.contextmanager
    def one(self) -> t.Iterator[None]:
        """Waits for a free slot, and holds it."""
        if not self._number:
            yield
            return
        slot = self._take()
        while slot is None:
            time.sleep(_PAUSE)
            slot = self._take()
        try:
            yield
        finally:
            fcntl.lockf(self._file, fcntl.LOCK_UN, 1, slot)

    def _take(self) -> int | None:
        for slot in range(self._number):
            with contextlib.suppress(BlockingIOError, PermissionError):
                fcntl.lockf(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, slot)
                return slot
        return None


def run_forked(slots: ProcessSlots, compute: t.Callable[[], t.Any]) -> t.Any:
    """Computes in a process of its own, or here if that does not work out.

    What fails there, or has something to tell, is done again here: that is where Ansible listens.

    Args:
        slots: how many do so at once.
        compute: changes nothing that lasts; may be called twice.

    Returns:
        What it returned, as JSON knows it.

    Raises:
        Exception: what `compute` raises.
    """
    with slots.one():
        answer = _ask(compute)
    return json.loads(answer) if answer else compute()


def _ask(compute: t.Callable[[], t.Any]) -> bytes:
    """The answer of a child as JSON; empty where there is none."""
    reader, writer = os.pipe()
    with os.fdopen(reader, "rb") as answers:
        try:
            child = os.fork()
        except OSError:
            os.close(writer)
            return b""
        if not child:
            _answer(compute, writer)
        os.close(writer)
        try:
            answer = answers.read()
        except BaseException:
            # Such as the task's timeout.
            os.kill(child, signal.SIGKILL)
            raise
        finally:
            dummy, status = os.waitpid(child, 0)
    return answer if status == 0 else b""


def _answer(compute: t.Callable[[], t.Any], writer: int) -> t.NoReturn:
    """The child's part; nothing of what its parent does at the end of a process is done here."""
    status = 1
    try:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_DFL)
        told: list[str] = []
        for name in _NOTICES:
            _overhear(name, told)
        answer = json.dumps(plain(compute())).encode()
        with os.fdopen(writer, "wb") as answers:
            answers.write(answer)
        status = 1 if told else 0
    finally:
        os._exit(status)


def _overhear(name: str, told: list[str]) -> None:
    """Notes that a method of Display was called; it need not be there."""
    method = getattr(Display, name, None)
    if method is None:
        return

    @functools.wraps(method)
    def noted(*arguments: t.Any, **keywords: t.Any) -> t.Any:
        told.append(name)
        return method(*arguments, **keywords)

    setattr(Display, name, noted)
