# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Manage a block of lines in the machine's hosts file."""

from __future__ import annotations

import dataclasses
import ipaddress
import re
import typing as t

from ..engine.changes import only, update
from ..engine.resource import Change, Resource
from ..values.errors import ResourceError
from ..values.shown import AsItIs
from ..windows.windows_info import WindowsInfo
from ..wire.calls import action, query
from ..wire.messages import Call, Json, Results

PATH = "C:\\Windows\\System32\\drivers\\etc\\hosts"
READ = 65536
"""Maximum number of bytes that are read from the hosts file. See `@read-file` in docs/wire.md."""
BEGIN, END = "# winkube.node: begin", "# winkube.node: end"
_BLOCK = re.compile(rf"(?ms)^{BEGIN}\s*$.*?^{END}[^\n]*(?:\n|\Z)")
_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9_.-]{0,251}[A-Za-z0-9])?")


@dataclasses.dataclass(frozen=True, kw_only=True)
class HostsFile(Resource):
    """Host names that the machine resolves without DNS: a block of lines in the hosts file. Other lines are kept."""

    type: t.ClassVar[str] = "HostsFile"
    name: str = dataclasses.field(default="machine", metadata={"help": "A label of your choice."})
    entries: dict[str, str] = dataclasses.field(
        metadata={"help": "IP addresses by host name. An empty mapping removes the lines that an earlier run wrote."}
    )

    def __post_init__(self) -> None:
        for name, address in self.entries.items():
            if not _NAME.fullmatch(str(name)):
                raise ResourceError("entries", name, "expected a host name such as k8s.example.com")
            try:
                ipaddress.ip_address(str(address))
            except ValueError:
                raise ResourceError(f"entries.{name}", address, "expected an IP address") from None

    def observe(self) -> tuple[Call, ...]:
        parameters: dict[str, Json] = {"paths": [PATH], "content": True}
        return (query("hosts", "@read-file", parameters),)

    def plan(self, seen: Results, windows: WindowsInfo) -> Change | None:
        observed = only(self, seen, "hosts")
        text = str(observed.get("content") or "").replace("\r\n", "\n")
        match = _BLOCK.search(text)
        before = _entries(match[0] if match else "")
        if before == self.entries:
            return None
        # Reject files that would be damaged when they are written back: text beyond READ bytes would be
        # truncated, and characters that are not UTF-8 would be replaced.
        if int(observed.get("size") or 0) > READ:
            raise ResourceError(
                PATH, AsItIs(f"{observed['size']} bytes"), f"expected a hosts file of at most {READ} bytes"
            )
        if "\N{REPLACEMENT CHARACTER}" in text:
            raise ResourceError(PATH, AsItIs("a different encoding"), "expected a hosts file in ASCII or UTF-8")
        # Put the block at the beginning, because Windows uses the first line that contains the requested name.
        content = (self._block() + _BLOCK.sub("", text)).replace("\n", "\r\n")
        call = action("write", "@write-file", {"path": PATH, "content": content})
        return update(self, {"entries": before}, {"entries": dict(self.entries)}, [call])

    def _block(self) -> str:
        if not self.entries:
            return ""
        lines = [f"{address} {name}" for name, address in sorted(self.entries.items())]
        return "\n".join([BEGIN, *lines, END]) + "\n"


def _entries(block: str) -> dict[str, str]:
    """Return a mapping from the host names in this resource's block of lines to their addresses."""
    pairs = [line.split() for line in block.splitlines() if not line.startswith("#")]
    return {pair[1]: pair[0] for pair in pairs if len(pair) == 2}
