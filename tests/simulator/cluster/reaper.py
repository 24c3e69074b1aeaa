# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Kill programs whose parent process was killed. Usage: `reaper.py FOLDER`.

The script reads the programs' process ids from stdin, one per line. If the input ends without the line "done", the
parent is gone. Then the programs are killed and the folder is removed. A parent-death signal would not be sufficient,
because Linux already sends it when the thread that started the programs ends.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys


def main() -> None:
    """Read process ids. If the input ends without "done", kill the programs and remove the folder."""
    pids: list[int] = []
    for line in sys.stdin:
        if line.strip() == "done":
            return
        pids.append(int(line))
    for pid in reversed(pids):
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            continue
    shutil.rmtree(sys.argv[1], ignore_errors=True)


if __name__ == "__main__":
    main()
