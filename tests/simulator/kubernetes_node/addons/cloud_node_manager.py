# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Simulate cloud-node-manager.exe, which initializes its node with data from Azure's Instance Metadata Service.

If the metadata service does not respond, or if the machine's name differs from the node's, the node stays unchanged,
and the program tries again.

Sources: kubernetes-sigs/cloud-provider-azure v1.36.5, cmd/cloud-node-manager/app/options/options.go (flags),
pkg/nodemanager/nodemanager.go (initializeNode).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from simulator.kubernetes_node.addons.go_flags import GoUsageError, parse
from simulator.kubernetes_node.api import cluster_access
from simulator.kubernetes_node.api.client import STRATEGIC, ApiError, Client, KubeconfigError
from simulator.machine.objects import Invocation, Program, ProgramResult
from simulator.windows.networking import azure_metadata

if TYPE_CHECKING:
    from simulator.machine.machine import Machine

_TAINT = "node.cloudprovider.kubernetes.io/uninitialized"
_FLAGS = frozenset(
    {"node-name", "kubeconfig", "master", "v", "use-instance-metadata", "wait-routes", "cloud-config", "kube-api-qps",
     "kube-api-burst", "kube-api-content-type", "node-status-update-frequency", "min-resync-period"}
)  # fmt: skip
_RETRY = 0.2


def run(machine: Machine, invocation: Invocation) -> ProgramResult:
    """Simulate cloud-node-manager.exe, which runs until it is stopped."""
    try:
        flags = parse(invocation.argv, _FLAGS)
        access = cluster_access.access_of(machine, invocation, flags.get("kubeconfig", ""), flags.get("master", ""))
    except (GoUsageError, KubeconfigError, OSError) as error:
        return ProgramResult(1, "", f"{error}\n")
    name = flags.get("node-name") or machine.host_name.lower()
    client = Client(machine, access)
    try:
        while not invocation.stop.wait(_RETRY):
            try:
                _initialize(machine, client, name)
            except (ApiError, OSError):
                continue  # try again, as the controller does
    finally:
        client.close()
    return ProgramResult(0, "", "")


def _initialize(machine: Machine, client: Client, name: str) -> None:
    node = client.find(f"/api/v1/nodes/{name}")
    about = azure_metadata.instance(machine)
    if node is None or about is None or about["compute"]["name"].lower() != name:
        return
    taints = node["spec"].get("taints") or []
    if _TAINT not in [one["key"] for one in taints]:
        return
    addresses = _addresses(about, name)
    given = (node["metadata"].get("annotations") or {}).get("alpha.kubernetes.io/provided-node-ip")
    if given and given not in [one["address"] for one in addresses]:
        return
    compute = about["compute"]
    labels = {
        "node.kubernetes.io/instance-type": compute["vmSize"],
        "topology.kubernetes.io/region": compute["location"],
        "topology.kubernetes.io/zone": compute["platformFaultDomain"],
    }
    spec = {
        "providerID": node["spec"].get("providerID") or f"azure://{compute['resourceId']}",
        "taints": [one for one in taints if one["key"] != _TAINT],
    }
    replaced = {**node, "metadata": {**node["metadata"], "labels": {**node["metadata"]["labels"], **labels}},
                "spec": {**node["spec"], **spec}}  # fmt: skip
    client.replace(f"/api/v1/nodes/{name}", replaced)
    client.patch(f"/api/v1/nodes/{name}/status", {"status": {"addresses": addresses}}, STRATEGIC)


def _addresses(about: Mapping[str, Any], name: str) -> list[dict[str, str]]:
    """Return the addresses of a node's first network interface, and the node's name as its host name."""
    ipv4 = about["network"]["interface"][0]["ipv4"]["ipAddress"]
    addresses = [{"type": "InternalIP", "address": str(one["privateIpAddress"])} for one in ipv4]
    return [*addresses, {"type": "Hostname", "address": name}]


PROGRAMS: Mapping[str, Program] = {"cloud-node-manager": run}
