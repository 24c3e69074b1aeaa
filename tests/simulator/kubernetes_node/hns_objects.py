# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The objects of the Host Networking Service, and what changing them does to the link.

Creating or removing a network on the outside card makes or takes a virtual switch: the link drops, and the card's
static address is reset to DHCP (microsoft/SDN#498).
"""

from __future__ import annotations

import threading
import uuid
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from simulator.machine.services import ServiceError

if TYPE_CHECKING:
    from simulator.machine.machine import Machine

EXTERNAL = ("L2Bridge", "Overlay", "Transparent", "L2Tunnel")
SERVICE = "hns"
_LINK_DELAY = 0.3  # seconds until the switch takes the card: the answer of the command that asked for it is out by then


class HnsError(Exception):
    """HNS refused; the text is HNS's."""


@dataclass
class Network:
    """A network of HNS. `kind`: NAT, L2Bridge, Overlay, Transparent."""

    id: str
    name: str
    kind: str
    subnet: str = ""
    gateway: str = ""
    vni: int = 0
    adapter: str = "Ethernet"

    @property
    def external(self) -> bool:
        """Whether it holds the outside network card."""
        return self.kind in EXTERNAL


@dataclass
class Endpoint:
    """An endpoint of a network: a container's, or the host's own (no container)."""

    id: str
    name: str
    network: str
    address: str
    mac: str
    container: str = ""
    namespace: str = ""
    remote: bool = False


@dataclass
class PolicyList:
    """A load balancer of kube-proxy: a virtual address and port over endpoints."""

    id: str
    vip: str
    port: int
    protocol: int
    target_port: int
    endpoints: tuple[str, ...] = ()
    node_port: bool = False


@dataclass
class Namespace:
    """A network namespace of a pod."""

    id: str
    endpoints: list[str] = field(default_factory=list)


@dataclass
class State:
    """What HNS knows; networks survive reboots, and so does the rest until HNS restarts."""

    networks: dict[str, Network] = field(default_factory=dict)
    endpoints: dict[str, Endpoint] = field(default_factory=dict)
    policies: dict[str, PolicyList] = field(default_factory=dict)
    namespaces: dict[str, Namespace] = field(default_factory=dict)


class Store:
    """HNS's objects of one machine, with what changing them does to the link."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._state = machine.part(State)

    def require(self) -> None:
        """Raise HnsError unless the service runs; Windows starts it when it is first asked (trigger start)."""
        service = self._machine.services.get(SERVICE)
        if service is not None and service.state == "Stopped" and service.start < 4:
            try:
                self._machine.services.start(SERVICE)
            except ServiceError as error:
                raise HnsError("The RPC server is unavailable.") from error
        elif service is None or service.state != "Running":
            raise HnsError("The RPC server is unavailable.")

    def networks(self) -> list[Network]:
        """Return the networks."""
        return list(self._state.networks.values())

    def endpoints(self) -> list[Endpoint]:
        """Return the endpoints."""
        return list(self._state.endpoints.values())

    def policies(self) -> list[PolicyList]:
        """Return the policy lists."""
        return list(self._state.policies.values())

    def namespaces(self) -> list[Namespace]:
        """Return the namespaces."""
        return list(self._state.namespaces.values())

    def network_named(self, name: str) -> Network | None:
        """Return a network by its name, whatever its case."""
        return next((item for item in self.networks() if item.name.casefold() == name.casefold()), None)

    def endpoints_of(self, container: str) -> list[Endpoint]:
        """Return the endpoints of a container."""
        return [item for item in self.endpoints() if item.container == container]

    def create_network(self, name: str, kind: str, subnet: str = "", gateway: str = "", vni: int = 0) -> Network:
        """Make a network. Raises HnsError."""
        self.require()
        if self.network_named(name):
            raise HnsError(
                f"hcnCreateNetwork failed in Win32: An adapter or network of the name {name} already exists. "
                f"(0x80070034)"
            )
        network = Network(str(uuid.uuid4()).upper(), name, kind, subnet, gateway, vni)
        self._state.networks[network.id] = network
        if network.external:
            self._switch(network, True)
        return network

    def remove_network(self, network_id: str) -> None:
        """Remove a network. Raises HnsError if endpoints are left on it."""
        self.require()
        network = self._state.networks.get(network_id.upper())
        if network is None:
            raise HnsError("Element not found.")
        if any(item.network == network.id for item in self.endpoints()):
            raise HnsError("hcnDeleteNetwork failed in Win32: The network has active endpoints. (0x803b0027)")
        del self._state.networks[network.id]
        if network.external:
            self._switch(network, False)

    def add_endpoint(
        self, name: str, network: str, address: str, *, container: str = "", namespace: str = "", remote: bool = False
    ) -> Endpoint:
        """Make an endpoint. Raises HnsError."""
        self.require()
        if network not in self._state.networks:
            raise HnsError("HNS failed with error : Element not found.")
        if any(item.network == network and item.address == address and not item.remote for item in self.endpoints()):
            raise HnsError("hcnCreateEndpoint failed in Win32: The IP address is already in use. (0x803b001b)")
        mac = "00-15-5D-" + "-".join(f"{int(part):02X}" for part in address.split(".")[1:])
        endpoint = Endpoint(str(uuid.uuid4()).upper(), name, network, address, mac, container, namespace, remote)
        self._state.endpoints[endpoint.id] = endpoint
        if namespace:
            known = self._state.namespaces.setdefault(namespace, Namespace(namespace))
            known.endpoints.append(endpoint.id)
        return endpoint

    def remove_endpoint(self, endpoint_id: str) -> None:
        """Remove an endpoint. Raises HnsError."""
        self.require()
        endpoint = self._state.endpoints.pop(endpoint_id.upper(), None)
        if endpoint is None:
            raise HnsError("Element not found.")
        namespace = self._state.namespaces.get(endpoint.namespace)
        if namespace and endpoint.id in namespace.endpoints:
            namespace.endpoints.remove(endpoint.id)
            if not namespace.endpoints:
                del self._state.namespaces[namespace.id]

    def put_policy(self, policy: PolicyList) -> None:
        """Make or replace a policy list."""
        self.require()
        self._state.policies[policy.id] = policy

    def remove_policy(self, policy_id: str) -> None:
        """Remove a policy list. Raises HnsError."""
        self.require()
        if self._state.policies.pop(policy_id.upper(), None) is None:
            raise HnsError("Element not found.")

    def remove_namespace(self, namespace_id: str) -> None:
        """Remove a namespace. Raises HnsError."""
        self.require()
        if self._state.namespaces.pop(namespace_id, None) is None:
            raise HnsError("Element not found.")

    def _switch(self, network: Network, made: bool) -> None:
        """Do what a new or vanished virtual switch does to the outside card."""
        from simulator.windows.network import Extra, Interface, interfaces

        extra = self._machine.part(Extra).interfaces
        alias = f"vEthernet ({network.adapter})"
        if made and alias not in extra:
            card = interfaces(self._machine)[0]
            extra[alias] = Interface(
                alias,
                "Hyper-V Virtual Ethernet Adapter",
                20,
                card.mac,
                card.address,
                card.prefix,
                card.gateway,
                card.dns,
                True,
                card.mtu,
            )
        elif not made and not any(item.external for item in self.networks()):
            extra.pop(alias, None)
        seconds = self._machine.settings.option("link_drop_seconds", 2.0)
        drop = float(seconds) if isinstance(seconds, (int, float)) else 2.0
        timer = threading.Timer(_LINK_DELAY, self._machine.network.drop_link, [drop])
        timer.daemon = True
        timer.start()


def store(machine: Machine) -> Store:
    """Return HNS of a machine."""
    return Store(machine)
