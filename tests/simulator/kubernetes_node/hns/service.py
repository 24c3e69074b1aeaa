# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Operations on the HNS objects of one machine, including the operations' side effects."""

from __future__ import annotations

import ipaddress
import uuid
from typing import TYPE_CHECKING

from simulator.kubernetes_node.cri import shims
from simulator.kubernetes_node.hns import adapters, hang, ports, switch
from simulator.kubernetes_node.hns.objects import (
    ADDRESS_RESERVED,
    ATTACHED,
    ATTACHED_SHARING,
    CREATED,
    ELEMENT_NOT_FOUND,
    ENDPOINT_NOT_FOUND,
    ENTITY_HAS_REFERENCES,
    INVALID_ADDRESS,
    NETWORK_ALREADY_EXISTS,
    NETWORK_NOT_FOUND,
    OBJECT_EXISTS,
    REQUEST_UNSUPPORTED,
    RPC_UNAVAILABLE,
    SERVICE,
    TIMED_OUT,
    Endpoint,
    HnsError,
    HnsState,
    Namespace,
    Network,
    PolicyList,
    Wiring,
)
from simulator.machine.services import ServiceError

if TYPE_CHECKING:
    from simulator.machine.machine import Machine


class HnsStore:
    """The HNS objects of one machine. Changes to external networks affect the machine's network connection."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._state = machine.part(HnsState)

    def wake(self) -> None:
        """Start the hns service if it is stopped, as Windows does at the first request (trigger start).

        Raises:
            HnsError: the service does not start, or is disabled or missing.
        """
        service = self._machine.services.get(SERVICE)
        if service is not None and service.state == "Stopped" and service.start < 4:
            try:
                self._machine.services.start(SERVICE)
            except ServiceError as error:
                raise HnsError("OpenService", RPC_UNAVAILABLE) from error
        elif service is None or service.state != "Running":
            raise HnsError("OpenService", RPC_UNAVAILABLE)
        if not any(item.default for item in self._state.namespaces.values()):
            host = Namespace(new_id(), default=True, compartment=1)
            self._state.namespaces[host.id] = host

    def require(self) -> None:
        """Start the hns service as `wake` does, and raise HnsError if HNS hangs.

        Cmdlets wait until a hang ends; all other callers get this error.
        """
        self.wake()
        if hang.hangs(self._machine):
            raise HnsError("OpenService", TIMED_OUT)

    def networks(self) -> list[Network]:
        """Return all HNS networks of the machine."""
        return list(self._state.networks.values())

    def endpoints(self) -> list[Endpoint]:
        """Return all HNS endpoints of the machine."""
        return list(self._state.endpoints.values())

    def policies(self) -> list[PolicyList]:
        """Return all HNS policy lists of the machine."""
        return list(self._state.policies.values())

    def namespaces(self) -> list[Namespace]:
        """Return all HNS namespaces of the machine, including the namespace of the host."""
        return list(self._state.namespaces.values())

    def network_named(self, name: str) -> Network | None:
        """Return a network by its case-insensitive name, or None if there is none."""
        return next((item for item in self.networks() if item.name.casefold() == name.casefold()), None)

    def endpoints_of(self, container: str) -> list[Endpoint]:
        """Return the endpoints of a container."""
        return [item for item in self.endpoints() if item.container == container]

    def connected(self, endpoint: Endpoint) -> bool:
        """Return whether an endpoint gets traffic.

        If several endpoints of a network have the same address, only the oldest one gets traffic, even if it is remote
        (microsoft/Windows-Containers#631).
        """
        first = next(
            item for item in self.endpoints() if (item.network, item.address) == (endpoint.network, endpoint.address)
        )
        return first is endpoint

    def create_network(
        self,
        name: str,
        kind: str,
        subnet: str = "",
        gateway: str = "",
        vni: int = 0,
        *,
        type_text: str = "",
        flags: int = 0,
        api: int = 2,
    ) -> Network:
        """Create a network.

        Raises:
            HnsError: HNS rejects the call.
        """
        self.require()
        if self.network_named(name):
            raise HnsError("CreateNetwork", NETWORK_ALREADY_EXISTS, api)
        network = Network(new_id(), name, kind, subnet, gateway, vni, flags=flags, type_text=type_text)
        adapters.require(self._machine, network, api)
        ports.note_creation(self._machine, network)
        self._state.networks[network.id] = network
        ports.reserve(self._machine, network.id)
        switch.appeared(self._machine, network, [item for item in self.networks() if item is not network])
        return network

    def remove_network(self, network_id: str) -> None:
        """Remove a network.

        Raises:
            HnsError: the network does not exist or still has endpoints, or HNS does not respond.
        """
        self.require()
        network = self._state.networks.get(network_id.upper())
        if network is None:
            raise HnsError("DeleteNetwork", NETWORK_NOT_FOUND)
        if any(item.network == network.id for item in self.endpoints()):
            raise HnsError("DeleteNetwork", ENTITY_HAS_REFERENCES)
        del self._state.networks[network.id]
        ports.release(self._machine, network.id, network=True)
        switch.vanished(self._machine, network, self.networks())

    def free_address(self, network: Network) -> str:
        """Return the address that HNS itself assigns to a new endpoint: the lowest free one.

        Raises:
            HnsError: the network has no free address.
        """
        taken = {item.address for item in self.endpoints() if item.network == network.id} | {network.gateway}
        hosts = ipaddress.ip_network(network.subnet).hosts() if network.subnet else iter(())
        found = next((str(item) for item in hosts if str(item) not in taken), "")
        if not found:
            raise HnsError("CreateEndpoint", INVALID_ADDRESS)
        return found

    def add_endpoint(
        self,
        name: str,
        network: str,
        address: str,
        *,
        container: str = "",
        namespace: str = "",
        remote: bool = False,
        wiring: Wiring | None = None,
    ) -> Endpoint:
        """Create an endpoint.

        Raises:
            HnsError: HNS rejects the call.
        """
        self.require()
        wiring = wiring or Wiring()
        if network not in self._state.networks:
            raise HnsError("CreateEndpoint", ELEMENT_NOT_FOUND, wiring.api)
        if not remote:
            self._require_address(self._state.networks[network], address, wiring.api)
        self._require_free(network, address, remote, wiring.api)
        mac = wiring.mac or "00-15-5D-" + "-".join(f"{int(part):02X}" for part in address.split(".")[1:])
        endpoint = Endpoint(new_id(), name, network, address, mac, container, namespace.upper(), remote)
        endpoint.policies = [dict(item) for item in wiring.policies]
        endpoint.gateway, endpoint.dns = wiring.gateway, wiring.dns
        if container:
            endpoint.state, endpoint.shared = (ATTACHED_SHARING if namespace else ATTACHED), [container]
        elif not remote:
            endpoint.state = ATTACHED if name.endswith("_ep") else CREATED
        self._state.endpoints[endpoint.id] = endpoint
        if namespace:
            known = self._state.namespaces.setdefault(endpoint.namespace, Namespace(endpoint.namespace))
            known.compartment = known.compartment or 1 + len(self._state.namespaces)
            known.endpoints.append(endpoint.id)
            known.containers += [container] if container else []
        switch.host_endpoint(self._machine, endpoint, present=True)
        return endpoint

    def _require_address(self, network: Network, address: str, api: int) -> None:
        """Raise HnsError if an address is outside the network's subnet or reserved."""
        if not network.subnet:
            return
        subnet = ipaddress.ip_network(network.subnet)
        if ipaddress.ip_address(address) not in subnet:
            raise HnsError("CreateEndpoint", INVALID_ADDRESS, api)
        if address in (str(subnet.network_address), str(subnet.broadcast_address), network.gateway):
            raise HnsError("CreateEndpoint", ADDRESS_RESERVED, api)

    def _require_free(self, network: str, address: str, remote: bool, api: int) -> None:
        """Raise HnsError if a new endpoint cannot have an address because another endpoint uses it.

        No version of Windows gives a pod the address of the host's own endpoint (microsoft/SDN#333). On Windows Server
        2019, two endpoints of pods can have the same address (kubernetes pkg/proxy/winkernel/hns.go); on later versions
        they cannot. All versions allow a local and a remote endpoint with the same address.
        """
        others = [item for item in self.endpoints() if (item.network, item.address) == (network, address)]
        taken = [item for item in others if item.remote == remote]
        if any(item.name.endswith("_ep") for item in taken) or (taken and self._machine.windows.build > 17763):
            raise HnsError("CreateEndpoint", OBJECT_EXISTS if api == 1 else ADDRESS_RESERVED, api)

    def remove_endpoint(self, endpoint_id: str) -> None:
        """Remove an endpoint. Policy lists keep their references to the endpoint.

        Raises:
            HnsError: HNS rejects the call.
        """
        self.require()
        endpoint = self._state.endpoints.pop(endpoint_id.upper(), None)
        if endpoint is None:
            raise HnsError("DeleteEndpoint", ENDPOINT_NOT_FOUND)
        namespace = self._state.namespaces.get(endpoint.namespace)
        if namespace and endpoint.id in namespace.endpoints:
            namespace.endpoints.remove(endpoint.id)
        switch.host_endpoint(self._machine, endpoint, present=False)

    def put_policy(self, policy: PolicyList) -> None:
        """Create or replace a policy list.

        Raises:
            HnsError: HNS rejects the call.
        """
        self.require()
        self._state.policies[policy.id] = policy
        if not policy.dsr:
            # Without direct server return, each load balancer reserves a range of the host's ports.
            ports.reserve(self._machine, policy.id)

    def remove_policy(self, policy_id: str) -> None:
        """Remove a policy list.

        Raises:
            HnsError: HNS rejects the call.
        """
        self.require()
        if self._state.policies.pop(policy_id.upper(), None) is None:
            raise HnsError("DeleteLoadBalancer", ELEMENT_NOT_FOUND)
        ports.release(self._machine, policy_id.upper())

    def remove_namespace(self, namespace_id: str) -> None:
        """Remove a namespace.

        Raises:
            HnsError: the namespace does not exist, belongs to the host, or has a running container
                (microsoft/Windows-Containers#485), or HNS does not respond.
        """
        self.require()
        namespace = self._state.namespaces.get(namespace_id.upper())
        if namespace is None:
            raise HnsError("DeleteNamespace", ELEMENT_NOT_FOUND)
        sandboxes = shims.settle(self._machine).sandboxes
        if namespace.default or any(item in sandboxes and sandboxes[item].ready for item in namespace.containers):
            raise HnsError("DeleteNamespace", REQUEST_UNSUPPORTED)
        del self._state.namespaces[namespace.id]
        for endpoint in self.endpoints():
            if endpoint.namespace == namespace.id:
                endpoint.namespace = ""

    def leave_namespace(self, namespace_id: str) -> None:
        """Remove a namespace as containerd does when a sandbox stops.

        It is not an error if the namespace does not exist.
        """
        self._state.namespaces.pop(namespace_id.upper(), None)


def new_id() -> str:
    """Return an id for a new object: an upper-case GUID."""
    return str(uuid.uuid4()).upper()


def store(machine: Machine) -> HnsStore:
    """Return the object that reads and changes the HNS objects of a machine."""
    return HnsStore(machine)
