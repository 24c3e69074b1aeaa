# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Simulate Microsoft's CNI plugins sdnbridge, sdnoverlay and nat, which are one program with three names.

The plugins use only HNS's second API, so they need containerd. They find the HNS network by the configuration's name.
If there is no such network, they try to create one. Since 0.3.2 (pull request 99), they create a network of the type
that the program supports. Earlier versions use the program's name as the type, which HNS refuses. Without
enableDualStack, the type of an existing network is not checked.

Sources: microsoft/windows-container-networking cni/cni.go, common/core/network.go and network/.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Mapping
from typing import Any

from simulator.kubernetes_node import hns
from simulator.kubernetes_node.cni import host_local
from simulator.kubernetes_node.cni.objects import Attachment, CniError, PluginCall, attach, plugin_path
from simulator.kubernetes_node.hns.objects import INVALID_PARAMETER
from simulator.kubernetes_node.hns.policies import normalize

VERSIONS = ("0.2.0", "0.3.0", "0.4.0", "1.0.0")
TYPES = {"sdnbridge": "L2Bridge", "sdnoverlay": "Overlay", "nat": "NAT"}
_CREATES = (0, 3, 2)
_ACL_PRIORITY = 1000


def add(call: PluginCall) -> Attachment:
    """Add a pod to the network, and return its address and endpoint.

    Raises:
        CniError: the plugin fails.
    """
    call.require_version(VERSIONS)
    ipam = call.get("ipam") or {}
    reserved = _reserved(call, ipam)
    try:
        if not call.namespace:
            raise CniError("cannot create endpoint without a namespace")
        network = _network(call, ipam)
        store = hns.store(call.machine)
        known = next((item for item in store.endpoints_of(call.container) if item.name == call.endpoint), None)
        if known and known.network == network.id:
            return Attachment(known.address, known.id)
        return _attach(call, network, reserved or store.free_address(network))
    except hns.HnsError as error:
        _release(call, ipam)
        raise CniError(f"error creating endpoint {error} : endpoint config {{Name:{call.endpoint}}}") from error
    except CniError:
        _release(call, ipam)
        raise


def _reserved(call: PluginCall, ipam: Mapping[str, Any]) -> str:
    """Return the address that the IPAM plugin assigns to the pod, or an empty string if HNS chooses the address.

    Without enableDualStack, the IPAM plugin receives the subnet from the configuration, but neither the address
    ranges nor the data folder (microsoft/windows-container-networking#64).
    """
    if not ipam.get("type"):
        return ""
    plugin_path(call.machine, str(ipam["type"]), call.bin_dirs)
    kept = ipam if _flag(call, "enableDualStack") else {key: ipam[key] for key in ("subnet",) if key in ipam}
    return host_local.allocate(call.machine, kept, call.name, call.container).partition("/")[0]


def _release(call: PluginCall, ipam: Mapping[str, Any]) -> None:
    if ipam.get("type"):
        host_local.release(call.machine, call.name, call.container)


def _network(call: PluginCall, ipam: Mapping[str, Any]) -> hns.Network:
    store = hns.store(call.machine)
    known = store.network_named(call.name)
    if known:
        if _flag(call, "enableDualStack") and known.kind != "L2Bridge":
            raise CniError("Dual stack specified with non l2bridge network")
        return known
    kind = TYPES[call.kind]
    try:
        # An Overlay needs a VSID, which the program cannot set; a subnet is mandatory as well.
        if _version(call.program_version()) < _CREATES or kind == "Overlay" or not ipam.get("subnet"):
            raise hns.HnsError("CreateNetwork", INVALID_PARAMETER)
        return store.create_network(call.name, kind, str(ipam["subnet"]), _network_gateway(ipam))
    except hns.HnsError as error:
        raise CniError(str(error)) from error


def _version(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split("-")[0].split(".") if part.isdigit())


def _network_gateway(ipam: Mapping[str, Any]) -> str:
    routes = ipam.get("routes") or []
    gateway = {key.casefold(): value for key, value in routes[0].items()}.get("gw") if routes else None
    return str(gateway or ipaddress.ip_network(str(ipam["subnet"]), strict=False)[1])


def _attach(call: PluginCall, network: hns.Network, address: str) -> Attachment:
    ipam = call.get("ipam") or {}
    gateway = network.gateway
    if ipam.get("subnet"):
        subnet = ipaddress.ip_network(str(ipam["subnet"]), strict=False)
        gateway = str(subnet[2]) if _flag(call, "forceBridgeGateway") else _network_gateway(ipam)
    policies = [*_port_mappings(call), *_policies(call)]
    if _flag(call, "loopbackDSR"):
        policies.append({"Type": "OutBoundNAT", "Settings": {"Destinations": [address]}})
    wiring = hns.Wiring(normalize(policies, 2), gateway, _dns(call))
    return attach(call, network, address, wiring)


def _flag(call: PluginCall, name: str) -> bool:
    return bool((call.get("optionalFlags") or {}).get(name))


def _policies(call: PluginCall) -> list[object]:
    found = [{key.casefold(): value for key, value in item.items()} for item in call.get("additionalArgs") or []]
    return [item.get("value") for item in found if item.get("name") == "EndpointPolicy"]


def _port_mappings(call: PluginCall) -> list[object]:
    found: list[object] = []
    for item in call.ports:
        ports = {"InternalPort": item["containerPort"], "ExternalPort": item["hostPort"], "Protocol": item["protocol"]}
        found.append({"Type": "PortMapping", "Settings": ports})
        if _flag(call, "allowAclPortMapping"):
            rule = {"Protocols": item["protocol"], "Action": "Allow", "Direction": "In", "Priority": _ACL_PRIORITY,
                    "LocalPorts": str(item["containerPort"])}  # fmt: skip
            found.append({"Type": "ACL", "Settings": rule})
    return found


def _dns(call: PluginCall) -> hns.Dns:
    """Return the DNS settings for a pod. The first name in the search list is prefixed with the pod's namespace."""
    given = {key.casefold(): value for key, value in (call.get("dns") or {}).items()}
    search = list(given.get("search") or ())
    if search:
        search[0] = f"{call.pod_namespace}.{search[0]}"
    return hns.Dns(tuple(given.get("nameservers") or ()), tuple(search))


PLUGINS: Mapping[str, Callable[[PluginCall], Attachment]] = dict.fromkeys(TYPES, add)
