# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Run Ansible's modules for localhost in forks of a process that has imported the client of Kubernetes.

A module that uses a cluster needs 0.6 CPU seconds, and the import is most of it. `forked_runs.py` starts this program,
with the path of its socket as the first argument, and an interpreter for modules that uses it.

The pauses of modules between two queries are shorter: a simulated node changes within a fraction of a second.

Nothing of Ansible is imported: each module brings its own copy.
"""

from __future__ import annotations

import gc
import importlib
import sys
import time

MODULES = (
    *("kubernetes.client", "kubernetes.config", "kubernetes.dynamic", "kubernetes.dynamic.exceptions"),
    *("kubernetes.dynamic.resource", "kubernetes.stream", "kubernetes.watch", "jsonpatch", "requests", "yaml"),
    *("distro", "ctypes.util", "dataclasses", "fcntl", "grp", "hashlib", "inspect", "locale", "pwd", "runpy"),
    *("secrets", "shlex", "subprocess", "syslog", "tempfile", "uuid", "zipfile"),
)

SCALE, LONGEST = 0.3, 0.5
"""One second becomes 0.3 seconds, and the five seconds between two queries of kubernetes.core become 0.5 seconds.

Shorter pauses cost more CPU time for queries than they save.
"""
_COUNTED = "/network_check/"
"""Files whose pauses keep their length, because their number of attempts, and not a clock, ends the waiting."""


def is_shortened(file: str) -> bool:
    """Return whether pauses of the code in a file are shortened: of modules of collections, not of Ansible's own.

    async_wrapper, for example, computes its time limit from its pauses.
    """
    return "/ansible_collections/" in file and _COUNTED not in file


def shorten_pauses() -> None:
    """Let modules of collections pause for a fraction of the given seconds."""
    sleep = time.sleep

    def short_sleep(seconds: float) -> None:
        short = is_shortened(sys._getframe(1).f_code.co_filename)
        sleep(min(seconds * SCALE, LONGEST) if short else seconds)

    time.sleep = short_sleep


def prepare() -> None:
    """Import what modules need, as far as it is installed."""
    for name in MODULES:
        try:
            importlib.import_module(name)
        except ImportError:
            continue
    # Otherwise each fork would look at, and so copy, all objects that exist now.
    gc.collect()
    gc.freeze()


if __name__ == "__main__":
    import fork_server

    # Modules must not find the tests.
    del sys.path[0]
    sys.path.insert(0, "")
    prepare()
    shorten_pauses()
    fork_server.serve(sys.argv[1], fork_server.run_script)
