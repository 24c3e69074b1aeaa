# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Find out whether a URL bypasses the proxy, whether it points into a private network, and what its origin is."""

from __future__ import annotations

import contextlib
import ipaddress
import socket
import typing as t
import urllib.parse

with contextlib.suppress(ImportError):
    # fetch.py reports that the library is missing.
    import requests


def bypasses(url: str, no_proxy: t.Sequence[str]) -> bool:
    """Return whether a URL bypasses the proxy.

    Args:
        url: an http or https URL.
        no_proxy: host names, domains, addresses, networks, or `*` for all hosts.
    """
    entries = [entry.strip() for entry in no_proxy if entry.strip()]
    if "*" in entries:
        return True
    if not entries:
        return False
    return bool(requests.utils.should_bypass_proxies(url, no_proxy=",".join(entries)))


def is_inside(url: str, allowed: t.Collection[str] = ()) -> bool:
    """Return whether a URL points to an address that is not public, such as this machine or a private network.

    A name that cannot be resolved here counts as public, because only the proxy can resolve it.

    Args:
        url: an http or https URL.
        allowed: hosts that count as public whatever their addresses are.
    """
    host = urllib.parse.urlsplit(url).hostname or ""
    if host in allowed:
        return False
    try:
        infos = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return False
    addresses = (ipaddress.ip_address(str(entry[4][0]).partition("%")[0]) for entry in infos)
    return any(not (getattr(address, "ipv4_mapped", None) or address).is_global for address in addresses)


def origin(url: str) -> tuple[str, str]:
    """Return the origin to which a URL's credentials belong: the scheme, and the user, host and port as in the URL."""
    parts = urllib.parse.urlsplit(url)
    return parts.scheme, parts.netloc
