# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The measurement of memory counts the function's own allocations, and no other thread's."""

from __future__ import annotations

import os
import threading
import time

import pytest
from traced_memory import peak_memory

pytestmark = pytest.mark.waits
MB = 1024 * 1024


def test_memory_of_the_function_counts() -> None:
    assert 5 * MB < peak_memory(lambda: bytearray(5 * MB)) < 6 * MB


def test_memory_of_other_threads_does_not_count() -> None:
    stop = threading.Event()

    def allocate() -> None:
        while not stop.is_set():
            bytearray(20 * MB)

    thread = threading.Thread(target=allocate)
    thread.start()
    try:
        assert peak_memory(lambda: time.sleep(0.2)) < MB
    finally:
        stop.set()
        thread.join()


def test_a_failed_assertion_fails_the_test() -> None:
    def fail() -> None:
        raise ValueError("expected 1, got 2")

    with pytest.raises(AssertionError, match="ValueError: expected 1, got 2"):
        peak_memory(fail)


def test_a_function_that_hangs_is_ended() -> None:
    with pytest.raises(TimeoutError, match=r"within 0\.1 seconds"):
        peak_memory(lambda: time.sleep(60), seconds=0.1)


def test_a_fork_that_dies_is_an_error() -> None:
    with pytest.raises(EOFError):
        peak_memory(lambda: os._exit(1))
