# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
r"""Simulate Calico's CNI plugin with calico-ipam.

The plugin assigns an address from the node's block to a pod, creates the pod's HNS endpoint, and annotates the pod.
To remove a pod, it needs the cache of libcni (`C:\var\lib\cni\results`). Only Kubernetes pods with containerd and
`windows_use_single_network` are modelled. Pod annotations that choose pools or addresses are ignored.

Sources: cni-plugin/pkg/plugin/plugin.go, pkg/k8s/k8s.go, pkg/ipamplugin/ipam_plugin.go, internal/pkg/utils/winpol.
"""

from __future__ import annotations

import ipaddress
import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from simulator.kubernetes_node import hns
from simulator.kubernetes_node.api import cluster_access
from simulator.kubernetes_node.api.client import STRATEGIC, Client, KubeconfigError, read_kubeconfig
from simulator.kubernetes_node.cni.calico import hns_network
from simulator.kubernetes_node.cni.calico.datastore import Datastore, DatastoreError
from simulator.kubernetes_node.cni.calico.environment import CalicoError
from simulator.kubernetes_node.cni.calico.ipam import Ipam, IpamError
from simulator.kubernetes_node.cni.objects import Attachment, CniError, PluginCall, attach, plugin_path
from simulator.kubernetes_node.hns.adapters import management_ip
from simulator.kubernetes_node.hns.policies import normalize
from simulator.kubernetes_node.kubelet.settings import drive

if TYPE_CHECKING:
    from simulator.machine.machine import Machine

VERSIONS = ("0.1.0", "0.2.0", "0.3.0", "0.3.1", "0.4.0", "1.0.0")
CACHE = r"C:\var\lib\cni\results"
_DENY = {
    "Type": "ACL",
    "Settings": {"RuleType": "Switch", "Action": "Block", "Direction": "In", "Protocols": "256", "Priority": 65500},
}


def add(call: PluginCall) -> Attachment:
    """Add a pod to the network, and return its address and endpoint.

    Raises:
        CniError: the plugin fails.
    """
    call.require_version(VERSIONS)
    _log(call)
    datastore = _datastore(call)
    try:
        _check_ready(datastore)
        pod = f"/api/v1/namespaces/{call.pod_namespace}/pods/{call.pod}"
        datastore.request("GET", pod, f"WorkloadEndpoint({call.pod_namespace}/{call.pod})")
        return _attached(call, datastore, pod)
    except (DatastoreError, IpamError, CalicoError, hns.HnsError) as error:
        raise CniError(str(error)) from error
    finally:
        datastore.close()


def _log(call: PluginCall) -> None:
    """Write to the log file that the CNI configuration names, and create the file's folder if needed.

    Source: the Log function in internal/pkg/utils.
    """
    path = str(call.get("log_file_path") or "")
    if not path:
        return
    path = drive(path)
    files = call.machine.files
    files.make_directory(path.rpartition("\\")[0])
    before = files.read_text(path) if files.is_file(path) else ""
    files.write_text(path, f"{before}[INFO] Extracted identifiers ContainerID={call.container} Pod={call.pod}\n")


def _attached(call: PluginCall, datastore: Datastore, pod: str) -> Attachment:
    ipam = Ipam(datastore, _node_name(call))
    plugin_path(call.machine, str((call.get("ipam") or {}).get("type") or ""), call.bin_dirs)
    attributes = {"namespace": call.pod_namespace, "node": _node_name(call), "pod": call.pod}
    address, block = ipam.assign(_handle(call), attributes)
    try:
        network = hns_network.ensure(
            call.machine, str(call.get("mode")), block, int(call.get("vxlan_vni") or 0), lambda *_: None
        )
        found = attach(call, network, address, _wiring(call, datastore, block, address))
        annotations = {
            "cni.projectcalico.org/containerID": call.container,
            "cni.projectcalico.org/podIP": f"{address}/32",
            "cni.projectcalico.org/podIPs": f"{address}/32",
        }
        what = f"WorkloadEndpoint({call.pod_namespace}/{call.pod})"
        datastore.request("PATCH", f"{pod}/status", what, {"metadata": {"annotations": annotations}}, STRATEGIC)
    except (DatastoreError, CalicoError, hns.HnsError, CniError):
        ipam.release(_handle(call))
        raise
    _remember(call)
    return found


def _handle(call: PluginCall) -> str:
    return f"{call.name}.{call.container}"


def _node_name(call: PluginCall) -> str:
    return str(call.get("nodename") or call.machine.name.lower())


def _datastore(call: PluginCall) -> Datastore:
    """Return a connection to the datastore, with the credentials in the kubeconfig that install-cni wrote.

    Raises:
        CniError: the kubeconfig cannot be used, or the API server is not reachable.
    """
    path = str((call.get("kubernetes") or {}).get("kubeconfig") or "")
    try:
        access = read_kubeconfig(call.machine, drive(path))
        return Datastore(Client(call.machine, cluster_access.reach(call.machine, access), timeout=5.0))
    except KubeconfigError as error:
        raise CniError(f"error creating calico client: {error}") from error
    except OSError as error:
        raise CniError(f"error getting ClusterInformation: {error}") from error


def _check_ready(datastore: Datastore) -> None:
    try:
        found = datastore.get("clusterinformations", "default")
    except DatastoreError as error:
        raise CniError(f"error getting ClusterInformation: {error}") from error
    if not found["spec"].get("datastoreReady"):
        raise CniError("Calico is currently not ready to process requests")


def _wiring(call: PluginCall, datastore: Datastore, block: ipaddress.IPv4Network, address: str) -> hns.Wiring:
    is_overlay = call.get("mode") == "vxlan"
    policies = [*_policies(call, datastore, address)]
    provider, mac = management_ip(call.machine), ""
    if is_overlay:
        prefix = str(call.get("vxlan_mac_prefix") or "0E-2A")
        if len(prefix) != 5 or prefix[2] != "-":
            raise CalicoError(f"endpointMacPrefix [{prefix}] is invalid, value must be of the format xx-xx")
        mac = "-".join([prefix, *(f"{int(part):02x}" for part in address.split("."))]).upper()
        policies.append({"Type": "ProviderAddress", "Settings": {"ProviderAddress": provider}})
    else:
        route = {"DestinationPrefix": f"{provider}/32", "NeedEncap": True}
        policies.append({"Type": "SDNRoute", "Settings": route})
    if call.get("windows_loopback_DSR"):
        policies.append({"Type": "OutBoundNAT", "Settings": {"Destinations": [address]}})
    dns = call.get("dns") or {}
    values = {key.casefold(): value for key, value in dns.items()}
    servers, search = tuple(values.get("nameservers") or ()), tuple(values.get("search") or ())
    gateway = str(block[1] if is_overlay else block[2])
    return hns.Wiring(normalize([*policies, _DENY], 2), gateway, hns.Dns(servers, search), 2, mac)


def _policies(call: PluginCall, datastore: Datastore, address: str) -> list[dict[str, Any]]:
    """Return the policies of the CNI configuration in the format of HNS's second API.

    The networks of the IP pools are added to the exceptions from NAT. If the pod's pool does not use NAT, there is no
    OutBoundNAT policy.
    """
    pools = [item["spec"] for item in datastore.all("ippools") if ":" not in item["spec"]["cidr"]]
    networks = [str(item["cidr"]) for item in pools]
    own = [item for item in pools if ipaddress.ip_address(address) in ipaddress.ip_network(item["cidr"])]
    outgoing = bool(own[-1].get("natOutgoing")) if own else True
    found: list[dict[str, Any]] = []
    has_nat = False
    for item in call.get("policies") or []:
        entry = {key.casefold(): value for key, value in item.items()}
        value = dict(entry.get("value") or {})
        kind = str(value.pop("Type", ""))
        if str(entry.get("name")).casefold() != "endpointpolicy" or not kind:
            continue
        if kind.casefold() == "outboundnat":
            has_nat = True
            if not outgoing:
                continue
            value = {"Exceptions": [*(value.get("ExceptionList") or []), *networks]}
        found.append({"Type": kind, "Settings": value})
    if not has_nat and outgoing and networks:
        found.append({"Type": "OutBoundNAT", "Settings": {"Exceptions": networks}})
    return found


def _cache_file(container: str) -> str:
    return f"{CACHE}\\{container}-eth0"


def _remember(call: PluginCall) -> None:
    document = {"conf": dict(call.conf), "name": call.name, "version": call.version, "bins": list(call.bin_dirs),
                "pod": call.pod, "podNamespace": call.pod_namespace}  # fmt: skip
    call.machine.files.make_directory(CACHE)
    call.machine.files.write_text(_cache_file(call.container), json.dumps(document))


def cached(machine: Machine, container: str) -> PluginCall | None:
    """Return the plugin call that added a pod sandbox to the network, or None if this plugin did not add it."""
    path = _cache_file(container)
    if not machine.files.is_file(path):
        return None
    known = json.loads(machine.files.read_text(path))
    return PluginCall(machine, known["conf"], known["name"], known["version"], container, "", known["bins"],
                known["podNamespace"], (), known["pod"])  # fmt: skip


def check(call: PluginCall) -> None:
    """Check that Calico's datastore is ready, as the plugin does before it removes a pod sandbox.

    Raises:
        CniError: the datastore is not reachable or not ready, or the plugin's executable does not exist.
    """
    where = f'plugin type="{call.conf["type"]}" name="{call.name}" failed (delete): '
    try:
        plugin_path(call.machine, str(call.conf["type"]), call.bin_dirs)
    except CniError as error:
        raise CniError(str(error)) from error
    try:
        datastore = _datastore(call)
        try:
            _check_ready(datastore)
        finally:
            datastore.close()
    except CniError as error:
        raise CniError(f"{where}{error}") from error


def release(call: PluginCall) -> None:
    """Release a pod sandbox's address after the sandbox's endpoint was removed.

    Raises:
        CniError: the plugin fails.
    """
    try:
        datastore = _datastore(call)
        try:
            Ipam(datastore, _node_name(call)).release(_handle(call))
        finally:
            datastore.close()
    except (CniError, DatastoreError) as error:
        text = f'plugin type="{call.conf["type"]}" name="{call.name}" failed (delete): {error}'
        raise CniError(text) from error
    call.machine.files.delete(_cache_file(call.container))


PLUGINS: Mapping[str, Callable[[PluginCall], Attachment]] = {"calico": add}
