# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Waiting for what simulated machines, clusters and servers do on their own."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def wait_for(condition: Callable[[], T | None], what: str = "the condition is true", seconds: float = 60) -> T:
    """Wait until a condition returns a true value, and return that value.

    Args:
        condition: the condition, which is checked several times a second.
        what: a clause that says what is true then, for the error message.
        seconds: the time limit.

    Raises:
        AssertionError: the time limit was exceeded.
    """
    end = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < end, f"not within {seconds:g} s: {what}"
        time.sleep(0.02)
    return found
