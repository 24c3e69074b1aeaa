# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The journal that a cleanup keeps on the node, so that a later cleanup can finish an interrupted one (no I/O).

If services or static addresses have to be restored, the journal is written before anything is changed, and removed
when the work is complete. A cleanup that finds a journal knows which services were running, which static addresses the
adapters had, and which batch did the work.
"""

from __future__ import annotations

import dataclasses
import json
import typing as t

from ...windows.node_paths import PROGRAM_DATA
from ...windows.sddl import ADMINISTRATORS_ONLY_FILE
from ...wire.calls import action
from ...wire.messages import Call
from .uplink import Uplink

JOURNAL = f"{PROGRAM_DATA}\\hns\\cleanup.json"
ID = "journal"
"""Id of the call that writes the journal."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Journal:
    """The state of a node before a cleanup: its running services and its static addresses."""

    key: str
    """Idempotency key of the cleanup's batch."""
    services: tuple[str, ...] = ()
    """Services that were running, in their start order."""
    uplinks: tuple[Uplink, ...] = ()
    """Static settings of the adapters."""

    @classmethod
    def read(cls, file: t.Mapping[str, t.Any] | None) -> Journal | None:
        """Read the journal from a result of `@read-file`.

        Returns:
            The journal, or None if there is no file. A malformed journal is treated as empty and removed later.
        """
        if not file or not file.get("exists"):
            return None
        try:
            document = json.loads(file.get("content") or "")
            return cls(
                key=str(document["key"]),
                services=tuple(str(name) for name in document["services"]),
                uplinks=tuple(Uplink.from_json(uplink) for uplink in document["uplinks"]),
            )
        except (ValueError, KeyError, TypeError, RecursionError):
            return cls(key="")

    def write_call(self) -> Call:
        """Return the call that writes the journal; if the call fails, the batch ends."""
        document = {
            "key": self.key,
            "services": list(self.services),
            "uplinks": [uplink.to_json() for uplink in self.uplinks],
        }
        return action(
            ID,
            "@write-file",
            {"path": JOURNAL, "content": json.dumps(document), "sddl": ADMINISTRATORS_ONLY_FILE},
            select=None,
        )


def remove_call(needs: t.Sequence[str]) -> Call:
    """Return the call that removes the journal when the work is complete.

    Args:
        needs: ids of the calls that must succeed first. If one of them fails, the journal stays.
    """
    return action(
        "journal-done",
        "Remove-Item",
        {"LiteralPath": JOURNAL, "Force": True, "ErrorAction": "SilentlyContinue"},
        needs=tuple(needs),
        on_error="continue",
        always=True,
    )
