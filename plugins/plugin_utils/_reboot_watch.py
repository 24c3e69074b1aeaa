# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Sees to it that a node is really told to reboot: the order may be lost with the link.

Private to the collection. ansible.windows' win_reboot takes a link that breaks under `shutdown.exe` for a node that
goes down already, and then looks at the node's boot time until its patience ends (its plugin_utils/_reboot.py,
_perform_reboot and _check_boot_time).
"""

from __future__ import annotations

import base64
import contextlib
import typing as t

from ansible.errors import AnsibleConnectionFailure

Send = t.Callable[..., tuple[int, bytes, bytes]]

BOOT_TIME = "(Get-CimInstance -ClassName Win32_OperatingSystem -Property LastBootUpTime).LastBootUpTime.ToFileTime()"
"""What win_reboot is told to ask a node (its own default), so that the question is known here."""
_ORDER = "shutdown.exe /r"


class RebootWatch:
    """Stands in front of a connection's `exec_command` while win_reboot runs.

    When the order was lost, and the node has the boot time that it had before, it is ordered again: shutdown.exe
    refuses (1115, 1190) where the first one had arrived after all.

    Parameters:
        send: the connection's `exec_command`.
    """

    def __init__(self, send: Send) -> None:
        self._send = send
        self._order: t.Callable[[], tuple[int, bytes, bytes]] | None = None
        self._lost = False
        self._boot_time = b""

    def __call__(self, command: str, *arguments: t.Any, **keywords: t.Any) -> tuple[int, bytes, bytes]:
        """Sends a command of win_reboot.

        Raises:
            AnsibleConnectionFailure: the order was lost, whatever the connection plugin raised.
            Exception: what the connection plugin raises for any other command.
        """

        def send() -> tuple[int, bytes, bytes]:
            return self._send(command, *arguments, **keywords)

        script = _script(command)
        if _ORDER in script:
            self._order, self._lost = send, True
            try:
                answer = send()
            except Exception as error:
                # win_reboot fails at once where a plugin raises anything else.
                raise AnsibleConnectionFailure(str(error) or type(error).__name__) from error
            self._lost = False
            return answer
        answer = send()
        if BOOT_TIME in script and answer[0] == 0:
            self._look(answer[1].strip())
        return answer

    def _look(self, boot_time: bytes) -> None:
        if self._order is None:
            self._boot_time = boot_time
        elif boot_time != self._boot_time:
            self._lost = False
        elif self._lost:
            # A link that breaks again leaves it to the next look.
            with contextlib.suppress(Exception):
                self._order()
                self._lost = False


def _script(command: str) -> str:
    """The PowerShell in a command line, or the command line itself."""
    dummy, encoded, text = command.partition(" -EncodedCommand ")
    try:
        return base64.b64decode(text, validate=True).decode("utf-16-le") if encoded else command
    except ValueError:
        return command
