# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Simulate host-local, which reserves pod addresses in files, for CNI plugins and for scripts that start kube-proxy.

Each network has a folder with the network's name. Each file in the folder is named after an address, and contains the
container's id and the name of its interface. The search for a free address starts after the address that was assigned
last (`last_reserved_ip.0`), so a released address is not assigned again immediately. Of a subnet's usable addresses,
only the gateway (by default the first) is never assigned. The second belongs to flannel's bridge, but host-local
assigns it to the first pod, whose endpoint HNS then refuses (microsoft/SDN#333). The files survive a reboot.

Source: containernetworking/plugins plugins/ipam/host-local.
"""

from __future__ import annotations

import ipaddress
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from simulator.kubernetes_node.cni.objects import CniError
from simulator.kubernetes_node.kubelet.settings import drive
from simulator.machine.objects import Invocation, ProgramResult

if TYPE_CHECKING:
    from simulator.machine.machine import Machine

FOLDER = r"C:\var\lib\cni\networks"
_LAST = "last_reserved_ip.0"


@dataclass(frozen=True)
class _Range:
    """The range of addresses that host-local may assign in a subnet."""

    subnet: ipaddress.IPv4Network
    first: ipaddress.IPv4Address
    last: ipaddress.IPv4Address
    gateway: ipaddress.IPv4Address

    @property
    def text(self) -> str:
        return f"{self.first}-{self.last}"

    def after(self, last: str) -> Iterator[str]:
        """Yield the addresses of the range in the order in which host-local tries them, starting after `last`."""
        count = int(self.last) - int(self.first) + 1
        known = ipaddress.IPv4Address(last) if last else None
        start = int(known) + 1 - int(self.first) if known and known in self.subnet else 0
        for offset in range(count):
            address = self.first + (start + offset) % count
            if address != self.gateway:
                yield str(address)


def _range(ipam: Mapping[str, Any]) -> _Range:
    ranges = [item for group in ipam.get("ranges") or [] for item in group]
    given = {"subnet": ipam["subnet"], **ipam} if ipam.get("subnet") else next(iter(ranges), None)
    if not given or not given.get("subnet"):
        raise CniError("no IP ranges specified")
    try:
        subnet = ipaddress.IPv4Network(given["subnet"], strict=False)
    except ValueError as error:
        raise CniError(f"invalid range set 0: {error}") from error
    if subnet.prefixlen > 30:
        raise CniError(f"invalid range set 0: Network {subnet} too small to allocate from")
    bounds = [
        given.get("rangeStart") or subnet[1],
        given.get("rangeEnd") or subnet[-2],
        given.get("gateway") or subnet[1],
    ]
    first, last, gateway = (ipaddress.IPv4Address(item) for item in bounds)
    return _Range(subnet, first, last, gateway)


def _store(ipam: Mapping[str, Any], network: str) -> str:
    return f"{drive(str(ipam['dataDir'])) if ipam.get('dataDir') else FOLDER}\\{network}"


def allocate(machine: Machine, ipam: Mapping[str, Any], network: str, container: str, interface: str = "eth0") -> str:
    """Reserve an address for a container, and return it with its prefix length.

    Raises:
        CniError: no address is free, the container already has an address, or the configuration has no valid range.
    """
    found = _range(ipam)
    folder = _store(ipam, network)
    machine.files.make_directory(folder)
    names = {entry.name: entry.path for entry in machine.files.listing(folder) if not entry.is_directory}
    owner = f"{container}\r\n{interface}"
    for name, path in names.items():
        if name != _LAST and machine.files.read_text(path).strip() == owner:
            message = f"{name} has been allocated to {container}, duplicate allocation is not allowed"
            raise CniError(f"failed to allocate for range 0: {message}")
    last = machine.files.read_text(names[_LAST]).strip() if _LAST in names else ""
    for address in found.after(last):
        if address not in names:
            machine.files.write_text(f"{folder}\\{address}", owner)
            machine.files.write_text(f"{folder}\\{_LAST}", address)
            return f"{address}/{found.subnet.prefixlen}"
    message = f"no IP addresses available in range set: {found.text}"
    raise CniError(f"failed to allocate for range 0: {message}")


def release(machine: Machine, network: str, container: str, ipam: Mapping[str, Any] | None = None) -> None:
    """Release a container's addresses. It is not an error if the container has none."""
    folder = _store(ipam or {}, network)
    if not machine.files.is_directory(folder):
        return
    for entry in machine.files.listing(folder):
        if entry.is_directory or entry.name == _LAST:
            continue
        if machine.files.read_text(entry.path).partition("\r\n")[0].strip() == container:
            machine.files.delete(entry.path)


def run(machine: Machine, invocation: Invocation, about: ProgramResult) -> ProgramResult:
    """Simulate host-local.exe, which reads a CNI request from standard input.

    Args:
        machine: the node.
        invocation: the invocation of the program, with the request and its environment variables.
        about: the result to return if the command is neither ADD nor DEL, or if no container is given.
    """
    command, container = invocation.variable("CNI_COMMAND"), invocation.variable("CNI_CONTAINERID")
    if command not in ("ADD", "DEL") or not container:
        return about
    try:
        request = json.loads(invocation.stdin.decode("utf-8"))
        name, ipam = str(request["name"]), request["ipam"]
    except (ValueError, KeyError, TypeError):
        # A byte-order mark is not JSON (MicrosoftDocs/Virtualization-Documentation#1240).
        character = invocation.stdin[:1].decode("latin-1") or " "
        message = f"invalid character {character!r} looking for beginning of value"
        return _failure(100, f"error reading network config: {message}")
    interface = invocation.variable("CNI_IFNAME") or "eth0"
    try:
        if command == "DEL":
            release(machine, name, container, ipam)
            return ProgramResult(0)
        address = allocate(machine, ipam, name, container, interface)
    except CniError as error:
        return _failure(999, str(error))
    gateway = str(_range(ipam).gateway)
    version = str(request.get("cniVersion") or "0.1.0")
    if version in ("0.1.0", "0.2.0"):
        answer: dict[str, object] = {"cniVersion": version, "ip4": {"ip": address, "gateway": gateway}, "dns": {}}
    else:
        answer = {"cniVersion": version, "ips": [{"address": address, "gateway": gateway}], "dns": {}}
    return ProgramResult(0, json.dumps(answer, indent=4))


def _failure(code: int, message: str) -> ProgramResult:
    return ProgramResult(1, json.dumps({"code": code, "msg": message}))
