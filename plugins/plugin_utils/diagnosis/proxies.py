# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Find out which proxy the kubelet uses for the API server (no I/O).

The rules are those of Go's net/http: the proxy for HTTPS comes only from HTTPS_PROXY, loopback addresses are never
reached through a proxy, and NO_PROXY lists host names, domains, addresses and networks, each with an optional port.
Source: golang.org/x/net/http/httpproxy, Config.useProxy.
"""

from __future__ import annotations

import ipaddress
import typing as t

NAMES = ("HTTPS_PROXY", "NO_PROXY")
"""The environment variables that determine the proxy. Windows ignores the case of their names."""


def proxy_for(host: str, port: int, environment: t.Mapping[str, str]) -> str:
    """Return the URL of the proxy for an HTTPS connection, or an empty string if there is none.

    Args:
        host: host name or IP address of the server.
        port: port of the server.
        environment: environment variables of the program that connects, with names in upper case.
    """
    proxy = environment.get("HTTPS_PROXY", "").strip()
    host = host.strip("[]").lower().rstrip(".")
    if not proxy or host == "localhost" or _bypassed(host, port, environment.get("NO_PROXY", "")):
        return ""
    address = _address(host)
    return "" if address is not None and address.is_loopback else proxy


def _bypassed(host: str, port: int, exceptions: str) -> bool:
    return any(_matches(entry, host, port) for entry in map(str.strip, exceptions.lower().split(",")) if entry)


def _matches(entry: str, host: str, port: int) -> bool:
    """Return whether an entry of NO_PROXY applies to a server."""
    if entry == "*":
        return True
    address = _address(host)
    if address is not None and (network := _network(entry)) is not None:
        return address in network
    name, colon, number = entry.rpartition(":")
    if colon and number.isdigit():
        if int(number) != port:
            return False
        entry = name.strip("[]")
    if address is not None:
        return _address(entry) == address
    if entry.startswith("*."):
        entry = entry[1:]
    if entry.startswith("."):
        return host.endswith(entry)
    return host == entry or host.endswith(f".{entry}")


def _address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        return None


def _network(text: str) -> ipaddress.IPv4Network | ipaddress.IPv6Network | None:
    if "/" not in text:
        return None
    try:
        return ipaddress.ip_network(text, strict=False)
    except ValueError:
        return None
