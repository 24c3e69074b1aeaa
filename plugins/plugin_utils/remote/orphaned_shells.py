# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Close the shells of failed connections, because a node keeps them for two hours, and allows a user only 30 shells.

A winrm shell cannot be closed if the response to its creation was lost, as only the response contains the shell's name.

Source: learn.microsoft.com/windows/win32/winrm/quotas (MaxShellsPerUser, IdleTimeout).
"""

from __future__ import annotations

import contextlib
import typing as t


class OrphanedShells:
    """The open shells of a failed connection, until they are closed over the next connection."""

    def __init__(self) -> None:
        self._winrm: set[str] = set()
        self._psrp: dict[str, t.Any] = {}

    def note(self, connection: t.Any) -> None:
        """Record a connection's open shells. Call this before `reset` and, if `reset` fails, again afterwards.

        In `reset`, winrm does not close its shell, and psrp tries to close its shell, but over the failed connection.
        """
        shell = getattr(connection, "shell_id", None)
        if shell:
            self._winrm.add(shell)
        pool = getattr(connection, "runspace", None)
        if pool is not None:
            self._psrp[pool.id] = pool

    def close(self, connection: t.Any) -> None:
        """Delete the recorded shells over the new connection.

        Call this only when the results of the shells' commands are known, because deleting a shell ends its commands.
        """
        # `protocol` is pywinrm's client.
        protocol, current = getattr(connection, "protocol", None), getattr(connection, "shell_id", None)
        for shell in self._winrm - {current}:
            with contextlib.suppress(Exception):
                protocol.close_shell(shell, close_session=False)  # type: ignore[union-attr]
        pool = getattr(connection, "runspace", None)
        for old in self._psrp.values():
            # A shell that was closed no longer has an id.
            if old is not pool and old.shell.id is not None:
                with contextlib.suppress(Exception):
                    _delete(pool, old.id)
        self._winrm, self._psrp = set(), {}


def _delete(pool: t.Any, shell_id: str) -> None:
    """Delete a shell of another runspace pool over the connection of a working pool."""
    from pypsrp.wsman import SelectorSet

    selector = SelectorSet()
    selector.add_option("ShellId", shell_id)
    pool.connection.delete(pool.shell.resource_uri, selector_set=selector)
