# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Check whether the process for which a bundle is served is still running."""

from __future__ import annotations

import errno
import os
import pathlib

_UNKNOWN = "?"


def birth(pid: int) -> str:
    """Return the start time of a process, or an empty string if unknown.

    It distinguishes the process from a later one with the same ID.
    """
    return _status(pid)[1]


def lives(pid: int, born: str) -> bool:
    """Return whether the process with this ID and start time is still running. A zombie does not count as running."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    if not born:
        return True
    state, now = _status(pid)
    # If no descriptor is left to read the file, check only that the process accepts signals.
    return state == _UNKNOWN or (state not in ("", "Z", "X") and now == born)


def _status(pid: int) -> tuple[str, str]:
    """Return the state and the start time of a process from its file /proc/PID/stat; see proc(5).

    Both are empty if the process does not exist. If the file cannot be read, the state is `?`.
    """
    try:
        text = pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace")
        # The name in parentheses may contain any character. Fields 3 and 22 are the first and the 20th after it.
        fields = text.rpartition(")")[2].split()
        return fields[0], fields[19]
    except OSError as error:
        return ("", "") if error.errno in (errno.ENOENT, errno.ESRCH) else (_UNKNOWN, "")
    except IndexError:
        return "", ""
