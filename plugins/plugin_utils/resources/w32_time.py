# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Configure the time sources of the node's clock."""

from __future__ import annotations

import dataclasses
import typing as t

from ..engine.changes import only, update
from ..engine.resource import Change, Resource, ServiceInterruption
from ..values.errors import ResourceError
from ..windows.windows_info import WindowsInfo
from ..wire.calls import action, query
from ..wire.messages import Call, Json, Results

KEY = r"HKLM:\SYSTEM\CurrentControlSet\Services\W32Time\Parameters"
_SERVICE = "W32Time"
_TYPES = {"manual": "NTP", "domain": "NT5DS", "all": "AllSync"}
_FLAGS = {"manual": "MANUAL", "domain": "DOMHIER", "all": "MANUAL,DOMHIER"}
_CLIENT = "0x8"
"""The flag with which Windows queries a time server in client mode."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class W32Time(Resource):
    """The time sources of the node's clock."""

    type: t.ClassVar[str] = "W32Time"
    name: str = dataclasses.field(metadata={"help": "A label of your choice."})
    peers: tuple[str, ...] = dataclasses.field(
        default=(),
        metadata={
            "help": "Time servers. Flags may follow after a comma (`host,0x9`). The default flag is `0x8` "
            "(client mode)."
        },
    )
    sync_type: t.Literal["manual", "domain", "all"] = dataclasses.field(
        default="manual",
        metadata={
            "help": "The source of the time: `manual` (the peers), `domain`, or `all` (the peers and the domain)."
        },
    )

    def __post_init__(self) -> None:
        if self.sync_type != "domain" and not self.peers:
            raise ResourceError("peers", [], "expected at least one time server, or sync_type set to domain")
        for peer in self.peers:
            if not peer.strip() or any(letter.isspace() or letter == '"' for letter in peer.strip()):
                raise ResourceError("peers", peer, "expected a host name or an address")

    def observe(self) -> tuple[Call, ...]:
        values: list[Json] = [{"path": KEY, "name": "NtpServer"}, {"path": KEY, "name": "Type"}]
        return (query("parameters", "@read-registry", {"values": values}, select=("name", "value")),)

    def plan(self, seen: Results, windows: WindowsInfo) -> Change | None:
        only(self, seen, "parameters")
        parameters = {item.get("name"): str(item.get("value") or "") for item in seen["parameters"].output}
        kinds = {kind: word for word, kind in _TYPES.items()}
        before: dict[str, t.Any] = {
            "sync_type": kinds.get(parameters.get("Type", ""), parameters.get("Type") or "none")
        }
        after: dict[str, t.Any] = {"sync_type": self.sync_type}
        if self.peers:
            before["peers"], after["peers"] = _peers(parameters.get("NtpServer", "").split()), _peers(self.peers)
        change = update(self, before, after, self._configure())
        return change and dataclasses.replace(change, interruptions=(ServiceInterruption(service=_SERVICE),))

    def _configure(self) -> t.Iterator[Call]:
        service: dict[str, Json] = {"Name": [_SERVICE]}
        # w32tm /update needs the service, which does not run on servers outside of a domain.
        yield action("start", "Start-Service", service)
        peers = [f"/manualpeerlist:{' '.join(_peers(self.peers))}"] if self.peers else []
        arguments = ("/config", *peers, f"/syncfromflags:{_FLAGS[self.sync_type]}", "/update")
        yield action("configure", "w32tm.exe", arguments=arguments)
        yield action("restart", "Restart-Service", {**service, "Force": True})


def _peers(peers: t.Iterable[str]) -> list[str]:
    """Return the time servers as sorted `HOST,FLAGS` strings. A server without flags gets the default flag."""
    pairs = (peer.strip().lower().partition(",") for peer in peers)
    return sorted(f"{host},{flags or _CLIENT}" for host, dummy, flags in pairs)
