# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Where a URL leads: past a proxy, to another host, or into a private network."""

from __future__ import annotations

import contextlib
import ipaddress
import socket
import typing as t
import urllib.parse

with contextlib.suppress(ImportError):
    # Who fetches has said that it is missing (fetch.py).
    import requests


def bypasses(url: str, no_proxy: t.Sequence[str]) -> bool:
    """Whether a URL's host is reached without the proxy: `*`, host names, domains, addresses and networks."""
    entries = [entry.strip() for entry in no_proxy if entry.strip()]
    if "*" in entries:
        return True
    if not entries:
        return False
    return bool(requests.utils.should_bypass_proxies(url, no_proxy=",".join(entries)))


def is_inside(url: str, allowed: t.Collection[str] = ()) -> bool:
    """Whether a URL leads to an address that is not public: this machine, its link, or a private network.

    A name that cannot be resolved here is left to the proxy that may know it.

    Args:
        url: of http or https.
        allowed: hosts that are asked wherever they are.
    """
    host = urllib.parse.urlsplit(url).hostname or ""
    if host in allowed:
        return False
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return False
    addresses = (ipaddress.ip_address(str(entry[4][0]).partition("%")[0]) for entry in found)
    return any(not (getattr(address, "ipv4_mapped", None) or address).is_global for address in addresses)


def origin(url: str) -> tuple[str, str]:
    """Scheme, host and port of a URL: credentials are for one of these."""
    parts = urllib.parse.urlsplit(url)
    return parts.scheme, parts.netloc
