# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Configure the proxy of Windows services (WinHTTP)."""

from __future__ import annotations

import dataclasses
import ipaddress
import re
import typing as t

from ..engine import managed_marks
from ..engine.changes import answered, only, update
from ..engine.resource import Change, Resource
from ..values.errors import ResourceError
from ..values.shown import AsItIs
from ..windows.windows_info import WindowsInfo
from ..wire.calls import action, query
from ..wire.messages import Call, Results

_RESET = action("reset", "netsh.exe", arguments=("winhttp", "reset", "proxy"))


@dataclasses.dataclass(frozen=True, kw_only=True)
class WinHttpProxy(Resource):
    """The proxy of Windows services (WinHTTP), such as Windows Update."""

    type: t.ClassVar[str] = "WinHttpProxy"
    name: str = dataclasses.field(metadata={"help": "A label of your choice."})
    proxy: str | None = dataclasses.field(
        default=None,
        metadata={
            "help": "The proxy as `host:port` or as a URL. The URL's scheme and credentials are dropped, because"
            " WinHTTP cannot use them.",
            "secret": True,
        },
    )
    bypass: tuple[str, ...] = dataclasses.field(
        default=(),
        metadata={
            "help": "Hosts that Windows contacts without the proxy. As in `no_proxy`, `.example.org` is a domain and a"
            " CIDR is a network. WinHTTP does not support IPv6 networks, so they are left out."
        },
    )
    state: t.Literal["present", "absent"] = dataclasses.field(
        default="present", metadata={"help": "Whether the proxy is set. `absent` means direct access."}
    )
    managed: bool = dataclasses.field(
        default=False,
        metadata={
            "help": "Whether to record on the node that the proxy is managed. `absent` then removes the proxy"
            " only if this record exists, so that a proxy from another source is kept."
        },
    )

    def __post_init__(self) -> None:
        if self.proxy is not None:
            self._set(proxy=server(self.proxy))
        if self.state == "present" and not self.proxy:
            raise ResourceError("proxy", None, "expected host:port")
        if self.proxy and not re.fullmatch(r"[A-Za-z0-9._:;=/\[\]-]+", self.proxy):
            raise ResourceError("proxy", AsItIs("text with unsupported characters"), "expected host:port")
        entries = (part.strip() for entry in self.bypass for part in re.split("[,;]", entry))
        self._set(bypass=tuple(dict.fromkeys(item for entry in entries if entry for item in patterns(entry))))

    def observe(self) -> tuple[Call, ...]:
        calls = [query("proxy", "netsh.exe", arguments=("winhttp", "show", "proxy"))]
        if self.managed:
            values = {"values": [managed_marks.registry_entry(self)]}
            note = query("note", "@read-registry", values)
            calls = [note] if self.state == "absent" else [*calls, note]
        return tuple(calls)

    def plan(self, seen: Results, windows: WindowsInfo) -> Change | None:
        if not self.managed:
            return self._plan_proxy(seen)
        answer = only(self, seen, "note")
        return managed_marks.plan(self, self.state, answer, lambda: self._plan_proxy(seen), undo=_RESET)

    def _plan_proxy(self, seen: Results) -> Change | None:
        proxy, bypass = parse_proxy(answered(self, seen, "proxy").stdout)
        if self.state == "absent" or self.proxy is None:
            return update(self, {"proxy": proxy, "bypass": bypass}, {"proxy": None, "bypass": []}, [_RESET])
        after = {"proxy": self.proxy, "bypass": list(self.bypass)}
        before: dict[str, t.Any] = {"proxy": proxy, "bypass": bypass}
        if proxy is not None and proxy.casefold() == self.proxy.casefold():
            before["proxy"] = self.proxy
        if {item.casefold() for item in bypass} == {item.casefold() for item in self.bypass}:
            before["bypass"] = after["bypass"]
        arguments = ["winhttp", "set", "proxy", f"proxy-server={self.proxy}"]
        arguments += [f"bypass-list={';'.join(self.bypass)}"] if self.bypass else []
        return update(self, before, after, [action("set", "netsh.exe", arguments=tuple(arguments))])


def server(proxy: str) -> str:
    """Return the `host:port` of a proxy, which may be given as a URL."""
    bare = re.sub(r"^[A-Za-z]+://", "", proxy.strip())
    return bare.rpartition("@")[2].rstrip("/")


def patterns(entry: str) -> list[str]:
    """Return WinHTTP's patterns for a no_proxy entry, such as `*.example.com` for a domain and `10.*` for a network."""
    if entry.startswith("."):
        return [f"*{entry}"]
    if "/" not in entry:
        return [entry]
    try:
        network = ipaddress.ip_network(entry, strict=False)
    except ValueError:
        return [entry]
    if network.version == 6:
        return []
    if network.prefixlen == 32:
        return [str(network.network_address)]
    if network.prefixlen == 0:
        return ["*"]
    octets = -(-network.prefixlen // 8)
    prefixes = (str(part.network_address).split(".")[:octets] for part in network.subnets(new_prefix=octets * 8))
    return [".".join(prefix) + (".*" if octets < 4 else "") for prefix in prefixes]


def parse_proxy(text: str) -> tuple[str | None, list[str]]:
    """Return the proxy (or None) and the bypass list from the output of `netsh winhttp show proxy` in any language."""
    values = [line.split(" : ", 1)[1].strip() for line in text.splitlines() if " : " in line]
    if not values:
        return None, []
    bypass = values[1] if len(values) > 1 else ""
    return values[0], [] if bypass.startswith("(") else [item for item in bypass.split(";") if item]
