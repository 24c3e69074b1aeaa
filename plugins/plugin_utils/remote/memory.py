# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Memory of the controller: load what every worker needs before Ansible forks, so that all workers share it.

Ansible imports an action in its main process, then forks a worker for each host. A page that a process writes to is
copied, and Python writes to every object that it uses: reference counts, and marks of the garbage collector.

tests/integration/test_memory.py measures `site.yml` with ten nodes over psrp: a peak of 360 MB and 33 CPU seconds with
the measures of this module, 460 MB and 44 CPU seconds without them. The measures overlap: without loading
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
_PLUGINS: tuple[tuple[t.Any, tuple[str, ...]], ...] = (
    (filter_loader, ("winkube.node.no_proxy", "ansible.builtin.combine", "ansible.builtin.urlsplit")),
    (test_loader, ("ansible.builtin.defined", "ansible.builtin.file", "ansible.builtin.subset")),
    (
        lookup_loader,
        (
            "ansible.builtin.env",
            "winkube.node.artifact_sources",
            "winkube.node.cluster_variable",
            "winkube.node.node_resources",
            "winkube.node.pod_network",
        ),
    ),
)


def load_libraries() -> None:
    """Load what every connection needs: libraries, connection plugins, encodings."""
    for name in (*_LIBRARIES, *_CONNECTIONS, *_ENCODINGS):
        # Ansible reports a missing library when it is needed.
        with contextlib.suppress(Exception):
            importlib.import_module(name)


def load_plugins() -> None:
    """Load what templating needs: one plugin of each file, because the loaders cache the file."""
    for loader, names in _PLUGINS:
        for name in names:
            with contextlib.suppress(Exception):
                loader.get(name)


def start_cipher() -> None:
    """Use NTLM's cipher once, so that OpenSSL initialises it before the fork; in each worker that would take 2 MB."""
    with contextlib.suppress(Exception):
        algorithms = importlib.import_module("cryptography.hazmat.decrepit.ciphers.algorithms")
        ciphers = importlib.import_module("cryptography.hazmat.primitives.ciphers")
        ciphers.Cipher(algorithms.ARC4(bytes(16)), mode=None).encryptor().update(b"")


def freeze_before_fork() -> None:
    """Exclude inherited objects from garbage collection in workers, which would mark and so copy all of them."""
    os.register_at_fork(before=_settle)


def collect_early_in_workers() -> None:
    """Let workers collect garbage often, so that new objects reuse memory; there are few objects left to check."""
    os.register_at_fork(after_in_child=_collect_early)


MEASURES: list[t.Callable[[], None]] = [
    load_libraries,
    load_plugins,
    start_cipher,
    freeze_before_fork,
    collect_early_in_workers,
]


@functools.cache
def share() -> None:
    """Take all measures; called once, in Ansible's main process."""
    for measure in MEASURES:
        measure()


def _settle() -> None:
    # Collect first, because frozen garbage is never freed. This is fast, because the collector skips frozen objects.
    gc.collect()
    gc.freeze()
    with contextlib.suppress(AttributeError):
        _libc().malloc_trim(0)


def _collect_early() -> None:
    gc.set_threshold(100, 2, 1)


@functools.cache
def _libc() -> t.Any:
    """Return the C library; libraries other than glibc have no malloc_trim (AttributeError)."""
    return ctypes.CDLL(None)
