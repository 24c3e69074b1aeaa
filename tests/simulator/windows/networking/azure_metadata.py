# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The parts of an Azure virtual machine by which programs recognize it: asset tag and Instance Metadata Service.

A node with the option `azure` (see kubernetes_node/cni/azure_ipam.py) is an Azure virtual machine. On other nodes,
nothing responds at the address of the metadata service.

The asset tag comes from cloudinit/sources/azure/identity.py in canonical/cloud-init. The `Metadata: true` header, the
network metadata and the error texts come from the page "Azure Instance Metadata Service" of learn.microsoft.com.
"""

from __future__ import annotations

import ipaddress
import json
import socket
import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from simulator.machine.machine import Machine

ADDRESS = "169.254.169.254"
_ASSET_TAG = "7783-7084-3265-9085-8269-3286-77"
_INTERFACES = "/metadata/instance/network/interface"
_LONGEST_REQUEST = 65536


def asset_tag(machine: Machine) -> str:
    """Return the asset tag of the chassis. Outside of Azure, Hyper-V generates a number for the virtual machine."""
    return _ASSET_TAG if isinstance(machine.settings.option("azure"), Mapping) else "0000-0000-0000-0000-0000-0000-00"


def answers(machine: Machine) -> bool:
    """Return whether the Instance Metadata Service responds, which it does only in Azure."""
    return isinstance(machine.settings.option("azure"), Mapping)


def instance(machine: Machine) -> dict[str, Any] | None:
    """Return the machine's compute and network metadata, or None if the machine is not in Azure.

    Source: "Instance metadata" on the page "Azure Instance Metadata Service" of learn.microsoft.com. The option `azure`
    of the node may set fields in `compute`; their defaults are invented.
    """
    about = machine.settings.option("azure")
    if not isinstance(about, Mapping):
        return None
    name = machine.host_name.lower()
    resource = f"/subscriptions/0/resourceGroups/nodes/providers/Microsoft.Compute/virtualMachines/{name}"
    compute = {"name": name, "vmSize": "Standard_D4s_v5", "location": "westeurope", "platformFaultDomain": "0",
               "resourceId": resource, **(about.get("compute") or {})}  # fmt: skip
    return {"compute": compute, "network": {"interface": _interfaces(about)}}


def connect(machine: Machine) -> socket.socket:
    """Return a connection to the Instance Metadata Service. Each connection serves one request."""
    client, server = socket.socketpair()
    threading.Thread(target=_serve, args=(machine, server), daemon=True).start()
    return client


def _serve(machine: Machine, connection: socket.socket) -> None:
    with connection:
        request = b""
        while b"\r\n\r\n" not in request and len(request) < _LONGEST_REQUEST:
            piece = connection.recv(4096)
            if not piece:
                return
            request += piece
        head, *lines = request.decode("latin-1").split("\r\n")
        asks = any(line.replace(" ", "").casefold() == "metadata:true" for line in lines)
        target, _mark, query = head.split(" ")[1].partition("?")
        status, document = _document(machine, target, query) if asks else (400, _error("Bad request"))
        body = json.dumps(document).encode()
        reason = {200: "OK", 400: "Bad Request", 404: "Not Found"}[status]
        lines = [f"HTTP/1.1 {status} {reason}", "Content-Type: application/json; charset=utf-8"]
        lines += [f"Content-Length: {len(body)}", "Server: IMDS/150.870.65.1854", "", ""]
        connection.sendall("\r\n".join(lines).encode("latin-1") + body)


def _document(machine: Machine, target: str, query: str) -> tuple[int, Any]:
    if "api-version=" not in query:
        return 400, _error("Bad request. api-version was not specified in the request")
    if target.rstrip("/") != _INTERFACES:
        return 404, _error("Not found")
    about = machine.settings.option("azure")
    assert isinstance(about, Mapping)
    return 200, _interfaces(about)


def _interfaces(about: Mapping[str, Any]) -> list[dict[str, Any]]:
    subnet = ipaddress.ip_network(str(about["subnet"]))
    addresses = [str(about["primary"]), *map(str, about.get("secondary") or ())]
    ipv4 = {
        "ipAddress": [{"privateIpAddress": address, "publicIpAddress": ""} for address in addresses],
        "subnet": [{"address": str(subnet.network_address), "prefix": str(subnet.prefixlen)}],
    }
    return [{"ipv4": ipv4, "ipv6": {"ipAddress": []}, "macAddress": "000D3AF806EC"}]


def _error(text: str) -> dict[str, str]:
    return {"error": text}
