# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Simulate flannel's CNI plugin, and the plugins that it calls: win-bridge and win-overlay.

win-bridge and win-overlay find their HNS network by the configuration's name. They never create it.

Sources: flannel-io/cni-plugin flannel.go and flannel_windows.go; containernetworking/plugins pkg/hns and
plugins/main/windows.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from simulator.kubernetes_node import hns
from simulator.kubernetes_node.cni import host_local, sdn_plugins
from simulator.kubernetes_node.cni.objects import VERSIONS, Attachment, CniError, PluginCall, attach, plugin_path
from simulator.kubernetes_node.hns.adapters import management_ip
from simulator.kubernetes_node.hns.policies import normalize
from simulator.kubernetes_node.kubelet.settings import drive

if TYPE_CHECKING:
    from simulator.machine.machine import Machine

SUBNET_FILE = "/run/flannel/subnet.env"
_KEYS = ("FLANNEL_NETWORK", "FLANNEL_SUBNET", "FLANNEL_MTU", "FLANNEL_IPMASQ")
_OWN = ("name", "ipam")


def flannel(call: PluginCall) -> Attachment:
    """Add a pod to the network with the plugin that flannel's configuration specifies, by default win-bridge.

    Raises:
        CniError: a plugin fails.
    """
    call.require_version(VERSIONS)
    delegate = _delegate(call)
    plugin_path(call.machine, str(delegate["type"]), call.bin_dirs)
    inner = call.delegate(delegate)
    add = {"win-bridge": win_bridge, "win-overlay": win_overlay, **sdn_plugins.PLUGINS}.get(inner.kind)
    if add is None:
        raise CniError(f"the simulator does not model flannel with the delegate plugin {delegate['type']}")
    try:
        return add(inner)
    except CniError as error:
        raise CniError(f"failed to delegate add: {error}") from error


def _delegate(call: PluginCall) -> dict[str, Any]:
    values = _subnet_env(call.machine, str(call.get("subnetFile") or SUBNET_FILE))
    delegate = dict(call.get("delegate") or {})
    for name in _OWN:
        if name in delegate:
            raise CniError(f"'delegate' dictionary must not have '{name}' field, it'll be set by flannel")
    if not isinstance(delegate.setdefault("type", "win-bridge"), str):
        raise CniError("'delegate' dictionary, if present, must have (string) 'type' field")
    network = ipaddress.ip_interface(values["FLANNEL_SUBNET"]).network
    return {
        **delegate,
        "name": call.name,
        "ipMasq": values["FLANNEL_IPMASQ"] == "true",
        "ipMasqNetwork": values["FLANNEL_NETWORK"],
        "ipam": {"type": "host-local", "subnet": str(network)},
    }


def _subnet_env(machine: Machine, path: str) -> Mapping[str, str]:
    real = drive(path.replace("/", "\\"))
    if not machine.files.is_file(real):
        exists = machine.files.is_directory(real.rpartition("\\")[0])
        reason = f"The system cannot find the {'file' if exists else 'path'} specified."
        raise CniError(f"loadFlannelSubnetEnv failed: open {path}: {reason}")
    values = dict(line.split("=", 1) for line in machine.files.read_text(real).split() if "=" in line)
    missing = [name for name in _KEYS if name not in values]
    if missing:
        raise CniError(f"loadFlannelSubnetEnv failed: {path} is missing {', '.join(missing)}")
    return values


def win_bridge(call: PluginCall) -> Attachment:
    """Add a pod to an L2Bridge or L2Tunnel network. The pod's gateway is the subnet's second usable address.

    Raises:
        CniError: the plugin fails.
    """
    call.require_version(VERSIONS)
    api = _api(call)
    network = hns.store(call.machine).network_named(call.name)
    if network is None:
        raise CniError(f"error while getting network {call.name}: {_missing(call.name, api)}")
    if network.kind not in ("L2Bridge", "L2Tunnel"):
        raise CniError(f"network {call.name} is of unexpected type: {network.kind}")
    adding = f"error while adding {'HostComputeEndpoint' if api == 2 else 'HNSEndpoint'}"
    masquerade = str(call.get("ipMasqNetwork") or "")
    policies = [*_outbound_nat(_policies(call), masquerade, api), *_port_mappings(call, api)]
    return _add(call, network, api, policies, adding)


def win_overlay(call: PluginCall) -> Attachment:
    """Add a pod to an Overlay network. The node's address becomes the provider address of the pod's endpoint.

    Raises:
        CniError: the plugin fails.
    """
    call.require_version(VERSIONS)
    prefix = str(call.get("endpointMacPrefix") or "0E-2A")
    api = _api(call)
    network = hns.store(call.machine).network_named(call.name)
    lookup = "GetNetworkByName" if api == 2 else "GETHNSNewtorkByName"
    outer = "error while executing ADD command: "
    if network is None:
        raise CniError(f"{outer}error while {lookup}({call.name}): {_missing(call.name, api)}")
    if network.kind != "Overlay":
        kind = "unexpected type" if api == 2 else "an unexpected type"
        raise CniError(f"{outer}network {call.name} is of {kind}: {network.kind}")
    if len(prefix) != 5 or prefix[2] != "-":
        message = f"endpointMacPrefix [{prefix}] is invalid, value must be of the format xx-xx"
        raise CniError(f"{outer}error while ProcessEndpointArgs: {message}")
    policies = _provider(_policies(call), management_ip(call.machine), api)
    if call.get("ipMasq"):
        policies = _outbound_nat(policies, network.subnet, api)
    verb = "AddHcnEndpoint" if api == 2 else "ProvisionEndpoint"
    adding = f"{outer}error while {verb}({call.endpoint},{network.id},{call.namespace})"
    return _add(call, network, api, policies, adding, prefix)


def _add(
    call: PluginCall, network: hns.Network, api: int, policies: list[dict[str, Any]], adding: str, mac: str = ""
) -> Attachment:
    """Reserve an address for a pod, and create the pod's endpoint. If HNS refuses the endpoint, release the address."""
    _require_namespace(call, api, adding)
    address = gateway = ""
    ipam = call.get("ipam") or {}
    try:
        if ipam.get("type"):
            plugin_path(call.machine, str(ipam["type"]), call.bin_dirs)
            reserved = ipaddress.ip_interface(host_local.allocate(call.machine, ipam, call.name, call.container))
            address = str(reserved.ip)
            gateway = "" if mac else str(reserved.network[2])
        elif mac:
            raise CniError("no IPAM plugin")
        else:
            address = hns.store(call.machine).free_address(network)
    except (CniError, hns.HnsError) as error:
        raise CniError(f"{adding}: {error}") from error
    try:
        wiring = hns.Wiring(normalize(policies, api), gateway, _dns(call), api, _mac(mac, address) if mac else "")
        return attach(call, network, address, wiring)
    except hns.HnsError as error:
        host_local.release(call.machine, call.name, call.container, ipam)
        kind = "HostComputeEndpoint" if api == 2 and not mac else "HNSEndpoint"
        raise CniError(f"{adding}: failed to create the new {kind}: {error}") from error


def _require_namespace(call: PluginCall, api: int, adding: str) -> None:
    """Raise CniError if the configured version of HNS's API does not work with the container runtime.

    Version 2 of the API adds the endpoint to the sandbox's network namespace, which Docker's containers do not have.
    With version 1, the plugin expects that a container in a namespace shares an endpoint that already exists
    (AddHnsEndpoint in pkg/hns). With containerd, there is no such endpoint yet, so version 1 fails.
    """
    if api == 2 and not call.namespace:
        message = "failed to add endpoint to namespace none: the network namespace is not valid"
        raise CniError(f"{adding}: {message} (apiVersion 2 needs containerd)")
    if api == 1 and call.namespace:
        raise CniError(f"{adding}: failed to find HNSEndpoint {call.endpoint}: Endpoint {call.endpoint} not found")


def _api(call: PluginCall) -> int:
    """Return the version of HNS's API that the configuration requests. Any value other than 2 means version 1."""
    return 2 if call.get("apiVersion") == 2 else 1


def _missing(name: str, api: int) -> str:
    return f'Network name "{name}" not found' if api == 2 else f"Network {name} not found"


def _mac(prefix: str, address: str) -> str:
    return "-".join([prefix, *(f"{int(part):02x}" for part in address.split("."))]).upper()


def _dns(call: PluginCall) -> hns.Dns:
    given = call.get("dns") or {}
    return hns.Dns(tuple(given.get("nameservers") or ()), tuple(given.get("search") or ()))


def _policies(call: PluginCall) -> list[dict[str, Any]]:
    """Return the endpoint policies in the configuration: the `Value` of each entry whose `Name` is EndpointPolicy."""
    found = []
    for item in call.get("policies") or []:
        entry = {key.casefold(): value for key, value in item.items()}
        if str(entry.get("name")).casefold() == "endpointpolicy" and isinstance(entry.get("value"), dict):
            found.append(dict(entry["value"]))
    return found


def _outbound_nat(policies: list[dict[str, Any]], network: str, api: int) -> list[dict[str, Any]]:
    """Return the policies with `network` added to the exceptions of the OutBoundNAT policy.

    If there is no such policy, add one. The two versions of HNS's API have different policy formats. If the policy has
    the format of the other version, the plugin does not find the policy's exceptions, so they are lost.
    """
    if not network:
        return policies
    for number, item in enumerate(policies):
        if str(item.get("Type")).casefold() == "outboundnat":
            known = (item.get("Settings") or {}).get("Exceptions") if api == 2 else item.get("ExceptionList")
            exceptions = [value for value in known or [] if value != network]
            return [*policies[:number], _nat([*exceptions, network], api), *policies[number + 1 :]]
    return [*policies, _nat([network], api)]


def _nat(exceptions: list[str], api: int) -> dict[str, Any]:
    if api == 2:
        return {"Type": "OutBoundNAT", "Settings": {"Exceptions": exceptions}}
    return {"Type": "OutBoundNAT", "ExceptionList": exceptions}


def _provider(policies: list[dict[str, Any]], address: str, api: int) -> list[dict[str, Any]]:
    """Return the policies with the node's address added as the provider address, unless they already contain one."""
    kind = "ProviderAddress" if api == 2 else "PA"
    if not address or any(item.get("Type") == kind for item in policies):
        return policies
    own = {"Type": kind, "Settings": {kind: address}} if api == 2 else {"Type": kind, kind: address}
    return [*policies, own]


def _port_mappings(call: PluginCall, api: int) -> list[dict[str, Any]]:
    found = []
    for item in call.ports:
        ports = {"InternalPort": item["containerPort"], "ExternalPort": item["hostPort"], "Protocol": item["protocol"]}
        found.append({"Type": "PortMapping", "Settings": ports} if api == 2 else {"Type": "NAT", **ports})
    return found


PLUGINS = {"flannel": flannel, "win-bridge": win_bridge, "win-overlay": win_overlay}
