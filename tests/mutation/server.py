# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The fork server, which loads what all tests need, and runs each job in a child process.

Loading Ansible and pytest takes longer than most tests. No part of the collection or of the tests may be loaded here,
because each child must load the files in their current state. The server reads jobs from standard input, one on each
line, and writes the runs to standard output.
"""

from __future__ import annotations

import contextlib
import dataclasses
import gc
import importlib
import os
import resource
import select
import signal
import sys
import tempfile
import time
from pathlib import Path
from typing import IO, NoReturn

from mutation import session
from mutation.jobs import Job, Run

LOADED = (
    "ansible.executor.task_executor",
    "ansible.executor.task_queue_manager",
    "ansible.parsing.dataloader",
    "ansible.plugins.action",
    "ansible.plugins.loader",
    "ansible.template",
    "ansible.vars.manager",
    "asyncio",
    "concurrent.futures",
    "cryptography.x509",
    "hypothesis.strategies",
    "jinja2",
    "requests",
    "xml.etree.ElementTree",
    "yaml",
)
"""Modules that many tests import. Modules that are not installed are skipped."""
MEMORY = 4 * 2**30
"""The limit for a child's memory in bytes, because a mutant may allocate memory without end."""
OUTPUT = 4000
"""The number of characters from the end of a run's output that are returned."""


def main() -> None:
    """Run jobs until there are no more."""
    for name in LOADED:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    gc.freeze()
    # The output of children goes to other files.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    for line in sys.stdin:
        answers.write(answer(Job.read(line)).line() + "\n")
        answers.flush()


def answer(job: Job) -> Run:
    """Run a job in a child process.

    When the child ends or exceeds its time limit, everything that it started is killed.

    Args:
        job: the job.
    """
    started = time.monotonic()
    with tempfile.TemporaryFile("w+", encoding="utf-8") as output, tempfile.TemporaryFile("w+") as report:
        child = os.fork()
        if child == 0:
            _child(job, output, report)
        status = _wait(child, job.limit)
        seconds = time.monotonic() - started
        output.seek(0)
        text = output.read()[-OUTPUT:] if status else ""
        report.seek(0)
        line = report.read()
    if status is None or not line:
        return Run(status, text, seconds)
    return dataclasses.replace(Run.from_line(line), output=text, seconds=seconds)


def _child(job: Job, output: IO[str], report: IO[str]) -> NoReturn:
    status = 70
    try:
        os.setsid()
        resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
        with Path(os.devnull).open(encoding="utf-8") as nothing:
            os.dup2(nothing.fileno(), 0)
        os.dup2(output.fileno(), 1)
        os.dup2(output.fileno(), 2)
        found = session.run(job)
        report.write(found.line())
        report.flush()
        status = found.status or 0
        sys.stdout.flush()
    finally:
        # Do not run the exit handlers of the parent.
        os._exit(status)


def _wait(child: int, limit: float | None) -> int | None:
    """Return the status of a child, negative for a signal; None if it exceeded the time limit."""
    handle = os.pidfd_open(child)
    try:
        # While a job runs, standard input becomes readable only at its end, that is, if the client has ended.
        ready = select.select([handle, sys.stdin], [], [], limit)[0]
        is_over = handle in ready
        # Also kill the processes that the tests started.
        for kill in (os.killpg, os.kill):
            with contextlib.suppress(ProcessLookupError):
                kill(child, signal.SIGKILL)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    finally:
        os.close(handle)
    return status if is_over else None


if __name__ == "__main__":
    main()
