# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Run Ansible's modules for localhost in forks of a process that has imported the client of Kubernetes.

A module that uses a cluster needs 0.6 CPU seconds, and the import is most of it. `forked_runs.py` starts this program,
with the path of its socket as the first argument, and an interpreter for modules that uses it.

Nothing of Ansible is imported: each module brings its own copy.
"""

from __future__ import annotations

import gc
import importlib
import os
import sys
import time

import fork_server

MODULES = (
    *("kubernetes.client", "kubernetes.config", "kubernetes.dynamic", "kubernetes.dynamic.exceptions"),
    *("kubernetes.dynamic.resource", "kubernetes.stream", "kubernetes.watch", "jsonpatch", "requests", "yaml"),
    *("distro", "ctypes.util", "dataclasses", "fcntl", "grp", "hashlib", "inspect", "locale", "pwd", "runpy"),
    *("secrets", "shlex", "subprocess", "syslog", "tempfile", "uuid", "zipfile"),
)


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


def shorten_pauses(factor: float) -> None:
    """Let the modules of collections pause for a fraction of the given seconds.

    Ansible's own keep their pauses: async_wrapper, for example, computes its time limit from them.
    """
    sleep = time.sleep

    def short_sleep(seconds: float) -> None:
        of_collection = "/ansible_collections/" in sys._getframe(1).f_code.co_filename
        sleep(seconds * factor if of_collection else seconds)

    time.sleep = short_sleep


def run(request: fork_server.Request) -> int:
    """Run a module in this process, which is a fork, and return its exit code."""
    if factor := float(os.environ.get(fork_server.PAUSES, 0)):
        shorten_pauses(factor)
    return fork_server.run_script(request)


if __name__ == "__main__":
    # Modules must not find the tests.
    del sys.path[0]
    sys.path.insert(0, "")
    prepare()
    fork_server.serve(sys.argv[1], run)
