# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What a cleanup keeps on the node while it is under way, so that the next one can finish what this one cannot. Pure.

The file is written before anything is touched and removed when all is as it was: a cleanup
that finds one knows which services ran, what static addresses the cards had, and which batch did it.
"""

from __future__ import annotations

import dataclasses
import json
import typing as t

from ...wire.messages import Call
from .uplink import Uplink

JOURNAL = "C:\\ProgramData\\winkube\\hns\\cleanup.json"
_SDDL = "D:PAI(A;;FA;;;SY)(A;;FA;;;BA)"


@dataclasses.dataclass(frozen=True, kw_only=True)
class Journal:
    """What a cleanup found before it began."""

    key: str
    """Of its batch."""
    services: tuple[str, ...] = ()
    """Services that ran, in the order of starting."""
    uplinks: tuple[Uplink, ...] = ()
    """Static settings of the cards."""

    @classmethod
    def read(cls, file: t.Mapping[str, t.Any] | None) -> Journal | None:
        """Reads the file's entry of `@read-file`; one that cannot be read says nothing, but is removed at the end."""
        if not file or not file.get("exists"):
            return None
        try:
            document = json.loads(file.get("content") or "")
            return cls(
                key=str(document["key"]),
                services=tuple(str(name) for name in document["services"]),
                uplinks=tuple(Uplink.from_json(uplink) for uplink in document["uplinks"]),
            )
        except (ValueError, KeyError, TypeError):
            return cls(key="")

    def write_call(self) -> Call:
        """Writes the file; the batch ends where that fails."""
        document = {
            "key": self.key,
            "services": list(self.services),
            "uplinks": [uplink.to_json() for uplink in self.uplinks],
        }
        return Call(
            id="journal",
            command="@write-file",
            parameters={"path": JOURNAL, "content": json.dumps(document), "sddl": _SDDL},
        )


def remove_call(needs: t.Sequence[str]) -> Call:
    """Removes the file, when all that it is for has been done.

    Args:
        needs: ids of the calls that did it.
    """
    return Call(
        id="journal-done",
        command="Remove-Item",
        parameters={"LiteralPath": JOURNAL, "Force": True, "ErrorAction": "SilentlyContinue"},
        select=(),
        needs=tuple(needs),
        on_error="continue",
        always=True,
    )
