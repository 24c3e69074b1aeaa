# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The controller's memory: what every worker needs is loaded once, before Ansible forks, and so shared by all of them.

Ansible imports an action in its main process, then forks a worker for each host. A page that a worker (or the main
process) writes to is copied, and Python writes to whatever it looks at: counts of references, marks of the garbage
collector. tests/integration/test_memory.py measures what it comes to.
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
"""Of other collections: Ansible compiles their source at each import, and a compiler needs room."""
_ENCODINGS = ("encodings.utf_16_le", "encodings.utf_16_be")
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD, _M_ARENA_MAX = -1, -3, -8
"""Of mallopt(3), glibc's malloc.h."""
_LARGE = 16 * 1024
"""Bytes from which an allocation is given back to the system as soon as it is freed; batches and modules are larger."""


@functools.cache
def share() -> None:
    """Loads what workers need and keeps their hands off what they share; called once, in Ansible's main process."""
    for name in (*_LIBRARIES, *_CONNECTIONS, *_ENCODINGS):
        # What is not installed is for Ansible to complain about, when it is asked for.
        with contextlib.suppress(Exception):
            importlib.import_module(name)
    with contextlib.suppress(Exception):
        # One plugin of each file: the loaders keep the file.
        for plugin in (
            "winkube.node.no_proxy",
            "winkube.node.artifacts_together",
            "ansible.builtin.combine",
            "ansible.builtin.urlsplit",
        ):
            filter_loader.get(plugin)
        for plugin in ("ansible.builtin.defined", "ansible.builtin.file", "ansible.builtin.subset"):
            test_loader.get(plugin)
        for plugin in (
            "ansible.builtin.env",
            "winkube.node.cluster_variable",
            "winkube.node.node_resources",
            "winkube.node.pod_network",
        ):
            lookup_loader.get(plugin)
    with contextlib.suppress(Exception):
        # NTLM seals with it; OpenSSL makes ready for that once in a process, 2 MB of it.
        algorithms = importlib.import_module("cryptography.hazmat.decrepit.ciphers.algorithms")
        ciphers = importlib.import_module("cryptography.hazmat.primitives.ciphers")
        ciphers.Cipher(algorithms.ARC4(bytes(16)), mode=None).encryptor().update(b"")
    with contextlib.suppress(AttributeError):
        option = _libc().mallopt
        option(_M_MMAP_THRESHOLD, _LARGE)
        option(_M_TRIM_THRESHOLD, _LARGE)
        option(_M_ARENA_MAX, 1)
    # The collector would mark, and so copy, all that a worker inherits; what is there lives as long as the run anyway.
    os.register_at_fork(before=_settle, after_in_child=_collect_early)


def release() -> None:
    """Gives back what the step before needed: workers wait for their nodes most of the time, all of them at once."""
    gc.collect()
    with contextlib.suppress(AttributeError):
        _libc().malloc_trim(0)


def _settle() -> None:
    # Quick: what was frozen before is not looked at again. Garbage must not be frozen, it would stay for good.
    gc.collect()
    gc.freeze()
    with contextlib.suppress(AttributeError):
        _libc().malloc_trim(0)


def _collect_early() -> None:
    # Little is left for it to look at, and new objects then take the places of old ones instead of further pages.
    gc.set_threshold(100, 2, 1)


@functools.cache
def _libc() -> t.Any:
    """The C library; one that is not glibc has neither mallopt nor malloc_trim (AttributeError)."""
    return ctypes.CDLL(None)
