# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Measuring how much memory a function allocates, without the servers of other tests."""

from __future__ import annotations

import multiprocessing
import tracemalloc
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any


def peak_memory(function: Callable[[], object], *, seconds: float = 300) -> int:
    """Return the peak of the memory that a function allocates through Python, in bytes.

    A worker of xdist runs the simulated servers of other tests in threads, and tracemalloc counts all threads. The
    function therefore runs in a fork, which has only its own thread. The fork's changes to objects are lost.

    Args:
        function: the function to measure. It may contain assertions.
        seconds: the time after which the fork is killed.

    Raises:
        TimeoutError: the function did not end in time.
        EOFError: the fork ended without a result.
        AssertionError: the function raised an error; the message names it.
    """
    context: Any = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_measure, args=(function, sender))
    process.start()
    sender.close()
    try:
        if not receiver.poll(seconds):
            raise TimeoutError(f"expected the function to end within {seconds} seconds")
        result: int | AssertionError = receiver.recv()
    finally:
        process.kill()
        process.join()
        receiver.close()
    if isinstance(result, AssertionError):
        raise result
    return result


def _measure(function: Callable[[], object], sender: Connection) -> None:
    """Send the peak of a function's memory, or its error."""
    result: int | AssertionError
    tracemalloc.start()
    try:
        function()
        result = tracemalloc.get_traced_memory()[1]
    except BaseException as error:
        result = AssertionError(f"{type(error).__name__}: {error}")
    sender.send(result)
