# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Shells that a broken connection leaves on a node, for two hours: they count against the user's quota (30 by default).

One stays: a shell of winrm whose creation was never answered, since the node chooses its name.

learn.microsoft.com/windows/win32/winrm/quotas (MaxShellsPerUser, IdleTimeout)
"""

from __future__ import annotations

import contextlib
import typing as t


class OrphanedShells:
    """What a connection plugin had open when its connection broke, until it is closed over the next connection."""

    def __init__(self) -> None:
        self._winrm: set[str] = set()
        self._psrp: dict[str, t.Any] = {}

    def note(self, connection: t.Any) -> None:
        """Remembers what the connection has open; to call before and, where that failed, after its `reset`.

        winrm never closes its shell there, and psrp only tries to, over the connection that broke.
        """
        shell = getattr(connection, "shell_id", None)
        if shell:
            self._winrm.add(shell)
        pool = getattr(connection, "runspace", None)
        if pool is not None:
            self._psrp[pool.id] = pool

    def close(self, connection: t.Any) -> None:
        """Deletes them over the new connection.

        Not before their commands have been settled: they would end with them.
        """
        # pywinrm's client.
        protocol, current = getattr(connection, "protocol", None), getattr(connection, "shell_id", None)
        for shell in self._winrm - {current}:
            with contextlib.suppress(Exception):
                protocol.close_shell(shell, close_session=False)  # type: ignore[union-attr]
        pool = getattr(connection, "runspace", None)
        for old in self._psrp.values():
            # One that was closed after all has lost its shell's id.
            if old is not pool and old.shell.id is not None:
                with contextlib.suppress(Exception):
                    _delete(pool, old.id)
        self._winrm, self._psrp = set(), {}


def _delete(pool: t.Any, shell_id: str) -> None:
    """Deletes another pool's shell over this pool's connection."""
    from pypsrp.wsman import SelectorSet

    selector = SelectorSet()
    selector.add_option("ShellId", shell_id)
    pool.connection.delete(pool.shell.resource_uri, selector_set=selector)
