# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Keep kube-proxy's load balancers and endpoints in HNS in line with the cluster's services.

A failure is logged, and the next synchronization tries again. On an overlay network, kube-proxy first creates an
endpoint for its source address. If this fails, it creates no load balancers.

The source of the messages and their order is kubernetes pkg/proxy/winkernel/proxier.go (syncProxyRules).
"""

from __future__ import annotations

import ipaddress
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from simulator.kubernetes_node import hns
from simulator.kubernetes_node.programs.log_file import klog

if TYPE_CHECKING:
    from simulator.machine.machine import Machine

_PROTOCOLS = {"TCP": 6, "UDP": 17}
_KEPT = 200


@dataclass
class ProxyLog:
    """The last lines of kube-proxy's log."""

    lines: list[str] = field(default_factory=list)

    def write(self, level: str, text: str) -> None:
        """Add a line to the log, in the format of klog."""
        self.lines = [*self.lines[1 - _KEPT :], klog(level, text)]


class Programmer:
    """The load balancers that one kube-proxy manages in HNS."""

    def __init__(self, machine: Machine, network: hns.Network, source_vip: str, *, dsr: bool) -> None:
        self._store, self._log = hns.store(machine), machine.part(ProxyLog)
        self._network, self._source_vip, self._dsr = network, source_vip, dsr
        self._made: set[str] = set()

    def sync(self, services: Sequence[Mapping[str, Any]], slices: Sequence[Mapping[str, Any]]) -> None:
        """Create the missing load balancers, and remove those that are no longer needed.

        Raises:
            hns.HnsError: HNS refuses a call.
        """
        if self._network_changed():
            return
        self._source_endpoint()
        wanted = policies(services, slices)
        known = {item.id: item for item in self._store.policies()}
        for policy in wanted:
            policy.endpoints = tuple(self._backend(address) for address in policy.endpoints)
            # pkg/proxy/winkernel/hns.go, getLoadBalancer
            policy.source_vip, policy.dsr = self._source_vip, self._dsr
            if known.get(policy.id) != policy:
                self._put(policy)
        for policy_id in self._made - {item.id for item in wanted}:
            if policy_id in known:
                self._store.remove_policy(policy_id)
        self._made = {item.id for item in wanted}

    def _network_changed(self) -> bool:
        """Return whether the HNS network was deleted or replaced. If so, remove this kube-proxy's load balancers."""
        current = self._store.network_named(self._network.name)
        if current and current.id == self._network.id:
            return False
        message = "The HNS network is not present or has changed since the last sync, please check the CNI deployment"
        self._log.write("I", f'"{message}" hnsNetworkName="{self._network.name}"')
        known = {item.id for item in self._store.policies()}
        for policy_id in self._made & known:
            self._store.remove_policy(policy_id)
        self._made = set()
        if current:
            self._network = current
        return True

    def _source_endpoint(self) -> None:
        """On an overlay network, create an endpoint for the source VIP, unless an endpoint already has this address."""
        if self._network.kind != "Overlay":
            return
        own = [item for item in self._store.endpoints() if item.network == self._network.id]
        if any(item.address == self._source_vip for item in own):
            return
        try:
            # kube-proxy does not set the names of endpoints (pkg/proxy/winkernel/hns.go), so HNS chooses them.
            self._store.add_endpoint("Ethernet", self._network.id, self._source_vip)
        except hns.HnsError as error:
            self._log.write("E", f'"Source Vip endpoint creation failed" err="{error}"')
            raise

    def _backend(self, address: str) -> str:
        for item in self._store.endpoints():
            if item.address == address and item.network == self._network.id:
                return item.id
        if self._network.kind == "Overlay" and not self._provider(address):
            self._log.write("I", f'"Could not find provider address, assuming it is a public IP" IP="{address}"')
        return self._store.add_endpoint("Ethernet", self._network.id, address, remote=True).id

    def _provider(self, address: str) -> str:
        """Return the address of the node that runs a pod.

        Return an empty string if the HNS network has no remote subnet route to the pod's address.
        """
        for policy in self._network.policies:
            settings = policy.get("Settings")
            if policy.get("Type") != "RemoteSubnetRoute" or not isinstance(settings, Mapping):
                continue
            if ipaddress.ip_address(address) in ipaddress.ip_network(str(settings["DestinationPrefix"])):
                return str(settings["ProviderAddress"])
        return ""

    def _put(self, policy: hns.PolicyList) -> None:
        try:
            self._store.put_policy(policy)
        except hns.HnsError as error:
            self._log.write("E", f'"Policy creation failed" err="{error}"')
            raise


def policies(services: Sequence[Mapping[str, Any]], slices: Sequence[Mapping[str, Any]]) -> list[hns.PolicyList]:
    """Return the load balancers for the cluster's services, with IP addresses instead of ids as their `endpoints`."""
    found: list[hns.PolicyList] = []
    for service in services:
        spec, metadata = service["spec"], service["metadata"]
        address = spec.get("clusterIP")
        if not address or address == "None":
            continue
        own = [
            item
            for item in slices
            if item["metadata"]["namespace"] == metadata["namespace"]
            and (item["metadata"].get("labels") or {}).get("kubernetes.io/service-name") == metadata["name"]
        ]
        for port in spec.get("ports") or []:
            targets = _targets(own, port.get("name") or "")
            if not targets:
                continue
            protocol = _PROTOCOLS.get(port.get("protocol") or "TCP", 6)
            places = [(address, int(port["port"]), False)]
            if port.get("nodePort"):
                places.append(("", int(port["nodePort"]), True))
            for vip, number, on_node in places:
                name = str(uuid.uuid5(uuid.NAMESPACE_URL, f"{vip}:{number}/{protocol}")).upper()
                addresses = tuple(sorted({item for item, _ in targets}))
                found.append(hns.PolicyList(name, vip, number, protocol, targets[0][1], addresses, on_node))
    return found


def _targets(slices: Sequence[Mapping[str, Any]], port_name: str) -> list[tuple[str, int]]:
    found: list[tuple[str, int]] = []
    for item in slices:
        for port in item.get("ports") or []:
            if (port.get("name") or "") == port_name and port.get("port"):
                ready = [
                    entry for entry in item.get("endpoints") or [] if (entry.get("conditions") or {}).get("ready", True)
                ]
                found += [(address, int(port["port"])) for entry in ready for address in entry.get("addresses") or []]
    return found
