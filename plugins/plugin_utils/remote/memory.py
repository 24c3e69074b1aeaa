# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Memory of the controller: load what every worker needs before Ansible forks, so that all workers share it.

Ansible imports an action in its main process, then forks a worker for each host. A page that a process writes to is
copied, and Python writes to every object that it uses: reference counts, and marks of the garbage collector.

tests/integration/test_memory.py measures `site.yml` with ten nodes over psrp: a peak of 360 MB and 33 CPU seconds with
the measures of this module, 460 MB and 44 CPU seconds without them. They replace each other in part: without the
libraries the peak is 365 MB, without gc.freeze 365 MB, without the thresholds 362 MB, and without both fork hooks 430
MB. Options of mallopt(3), malloc_trim(3) at each task and templating in separate processes saved less than 20 %, so
they were removed.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import gc
import importlib
import os
import typing as t

from ansible.plugins.loader import filter_loader, lookup_loader, test_loader

_LIBRARIES = ("winrm", "requests_ntlm", "pypsrp.powershell", "pypsrp.wsman")
_CONNECTIONS = ("ansible.plugins.connection.winrm", "ansible.plugins.connection.psrp")
"""Connection plugins: Ansible compiles their source at each import, which needs memory."""
_ENCODINGS = ("encodings.utf_16_le", "encodings.utf_16_be")


@functools.cache
def share() -> None:
    """Load what workers need, and keep it shared; called once, in Ansible's main process."""
    for name in (*_LIBRARIES, *_CONNECTIONS, *_ENCODINGS):
        # Ansible reports a missing library when it is needed.
        with contextlib.suppress(Exception):
            importlib.import_module(name)
    with contextlib.suppress(Exception):
        # One plugin of each file: the loaders keep the file.
        for plugin in (
            "winkube.node.no_proxy",
            "ansible.builtin.combine",
            "ansible.builtin.urlsplit",
        ):
            filter_loader.get(plugin)
        for plugin in ("ansible.builtin.defined", "ansible.builtin.file", "ansible.builtin.subset"):
            test_loader.get(plugin)
        for plugin in (
            "ansible.builtin.env",
            "winkube.node.artifact_sources",
            "winkube.node.cluster_variable",
            "winkube.node.node_resources",
            "winkube.node.pod_network",
        ):
            lookup_loader.get(plugin)
    with contextlib.suppress(Exception):
        # NTLM encrypts with it; OpenSSL initialises it once per process, which takes 2 MB.
        algorithms = importlib.import_module("cryptography.hazmat.decrepit.ciphers.algorithms")
        ciphers = importlib.import_module("cryptography.hazmat.primitives.ciphers")
        ciphers.Cipher(algorithms.ARC4(bytes(16)), mode=None).encryptor().update(b"")
    # The garbage collector would mark, and so copy, everything that a worker inherits, which lives until the end
    # anyway.
    os.register_at_fork(before=_settle, after_in_child=_collect_early)


def _settle() -> None:
    # Fast, because frozen objects are not checked again. Garbage must not be frozen, since it would stay forever.
    gc.collect()
    gc.freeze()
    with contextlib.suppress(AttributeError):
        _libc().malloc_trim(0)


def _collect_early() -> None:
    # Few objects are left to check, and new objects then reuse memory instead of more pages.
    gc.set_threshold(100, 2, 1)


@functools.cache
def _libc() -> t.Any:
    """Return the C library; libraries other than glibc have no malloc_trim (AttributeError)."""
    return ctypes.CDLL(None)
