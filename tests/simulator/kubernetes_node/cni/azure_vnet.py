# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Simulate azure-vnet, which creates the HNS network for the first pod, and gives pods addresses from azure-vnet-ipam.

If the network exists, the plugin uses it, whatever its type. The configuration's `bridge` has no effect on Windows,
nor has its `mode` since version 1.6.16. The plugin keeps its state and logs in its working directory.

Sources: Azure/azure-container-networking cni/network/network.go, cni/network/network_windows.go,
network/network_windows.go, network/endpoint_windows.go, network/policy/policy_windows.go (v1.4.58 and v1.6.21).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from simulator.kubernetes_node import hns
from simulator.kubernetes_node.cni import azure_ipam
from simulator.kubernetes_node.cni.azure_ipam import AddressLease
from simulator.kubernetes_node.cni.objects import Attachment, CniError, PluginCall, attach, plugin_path
from simulator.kubernetes_node.hns.objects import Network
from simulator.kubernetes_node.hns.policies import normalize
from simulator.kubernetes_node.programs import contracts

if TYPE_CHECKING:
    from simulator.machine.machine import Machine

STATE = rf"{azure_ipam.FOLDER}\azure-vnet.json"
LOG = rf"{azure_ipam.FOLDER}\azure-vnet.log"
VERSIONS = ("0.1.0", "0.2.0", "0.3.0", "0.3.1", "0.4.0", "1.0.0")
_IPAM = "azure-vnet-ipam"
_MODES = {"bridge": "L2Bridge", "tunnel": "L2Tunnel", "": "L2Tunnel"}


def add(call: PluginCall) -> Attachment:
    """Add a pod to the network, and return its address and endpoint.

    Raises:
        CniError: the plugin fails.
    """
    call.require_version(VERSIONS)
    version = call.program_version()
    _require_unlocked(call.machine)
    state = azure_ipam.read_state(call.machine, STATE, "Network")
    lease = _lease(call, version)
    try:
        dns = _dns(call, version)
        network = _network(call, lease, version)
        attachment = _attach(call, network, lease, dns, version)
    except CniError:
        azure_ipam.release(call.machine, call.container)
        raise
    _remember(call, state, lease, attachment, version)
    return attachment


def remove(machine: Machine, container: str) -> None:
    """Release a pod's address, and forget its endpoint. It is not an error if the plugin does not know the pod.

    Raises:
        CniError: a state file is invalid.
    """
    azure_ipam.release(machine, container)
    if not machine.files.is_file(STATE):
        return
    state = azure_ipam.read_state(machine, STATE, "Network")
    for card in (state.get("ExternalInterfaces") or {}).values():
        for network in card["Networks"].values():
            known = network["Endpoints"]
            network["Endpoints"] = {key: item for key, item in known.items() if item["ContainerID"] != container}
    _write(machine, state)


def endpoint_name(container: str) -> str:
    """Return the name of a pod's endpoint in HNS.

    Sources: the ConstructEndpointID function, and an example in Azure/azure-container-networking#283.
    """
    return f"{container[:8]}-eth0"


def _require_unlocked(machine: Machine) -> None:
    """Raise CniError if a running process has locked the plugin's state file.

    Source: Azure/azure-container-networking#359.
    """
    lock = f"{STATE}.lock"
    owner = machine.files.read_text(lock).strip() if machine.files.is_file(lock) else ""
    if owner and any(str(process.id) == owner for process in machine.processes.all()):
        message = "error Acquiring store lock: timed out locking store"
        raise CniError(f"Failed to initialize key-value store of network plugin: {message}")


def _lease(call: PluginCall, version: str) -> AddressLease:
    ipam = str((call.get("ipam") or {}).get("type") or "")
    failed = "IPAM Invoker Add failed with error: Failed to allocate pool: Failed to delegate: "
    if ipam.removesuffix(".exe") != _IPAM:
        raise CniError(f"{failed}the simulator does not model azure-vnet with the IPAM plugin {ipam!r}")
    try:
        plugin_path(call.machine, ipam, call.bin_dirs)
        return azure_ipam.allocate(call.machine, call.container, version)
    except CniError as error:
        _log(call.machine, f"[azure-vnet] Failed to allocate pool: Failed to delegate: {error}.")
        raise CniError(f"{failed}{error}") from error


def _network(call: PluginCall, lease: AddressLease, version: str) -> Network:
    store = hns.store(call.machine)
    known = store.network_named(call.name)
    if known:
        return known
    head = "failed to create endpoint" if _has_one_step(version) else "createNetworkInternal: Failed to create network"
    mode = "bridge" if _ignores_mode(version) else str(call.get("mode") or "")
    if mode not in _MODES:
        raise CniError(f"{head}: Network mode is invalid")
    try:
        return store.create_network(call.name, _MODES[mode], lease.subnet, lease.gateway)
    except hns.HnsError as error:
        raise CniError(f"{head}: Failed to create hcn network: {call.name} due to error: {error}") from error


def _has_one_step(version: str) -> bool:
    """Return whether this version of azure-vnet creates the network and the endpoint in one step.

    If so, network errors and endpoint errors have the same prefix.
    """
    return contracts.at_least(version, "1.6")


def _ignores_mode(version: str) -> bool:
    """Return whether this version of azure-vnet always creates an L2Bridge network, as versions since 1.6.16 do."""
    minor, _, patch = version.removeprefix("v").rpartition(".")
    return contracts.at_least(version, "1.7") or (minor == "1.6" and patch.isdigit() and int(patch) >= 16)


def _attach(call: PluginCall, network: Network, lease: AddressLease, dns: hns.Dns, version: str) -> Attachment:
    head = f"{'failed' if _has_one_step(version) else 'Failed'} to create endpoint"
    api = 2 if call.namespace else 1
    try:
        policies = normalize(_policies(call, lease.address, api, head), api)
        wiring = hns.Wiring(policies, lease.gateway, dns, api)
        return attach(call, network, lease.address, wiring, endpoint_name(call.container))
    except hns.HnsError as error:
        name = f"Failed to create endpoint: {endpoint_name(call.container)} due to error: " if api == 2 else ""
        raise CniError(f"{head}: {name}{error}") from error


def _policies(call: PluginCall, address: str, api: int, head: str) -> list[object]:
    """Return an endpoint's policies for HNS. The configuration always uses the policy format of HNS's first API."""
    found: list[object] = []
    for item in call.get("additionalArgs") or []:
        entry = {key.casefold(): value for key, value in item.items()}
        value = entry.get("value")
        if "Policy" not in str(entry.get("name")) or not isinstance(value, Mapping):
            continue
        found += [dict(value)] if api == 1 else _second_form(value, head)
    if (call.get("windowsSettings") or {}).get("enableLoopbackDSR"):
        found.append({"Type": "OutBoundNAT", "Settings": {"Destinations": [address]}} if api == 2
                     else {"Type": "OutBoundNAT", "Destinations": [address]})  # fmt: skip
    for item in call.ports:
        ports = {"InternalPort": item["containerPort"], "ExternalPort": item["hostPort"], "Protocol": item["protocol"]}
        found.append({"Type": "PortMapping", "Settings": ports} if api == 2 else {"Type": "NAT", **ports})
    return found


def _second_form(value: Mapping[str, Any], head: str) -> list[object]:
    """Convert a policy from the format of HNS's first API to that of the second.

    The returned list is empty if the policy's type is unknown or an ACL is incomplete.

    Raises:
        CniError: an OutBoundNAT policy has no exceptions. The message starts with `head`.
    """
    kind = str(value.get("Type") or "").casefold()
    rest = {key: item for key, item in value.items() if key != "Type"}
    if kind == "outboundnat":
        if not value.get("ExceptionList"):
            raise CniError(f"{head}: OutBoundNAT policy not set")
        return [{"Type": "OutBoundNAT", "Settings": {"Exceptions": value["ExceptionList"]}}]
    if kind == "route":
        return [{"Type": "SDNRoute", "Settings": rest}]
    if kind == "loopbackdsr":
        return [{"Type": "OutBoundNAT", "Settings": {"Destinations": [value.get("IPAddress")]}}]
    if kind == "acl" and value.get("Action"):
        return [{"Type": "ACL", "Settings": rest}]
    if kind == "l4wfpproxy":
        return [{"Type": "L4WFPPROXY", "Settings": rest}]
    return []


def _dns(call: PluginCall, version: str) -> hns.Dns:
    given = {key.casefold(): value for key, value in (call.get("dns") or {}).items()}
    servers, search = given.get("nameservers") or [], given.get("search") or []
    if bool(servers) != bool(search):
        is_new = not _has_one_step(version) and hns.store(call.machine).network_named(call.name) is None
        step = "getDNSSettings" if is_new else "getEndpointDNSSettings"
        fields = f"Nameservers:{_go_list(servers)} Domain:{given.get('domain', '')} Search:{_go_list(search)}"
        options = _go_list(given.get("options") or [])
        raise CniError(f"Failed to {step}: Wrong DNS configuration: {{{fields} Options:{options}}}")
    first = [f"{call.pod_namespace}.{search[0]}"] if search else []
    return hns.Dns(tuple(servers), (*first, *search[1:]))


def _go_list(items: Sequence[str]) -> str:
    """Format a list of strings as Go prints it."""
    return f"[{' '.join(items)}]"


def _remember(
    call: PluginCall, state: dict[str, Any], lease: AddressLease, attachment: Attachment, version: str
) -> None:
    card = state.setdefault("ExternalInterfaces", {}).setdefault("Ethernet", {"Name": "Ethernet", "Networks": {}})
    about = {"Id": call.name, "Mode": call.get("mode"), "Endpoints": {}, "Subnets": [lease.subnet]}
    name = endpoint_name(call.container)
    card["Networks"].setdefault(call.name, about)["Endpoints"][name] = {
        "Id": name,
        "HnsId": attachment.endpoint.lower(),
        "ContainerID": call.container,
        "IPAddresses": [{"IP": lease.address}],
    }
    _write(call.machine, {**state, "Version": f"v{version}"})
    _log(call.machine, f"[cni-net] ADD command completed for pod with IPs:[{lease.address}].")


def _write(machine: Machine, state: Mapping[str, Any]) -> None:
    machine.files.write_text(STATE, json.dumps({"Network": state}, indent=1))
    machine.files.write_text(f"{STATE}.lock", "")


def _log(machine: Machine, text: str) -> None:
    known = machine.files.read_text(LOG) if machine.files.is_file(LOG) else ""
    machine.files.write_text(LOG, f"{known}{machine.clock.now():%Y/%m/%d %H:%M:%S} {text}\r\n")


PLUGINS = {"azure-vnet": add}
