# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The `netsh winhttp` command, which shows and sets the machine's proxy for WinHTTP.

The proxy is stored in the registry value WinHttpSettings as a WINHTTP_PROXY_INFO, which consists of a size (0x28), a
counter, the access type (1 for direct access, 3 for a named proxy), and two strings (proxy and bypass list), each
preceded by its length. Source: learn.microsoft.com/windows-server/administration/windows-commands/netsh-winhttp
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import TYPE_CHECKING

from simulator.machine.objects import Invocation, ProgramResult

if TYPE_CHECKING:
    from simulator.machine.machine import Machine

_KEY = r"HKLM:\SOFTWARE\Microsoft\Windows\CurrentVersion\Internet Settings\Connections"
_DIRECT, _NAMED = 1, 3
_USAGE = (
    "\r\nThe syntax supplied for this command is not valid. Check help for the correct syntax.\r\n\r\n"
    "Usage: set proxy [proxy-server=]<server name> [bypass-list=]<hosts list>\r\n\r\n"
)


def read(machine: Machine) -> tuple[str, str]:
    """Return the machine's WinHTTP proxy and its bypass list. Both are empty for direct access."""
    data = machine.registry.data(_KEY, "WinHttpSettings")
    if not isinstance(data, bytes) or len(data) < 16:
        return "", ""
    kind, length = struct.unpack_from("<II", data, 8)
    if kind != _NAMED:
        return "", ""
    proxy = data[16 : 16 + length].decode()
    (bypass,) = struct.unpack_from("<I", data, 16 + length)
    return proxy, data[20 + length : 20 + length + bypass].decode()


def write(machine: Machine, proxy: str, bypass: str) -> None:
    """Set the machine's WinHTTP proxy. If the proxy is empty, set direct access."""
    head = struct.pack("<III", 0x28, 0, _NAMED if proxy else _DIRECT)
    texts = b"".join(struct.pack("<I", len(text.encode())) + text.encode() for text in (proxy, bypass if proxy else ""))
    machine.registry.set(_KEY, "WinHttpSettings", head + texts, "Binary")


def _show(machine: Machine) -> str:
    proxy, bypass = read(machine)
    if not proxy:
        return "\r\nCurrent WinHTTP proxy settings:\r\n\r\n    Direct access (no proxy server).\r\n\r\n"
    return (
        f"\r\nCurrent WinHTTP proxy settings:\r\n\r\n    Proxy Server(s) :  {proxy}\r\n"
        f"    Bypass List     :  {bypass or '(none)'}\r\n\r\n"
    )


def _named(arguments: Sequence[str], names: Sequence[str]) -> list[str] | None:
    """Return the values of netsh parameters given by name or by position, or None if a parameter is invalid.

    In `proxy-server=…`, netsh treats the text before the equals sign as a name or as the beginning of a name.
    Source: https://learn.microsoft.com/windows/win32/api/netsh/nf-netsh-matchtagsincmdline
    """
    values = dict.fromkeys(names, "")
    places = list(names)
    for argument in arguments:
        key, equals, value = argument.partition("=")
        if equals:
            meant = [name for name in names if key and name.startswith(key.casefold())]
            if len(meant) != 1:
                return None
            values[meant[0]] = value
            places = [name for name in places if name != meant[0]]
        elif places:
            values[places.pop(0)] = argument
        else:
            return None
    return [values[name] for name in names]


def winhttp(machine: Machine, run: Invocation) -> ProgramResult:
    """Simulate netsh.exe winhttp show|set|reset proxy."""
    match [argument.casefold() for argument in run.argv[1:3]]:
        case ["show", "proxy"] if len(run.argv) == 3:
            return ProgramResult(0, _show(machine))
        case ["reset", "proxy"] if len(run.argv) == 3:
            write(machine, "", "")
            return ProgramResult(0, _show(machine))
        case ["set", "proxy"]:
            values = _named(run.argv[3:], ("proxy-server", "bypass-list"))
            if values is None or not values[0]:
                return ProgramResult(1, _USAGE)
            write(machine, *values)
            return ProgramResult(0, _show(machine))
        case _:
            return ProgramResult(1, f"The following command was not found: {' '.join(run.argv)}.\r\n")


def _status(machine: Machine) -> object:
    proxy, bypass = read(machine)
    return {"proxy": proxy, "bypass": bypass}


STATUS = {"winhttp_proxy": _status}
