# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Sees to it that a node is really told to reboot, and asks it no more than it has to be asked.

ansible.windows' win_reboot takes a link that breaks under `shutdown.exe` for a node that
goes down already, and then looks at the node's boot time until its patience ends (its plugin_utils/_reboot.py,
_perform_reboot and _check_boot_time). It asks for the boot time before, though the engine has just been told, and when
the node is back it asks twice: whether that is another one, and whether the logon screen is there.
"""

from __future__ import annotations

import base64
import contextlib
import datetime
import re
import typing as t

from ansible.errors import AnsibleConnectionFailure

Send = t.Callable[..., tuple[int, bytes, bytes]]

_LOGON = "AutoLogonChecked"
_LOGON_KEY = f"HKLM:\\SOFTWARE\\Microsoft\\Windows NT\\CurrentVersion\\Winlogon\\{_LOGON}"
"""LogonUI makes this key when it shows the logon screen: what Windows configures while it starts is over then.
win_reboot's order removes it (its plugin_utils/_reboot.py, _LOGON_UI_KEY)."""
BOOT_TIME = (
    "'{0} {1}' -f (Get-CimInstance -ClassName Win32_OperatingSystem -Property LastBootUpTime)"
    f".LastBootUpTime.ToFileTime(), (Test-Path -LiteralPath '{_LOGON_KEY}')"
)
"""What win_reboot is told to ask a node: both its own questions in one, so that one command answers both."""
_ORDER = "shutdown.exe /r"
_TOKEN = re.compile(r"'(success-[0-9a-f-]+)'")
"""What win_reboot's question for the logon screen prints."""
_WAIT = (
    f"$n = 0; while ($n -lt 60 -and -not (Test-Path -LiteralPath '{_LOGON_KEY}')) {{ Start-Sleep -Seconds 1; $n++ }}; "
)
"""In front of it: a node that is still configuring updates is waited for on the node, not by asking again."""
_STILL = (
    "if ([Math]::Abs((Get-CimInstance -ClassName Win32_OperatingSystem -Property LastBootUpTime).LastBootUpTime"
    ".ToFileTime() - {boot}) -le {drift}) {{ Start-Sleep -Seconds 240 }}; "
)
"""In front of BOOT_TIME once the order is given. Services that are told of a shutdown before it begins hold it up, and
all others go on meanwhile, WinRM's too (learn.microsoft.com: SERVICE_PRESHUTDOWN_INFO): while Windows works on updates
before it goes down, it answers for minutes. One question ends with the link, instead of many that do not. A node
that is back has another boot time, an earlier one where its clock is not set yet."""
_DRIFT = 10**6
"""Windows computes its boot time anew: where the clock is set by the network it moves by milliseconds without a boot
(prometheus-community/windows_exporter#74). In units of 100 ns."""
_FILE_TIME_BEGINS = datetime.datetime(1601, 1, 1)


class RebootWatch:
    """Stands in front of a connection's `exec_command` while win_reboot runs.

    When the order was lost, and the node has the boot time that it had before, it is ordered again: shutdown.exe
    refuses (1115, 1190) where the first one had arrived after all.

    Parameters:
        send: the connection's `exec_command`.
        boot: when the node booted, as it has just said (ISO 8601); empty: it has to be asked.
    """

    def __init__(self, send: Send, boot: str = "") -> None:
        self._send = send
        self._order: t.Callable[[], tuple[int, bytes, bytes]] | None = None
        self._lost = False
        self._boot_time = file_time(boot)
        self._back = False
        """Whether the node is back, with its logon screen."""

    def __call__(self, command: str, *arguments: t.Any, **keywords: t.Any) -> tuple[int, bytes, bytes]:
        """Sends a command of win_reboot, or answers it.

        Raises:
            AnsibleConnectionFailure: the order was lost, whatever the connection plugin raised.
            Exception: what the connection plugin raises for any other command.
        """

        def send(command: str = command) -> tuple[int, bytes, bytes]:
            return self._send(command, *arguments, **keywords)

        script = _script(command)
        if _ORDER in script:
            return self._give(send)
        if BOOT_TIME in script:
            if self._order is None and self._boot_time:
                return 0, self._boot_time, b""
            code, output, errors = send(self._patiently(command, script))
            return (code, self._look(output) if code == 0 else output, errors)
        if _LOGON in script and (token := _TOKEN.search(script)):
            if self._back:
                return 0, token[1].encode(), b""
            return send(_encoded(command, _WAIT + script))
        return send()

    def _give(self, send: t.Callable[[], tuple[int, bytes, bytes]]) -> tuple[int, bytes, bytes]:
        """Gives the order."""
        self._order, self._lost = send, True
        try:
            answer = send()
        except Exception as error:
            # win_reboot fails at once where a plugin raises anything else.
            raise AnsibleConnectionFailure(str(error) or type(error).__name__) from error
        self._lost = False
        return answer

    def _patiently(self, command: str, script: str) -> str:
        """The question for the boot time; after an order that has surely arrived, one that waits on the node."""
        if self._order is None or self._lost or not self._boot_time.isdigit():
            return command
        return _encoded(command, _STILL.format(boot=int(self._boot_time), drift=_DRIFT) + script)

    def _look(self, output: bytes) -> bytes:
        """Reads an answer to BOOT_TIME; returns the boot time, the one from before where it is the same."""
        boot_time, dummy, logon = output.strip().partition(b" ")
        if self._order is None:
            self._boot_time = boot_time
        elif not _same(boot_time, self._boot_time):
            self._lost, self._back = False, logon.strip().lower() == b"true"
        else:
            if self._lost:
                # A link that breaks again leaves it to the next look.
                with contextlib.suppress(Exception):
                    self._order()
                    self._lost = False
            return self._boot_time
        return boot_time


def file_time(moment: str) -> bytes:
    """A moment in ISO 8601 (UTC) as Windows' file time, as a node prints it; empty where it is none."""
    match = re.fullmatch(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,7})\d*)?Z", moment, re.ASCII)
    if not match:
        return b""
    try:
        since = datetime.datetime.fromisoformat(match[1]) - _FILE_TIME_BEGINS
    except ValueError:
        return b""
    return str(since // datetime.timedelta(seconds=1) * 10**7 + int((match[2] or "").ljust(7, "0"))).encode()


def _same(one: bytes, other: bytes) -> bool:
    """Whether two boot times are of one boot."""
    if one.isdigit() and other.isdigit():
        return abs(int(one) - int(other)) <= _DRIFT
    return one == other


def _script(command: str) -> str:
    """The PowerShell in a command line, or the command line itself."""
    dummy, encoded, text = command.partition(" -EncodedCommand ")
    try:
        return base64.b64decode(text, validate=True).decode("utf-16-le") if encoded else command
    except ValueError:
        return command


def _encoded(command: str, script: str) -> str:
    """The command line with another script in it."""
    before, encoded, dummy = command.partition(" -EncodedCommand ")
    return f"{before}{encoded}{base64.b64encode(script.encode('utf-16-le')).decode()}" if encoded else command
