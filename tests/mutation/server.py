# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The fork server: it has loaded what all tests need, and runs each job in a child of its own.

Loading Ansible and pytest takes longer than most tests. Nothing of the collection or of the tests may be loaded here,
because each child must load the files as they are then. Jobs come on standard input, one on each line; the runs go to
standard output.
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
"""What many tests import, as far as it is installed."""
MEMORY = 4 * 2**30
"""A mutant may never stop asking for memory."""
OUTPUT = 4000
"""So many characters of the end of a run's output are returned."""


def main() -> None:
    """Run jobs until there are no more."""
    for name in LOADED:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    gc.freeze()
    # Children write elsewhere.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    for line in sys.stdin:
        answers.write(answer(Job.read(line)).line() + "\n")
        answers.flush()


def answer(job: Job) -> Run:
    """Run a job in a child, and stop it and all that it started when it ends or exceeds its time limit.

    Args:
        job: what is run.
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
        # What the parent would do at its end is not the child's business.
        os._exit(status)


def _wait(child: int, limit: float | None) -> int | None:
    """Return the status of a child, negative for a signal; None if it exceeded the time limit."""
    handle = os.pidfd_open(child)
    try:
        # While a job runs, standard input only becomes readable at its end: whoever asked is gone.
        ready = select.select([handle, sys.stdin], [], [], limit)[0]
        is_over = handle in ready
        # What the tests started goes with them.
        for kill in (os.killpg, os.kill):
            with contextlib.suppress(ProcessLookupError):
                kill(child, signal.SIGKILL)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    finally:
        os.close(handle)
    return status if is_over else None


if __name__ == "__main__":
    main()
