# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Simulate Felix, which sets up HNS with routes to other nodes' pods, and with endpoint rules for network policies.

Felix creates routes only for the address blocks of IP pools that use VXLAN. It ignores the configured VXLAN port,
because Windows always uses 4789.

Sources: felix/dataplane/windows/{vxlan_mgr,endpoint_mgr,win_dataplane}.go, felix/daemon/daemon.go.
"""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from simulator.kubernetes_node import hns
from simulator.kubernetes_node.api.client import Client, KubeconfigError
from simulator.kubernetes_node.cni.calico import policy
from simulator.kubernetes_node.cni.calico.datastore import Datastore, DatastoreError, Object
from simulator.kubernetes_node.cni.calico.environment import CalicoError, Output, in_cluster, pause
from simulator.kubernetes_node.hns.objects import ATTACHED, ATTACHED_SHARING, Endpoint
from simulator.kubernetes_node.hns.policies import normalize
from simulator.machine.objects import Invocation
from simulator.windows.networking.network import interfaces

if TYPE_CHECKING:
    from simulator.machine.machine import Machine

_ROUTES = "(?i)calico.*"
_PREFIX = "projectcalico.org"
_PERIOD = 10.0  # seconds of the machine's time between two comparisons with the datastore


@dataclass
class FelixState:
    """The state of Felix on a machine.

    Args:
        running: whether Felix is running.
        live: whether its health endpoint responds, which needs FELIX_HEALTHENABLED.
        ready: whether Felix has applied the state of the datastore at least once.
        problem: the error of the last attempt to bring HNS in line with the datastore, or an empty string if
            that attempt succeeded.
    """

    running: bool = False
    live: bool = False
    ready: bool = False
    problem: str = ""

    def stopped(self) -> None:
        """Record that Felix has ended."""
        self.running = self.live = self.ready = False


def serve(machine: Machine, run: Invocation, output: Output) -> int:
    """Run Felix until it ends, and return its exit code.

    Raises:
        StoppedError: the container is being stopped.
    """
    state = machine.part(FelixState)
    state.stopped()
    try:
        datastore = _connect(machine, run, output)
        state.running = True
        state.live = run.variable("FELIX_HEALTHENABLED").lower() == "true"
        _Felix(machine, run, output, datastore, state).work()
    except (CalicoError, KubeconfigError) as error:
        output.log("FATAL", str(error))
    finally:
        state.stopped()
    return 1


def _connect(machine: Machine, run: Invocation, output: Output) -> Datastore:
    """Connect to the datastore, retrying until this succeeds, and return the connection.

    Raises:
        CalicoError: Typha is configured, but its service is not found.
        KubeconfigError: an environment variable or the token of the service account is missing.
        StoppedError: the container is being stopped.
    """
    while True:
        try:
            datastore = Datastore(Client(machine, in_cluster(machine, run), timeout=5.0))
            datastore.get("clusterinformations", "default")
            break
        except DatastoreError as error:
            output.log("ERROR", "Failed to perform datastore sync, retrying", error=error)
        except OSError as error:
            output.log("ERROR", "Failed to connect to the datastore, retrying", error=error)
        pause(machine, run, 1.0)
    service = run.variable("FELIX_TYPHAK8SSERVICENAME")
    if service and service != "none":
        namespace = run.variable("FELIX_TYPHAK8SNAMESPACE") or "kube-system"
        try:
            datastore.request("GET", f"/api/v1/namespaces/{namespace}/services/{service}", f"Service({service})")
        except DatastoreError as error:
            text = f"Typha discovery enabled but discovery failed. error={error}"
            raise CalicoError(text) from error
    return datastore


class _Felix:
    def __init__(
        self, machine: Machine, run: Invocation, output: Output, datastore: Datastore, state: FelixState
    ) -> None:
        self._machine, self._run, self._output = machine, run, output
        self._datastore, self._state = datastore, state
        self._name = run.variable("NODENAME").strip() or machine.name.lower()
        self._endpoints = re.compile(run.variable("KUBE_NETWORK") or _ROUTES)
        self._warned: set[str] = set()

    def work(self) -> None:
        """Bring HNS in line with Calico's datastore at intervals."""
        while True:
            if self._machine.network.is_up:
                self._compare()
            pause(self._machine, self._run, _PERIOD)

    def _compare(self) -> None:
        state = self._state
        try:
            felix = self._datastore.find("felixconfigurations", "default") or {"spec": {}}
            if felix["spec"].get("bpfEnabled"):
                self._warn("BPF dataplane is not supported on Windows, ignoring bpfEnabled")
            self._routes()
            self._policies()
        except (DatastoreError, CalicoError, hns.HnsError, OSError) as error:
            if str(error) != state.problem:
                self._output.log("ERROR", "Failed to apply update to the dataplane, will retry", error=error)
            state.problem = str(error)
            return
        if not state.ready:
            self._output.log("INFO", "Completed first update to dataplane.")
        state.problem, state.ready = "", True

    def _warn(self, text: str) -> None:
        if text not in self._warned:
            self._warned.add(text)
            self._output.log("WARNING", text)

    def _list(self, path: str, what: str) -> list[Object]:
        return list(self._datastore.request("GET", path, what).get("items") or [])

    # -- routes

    def _routes(self) -> None:
        """With VXLAN, replace the routes in HNS with one route for each address block of the other nodes.

        Raises:
            CalicoError: Calico's HNS network does not exist, or there are routes but the network is not an overlay.
        """
        if self._run.variable("CALICO_NETWORKING_BACKEND") != "vxlan":
            return
        wanted = self._wanted_routes()
        found = [item for item in hns.store(self._machine).networks() if re.match(_ROUTES, item.name)]
        if not found:
            raise CalicoError(f"didn't find any HNS networks matching regular expression {_ROUTES}")
        network = found[0]
        if network.kind != "Overlay":
            if wanted:
                raise CalicoError(
                    f"have VXLAN routes but HNS network, {network.name}, is of wrong type: {network.kind}"
                )
            return
        others = [item for item in network.policies if item.get("Type") != "RemoteSubnetRoute"]
        network.policies[:] = [*others, *wanted]

    def _wanted_routes(self) -> list[dict[str, object]]:
        pools = [
            ipaddress.ip_network(item["spec"]["cidr"])
            for item in self._datastore.all("ippools")
            if item["spec"].get("vxlanMode", "Never") != "Never" and ":" not in item["spec"]["cidr"]
        ]
        nodes = {str(item["metadata"]["name"]): item for item in self._list("/api/v1/nodes", "Node")}
        found: list[dict[str, object]] = []
        for block in self._datastore.all("ipamblocks"):
            owner = str(block["spec"].get("affinity") or "").removeprefix("host:")
            cidr = ipaddress.ip_network(block["spec"]["cidr"])
            if owner in ("", self._name) or not any(_within(cidr, pool) for pool in pools):
                continue
            annotations = (nodes.get(owner) or {"metadata": {}})["metadata"].get("annotations") or {}
            address = str(annotations.get(f"{_PREFIX}/IPv4Address") or "").partition("/")[0]
            mac = str(annotations.get(f"{_PREFIX}/VXLANTunnelMACAddr") or "")
            if not address or not mac or not annotations.get(f"{_PREFIX}/IPv4VXLANTunnelAddr"):
                self._warn(f"Received route without corresponding VTEP node={owner}")
                continue
            settings = {
                "DestinationPrefix": str(cidr),
                "DistributedRouterMacAddress": mac.replace(":", "-").upper(),
                "IsolationId": int(self._run.variable("VXLAN_VNI") or 4096),
                "ProviderAddress": address,
            }
            found.append({"Type": "RemoteSubnetRoute", "Settings": settings})
        return found

    # -- policies

    def _policies(self) -> None:
        """Set the rules of the network policies on the HNS endpoints of this node's pods."""
        pods = self._list("/api/v1/pods", "Pod")
        namespaces = self._list("/api/v1/namespaces", "Namespace")
        policies = self._list("/apis/networking.k8s.io/v1/networkpolicies", "NetworkPolicy")
        cluster = policy.PolicyObjects(pods, namespaces, policies, self._warn)
        hosts = sorted(item.address for card in interfaces(self._machine) for item in card.addresses)
        known = self._known_endpoints()
        missing = False
        for pod in pods:
            address = str((pod.get("status") or {}).get("podIP") or "")
            if pod["spec"].get("nodeName") != self._name or pod["spec"].get("hostNetwork") or not address:
                continue
            if (pod.get("status") or {}).get("phase") in ("Succeeded", "Failed"):
                continue
            endpoint = known.get(address)
            if endpoint is None:
                missing = True
                continue
            priority = 100 if self._machine.windows.key == "2019" else 0
            _program(endpoint, policy.rules_of(cluster, pod, hosts, host_priority=priority))
        if missing:
            self._output.log("WARNING", "Failed to look up one or more HNS endpoints; will schedule a retry")

    def _known_endpoints(self) -> dict[str, Endpoint]:
        store = hns.store(self._machine)
        names = {item.id: item.name for item in store.networks()}
        return {
            item.address: item
            for item in store.endpoints()
            if not item.remote
            and item.state in (ATTACHED, ATTACHED_SHARING)
            and self._endpoints.match(names.get(item.network, ""))
        }


def _program(endpoint: Endpoint, rules: list[dict[str, Any]]) -> None:
    """Replace the ACL rules of an HNS endpoint."""
    others = [item for item in endpoint.policies if item.get("Type") != "ACL"]
    wanted = [*others, *(dict(item) for item in normalize(rules, 1))]
    if wanted != endpoint.policies:
        endpoint.policies = wanted


def _within(cidr: object, pool: object) -> bool:
    return isinstance(cidr, ipaddress.IPv4Network) and isinstance(pool, ipaddress.IPv4Network) and cidr.subnet_of(pool)
