# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Parse the log of the kubelet's launcher script (data/kubelet_launcher.ps1), and PowerShell errors (no I/O)."""

from __future__ import annotations

import dataclasses
import re
import typing as t

_PREFIX = "kubelet-launcher: "
"""The prefix that the launcher script writes before each message."""
_STARTED, _ENDED, _UNKNOWN = "started the kubelet", "the kubelet ended", "this kubelet does not know "
_COMMAND = re.compile(r"post_kubeadm_commands\[\d+\]: ")
_ERROR_ID = "FullyQualifiedErrorId"
"""The label in the last line of a PowerShell error. It is the same in all display languages of Windows."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class LauncherLog:
    """What the launcher script has logged since it last started the kubelet or tried to start it."""

    ended: str = ""
    """The message that says how the kubelet ended, or an empty string if it has not ended since its last start."""
    left_out: tuple[str, ...] = ()
    """Flags from kubeadm that the script did not pass to the kubelet, because this kubelet does not know them."""
    failed_command: str = ""
    """The message about a failed post-join command, or an empty string if no command has failed."""

    @classmethod
    def parse(cls, lines: t.Iterable[str]) -> LauncherLog:
        """Parse the last lines of the launcher script's log."""
        ended, command = "", ""
        left_out: list[str] = []
        begins = True
        for message in (line.partition(_PREFIX)[2].strip() for line in lines if _PREFIX in line):
            if message.startswith(_UNKNOWN):
                left_out = [] if begins else left_out
                left_out.append(message.removeprefix(_UNKNOWN))
                begins = False
            elif message.startswith(_STARTED):
                left_out = [] if begins else left_out
                ended, command, begins = "", "", True
            elif message.startswith(_ENDED):
                ended = message
            elif _COMMAND.match(message):
                command = message
        return cls(ended=ended, left_out=tuple(left_out), failed_command=command)


def powershell_error(lines: t.Sequence[str]) -> str:
    """Return the last PowerShell error in a log as a single line, or an empty string if there is none."""
    last = next((number for number in reversed(range(len(lines))) if _ERROR_ID in lines[number]), None)
    if last is None:
        return ""
    first = last
    while first > 0 and lines[first - 1].strip() and _ERROR_ID not in lines[first - 1]:
        first -= 1
    message = []
    for line in lines[first:last]:
        if line.lstrip().startswith("+") or re.match(r"\S+ .*\.ps1:\d+ ", line):
            break
        message.append(line.strip())
    return " ".join([*message, f"({lines[last].partition(':')[2].strip()})"]).strip()
