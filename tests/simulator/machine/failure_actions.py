# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Parse and create the FailureActions value of a service, which lists the actions after a crash of its process.

https://learn.microsoft.com/windows/win32/api/winsvc/ns-winsvc-service_failure_actionsw
"""

from __future__ import annotations

import struct


def failure_action(data: object, failure: int) -> tuple[str, int]:
    """Return the action that a FailureActions value defines for a failure, and the delay before the action.

    Args:
        data: the FailureActions value.
        failure: the number of the failure, counted from 0.

    Returns:
        (`none`, `restart`, `reboot` or `run`; the delay in ms).
    """
    if not isinstance(data, bytes) or len(data) < 20:
        return "none", 0
    count = struct.unpack_from("<I", data, 12)[0]
    count = min(count, (len(data) - 20) // 8)
    if count == 0:
        return "none", 0
    kind, delay = struct.unpack_from("<II", data, 20 + 8 * min(failure, count - 1))
    return ("none", "restart", "reboot", "run")[kind if kind < 4 else 0], delay


def make_failure_actions(reset_seconds: int, actions: list[tuple[str, int]]) -> bytes:
    """Return a FailureActions value as sc.exe writes it, with offsets in place of pointers."""
    kinds = {"": 0, "none": 0, "restart": 1, "reboot": 2, "run": 3}
    head = struct.pack("<IIIII", reset_seconds & 0xFFFFFFFF, 0, 0, len(actions), 0x14)
    return head + b"".join(struct.pack("<II", kinds[kind], delay) for kind, delay in actions)
