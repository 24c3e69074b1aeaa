# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Whether the process for which a bundle is served is still there."""

from __future__ import annotations

import errno
import os
import pathlib

_UNKNOWN = "?"


def birth(pid: int) -> str:
    """When a process began, as far as the system tells: a number that is given again is another process."""
    return _status(pid)[1]


def lives(pid: int, born: str) -> bool:
    """Whether a process is still there, and still the same. A zombie is gone."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    if not born:
        return True
    state, now = _status(pid)
    # Without a descriptor for the file, only that it answers to signals is known.
    return state == _UNKNOWN or (state not in ("", "Z", "X") and now == born)


def _status(pid: int) -> tuple[str, str]:
    """State and start of a process by proc(5); empty where the system has no such file."""
    try:
        text = pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace")
        # The name, in parentheses, may hold anything. Fields 3 and 22 are the first and the 20th behind it.
        fields = text.rpartition(")")[2].split()
        return fields[0], fields[19]
    except OSError as error:
        return ("", "") if error.errno in (errno.ENOENT, errno.ESRCH) else (_UNKNOWN, "")
    except IndexError:
        return "", ""
