# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
r"""Resolving names on a simulated server.

The server can resolve IP addresses, `localhost`, its own name, the names in `C:\Windows\System32\drivers\etc\hosts` and
the names in the `hosts` setting, which maps names to addresses. Real DNS is used only if `internet: true` is set, as
simulated servers have no internet access.
"""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from simulator.machine.machine import Machine

_HOSTS = r"C:\Windows\System32\drivers\etc\hosts"


def resolve(machine: Machine, name: str) -> list[str]:
    """Return the addresses of a host name, or an empty list if it cannot be resolved.

    For an IP address, return the address itself. Only IPv4 addresses are requested from DNS.
    """
    try:
        return [str(ipaddress.ip_address(name.strip("[]")))]
    except ValueError:
        pass
    requested = name.casefold().rstrip(".")
    if requested == "localhost":
        return ["127.0.0.1"]
    if requested in (machine.name.casefold(), machine.host_name.casefold()):
        return [machine.address]
    found = _hosts_file(machine).get(requested)
    configured = machine.settings.option("hosts", {})
    if found is None and isinstance(configured, Mapping):
        found = next((str(address) for key, address in configured.items() if str(key).casefold() == requested), None)
    if found is not None:
        return [found]
    if machine.settings.option("internet", False) is not True:
        return []
    try:
        entries = socket.getaddrinfo(requested, None, socket.AF_INET, socket.SOCK_STREAM)
    except OSError:
        return []
    return list(dict.fromkeys(str(entry[4][0]) for entry in entries))


def _hosts_file(machine: Machine) -> dict[str, str]:
    if not machine.files.is_file(_HOSTS):
        return {}
    found: dict[str, str] = {}
    for line in machine.files.read_text(_HOSTS).splitlines():
        address, *names = line.partition("#")[0].split() or [""]
        for name in names:
            found.setdefault(name.casefold(), address)
    return found
