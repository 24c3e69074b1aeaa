# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The objects of the Host Networking Service, and its errors.

States, types and flags are from microsoft/hcsshim internal/hns/hnsendpoint.go and hcn/hcnnetwork.go. Error codes are
from https://learn.microsoft.com/windows-server/networking/technologies/hcn/hcn-error-codes. Error messages have the
format in hcsshim internal/hcserror/hcserror.go and hcn/hcnerrors.go; kubernetes/kubernetes#100962 contains an example.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

EXTERNAL = ("L2Bridge", "Overlay", "Transparent", "L2Tunnel")
SERVICE = "hns"
# The states of an endpoint.
CREATED, ATTACHED, ATTACHED_SHARING, DETACHED = 1, 2, 3, 4
# The flag of a network that disappears when HNS stops (such as containerd's nat networks).
NON_PERSISTENT = 8

UNSPECIFIED = 0x80004005
INVALID_PARAMETER = 0x80070057
ELEMENT_NOT_FOUND = 0x80070490
OBJECT_EXISTS = 0x80071392
NETWORK_NOT_FOUND = 0x803B0001
ENDPOINT_NOT_FOUND = 0x803B0002
ADAPTER_NOT_FOUND = 0x803B0006
INVALID_NETWORK_TYPE = 0x803B000B
INVALID_POLICY = 0x803B000D
INVALID_POLICY_TYPE = 0x803B000E
NETWORK_ALREADY_EXISTS = 0x803B0010
PORT_EXISTS = 0x803B0013
REQUEST_UNSUPPORTED = 0x803B0015
INVALID_ADDRESS = 0x803B001E
ENTITY_HAS_REFERENCES = 0x803B002C
ADDRESS_RESERVED = 0x803B002F
RPC_UNAVAILABLE = 0x800706BA
RPC_FAILED = 0x800706BE
TIMED_OUT = 0x800705B4

TEXTS = {
    UNSPECIFIED: "Unspecified error",
    INVALID_PARAMETER: "The parameter is incorrect.",
    ELEMENT_NOT_FOUND: "Element not found.",
    OBJECT_EXISTS: "The object already exists.",
    NETWORK_NOT_FOUND: "The network was not found.",
    ENDPOINT_NOT_FOUND: "The endpoint was not found.",
    ADAPTER_NOT_FOUND: "An adapter was not found.",
    INVALID_NETWORK_TYPE: "Invalid network type.",
    INVALID_POLICY: "The provided policy configuration is invalid or missing parameters.",
    INVALID_POLICY_TYPE: "Invalid policy type.",
    NETWORK_ALREADY_EXISTS: "A network with this name already exists.",
    PORT_EXISTS: "The specified port already exists.",
    REQUEST_UNSUPPORTED: "The requested operation is not supported.",
    INVALID_ADDRESS: "IP address is either invalid or not part of any configured subnet(s).",
    ENTITY_HAS_REFERENCES: "The specified entity cannot be removed while it still has references.",
    ADDRESS_RESERVED: "An address provided is invalid or reserved.",
    RPC_UNAVAILABLE: "The RPC server is unavailable.",
    RPC_FAILED: "The remote procedure call failed.",
    TIMED_OUT: "This operation returned because the timeout period expired.",
}


class HnsError(Exception):
    """An error from HNS.

    Args:
        function: HCN's function without its prefix, such as `CreateEndpoint`.
        code: the HRESULT, which is a key of `TEXTS`.
        api: the version of HNS's API that the caller uses. The message has hcsshim's format for this version: for 1,
            `hnsCall failed in Win32: … (0x803b002f)`; for 2, `hcnCreateEndpoint failed in Win32: … (0x803b002f)
            {"Success":false,…}`.
    """

    def __init__(self, function: str, code: int, api: int = 2) -> None:
        self.function, self.code, self.text = function, code, TEXTS[code]
        # hcsshim prints the number of a Win32 error without its facility.
        number = code & 0xFFFF if code >> 16 == 0x8007 else code
        message = f"failed in Win32: {self.text} (0x{number:x})"
        super().__init__(f"hnsCall {message}" if api == 1 else f"hcn{function} {message} {self.answer}")

    @property
    def answer(self) -> str:
        """HNS's response in JSON."""
        found = {"Success": False, "Error": f"{self.text} ", "ErrorCode": self.code}
        return json.dumps(found, separators=(",", ":"))


@dataclass
class Network:
    """An HNS network.

    Args:
        id, name: the network's id and name.
        kind: the network's type, which is NAT, L2Bridge, Overlay, Transparent or L2Tunnel.
        subnet, gateway: the network's subnet and gateway; empty if the network has none.
        vni: the VNI of an overlay network; 0 for other types.
        adapter: the physical adapter of an external network.
        flags: 8 means not persistent.
        type_text: the type as the network's creator spelled it, such as Docker's `nat`; empty if the spelling is the
            same as in `kind`.
        policies: the policies that were added to the network, in HCN's format:
            `{"Type": "RemoteSubnetRoute", "Settings": {…}}`.
    """

    id: str
    name: str
    kind: str
    subnet: str = ""
    gateway: str = ""
    vni: int = 0
    adapter: str = "Ethernet"
    flags: int = 0
    type_text: str = ""
    policies: list[dict[str, object]] = field(default_factory=list)

    @property
    def external(self) -> bool:
        """Whether the network uses the physical adapter."""
        return self.kind in EXTERNAL


@dataclass(frozen=True)
class Dns:
    """The DNS settings of an endpoint."""

    servers: tuple[str, ...] = ()
    search: tuple[str, ...] = ()


@dataclass
class Endpoint:
    """An endpoint of a network.

    Args:
        id, name: the endpoint's id and name.
        network: the id of the endpoint's network.
        address, mac: the endpoint's IP address and MAC address.
        container: the id of the sandbox or Docker container; empty for endpoints of the host and for remote endpoints.
        namespace: the network namespace that contains the endpoint.
        remote: whether the endpoint is for a pod on another node (kube-proxy creates such endpoints for load
            balancers).
        state: a state from CREATED to DETACHED.
        shared: the value of SharedContainers, which does not include containers with Hyper-V isolation
            (projectcalico/calico#8913).
        policies: the endpoint's policies as Get-HnsEndpoint prints them (`hns/policies.py`).
        gateway: the endpoint's gateway; if empty, the endpoint uses the gateway of its network.
        dns: the endpoint's name servers and search list.
    """

    id: str
    name: str
    network: str
    address: str
    mac: str
    container: str = ""
    namespace: str = ""
    remote: bool = False
    state: int = CREATED
    shared: list[str] = field(default_factory=list)
    policies: list[dict[str, object]] = field(default_factory=list)
    gateway: str = ""
    dns: Dns = field(default_factory=Dns)


@dataclass(frozen=True)
class Wiring:
    """The settings of an endpoint that a CNI plugin chooses in addition to its address.

    Args:
        policies: normalized policies (`hns/policies.py`).
        gateway: the gateway; if empty, the endpoint uses the gateway of its network.
        dns: the name servers and the search list.
        api: the version of HNS's API that the plugin uses, 1 or 2.
        mac: the MAC address; empty if HNS chooses the address.
    """

    policies: tuple[Mapping[str, object], ...] = ()
    gateway: str = ""
    dns: Dns = field(default_factory=Dns)
    api: int = 2
    mac: str = ""


@dataclass
class PolicyList:
    """A load balancer of kube-proxy: a virtual address and port for endpoints, some of which may no longer exist."""

    id: str
    vip: str
    port: int
    protocol: int
    target_port: int
    endpoints: tuple[str, ...] = ()
    node_port: bool = False
    dsr: bool = False
    source_vip: str = ""


@dataclass
class Namespace:
    """A network namespace.

    Args:
        id: the namespace's id.
        endpoints: the ids of the namespace's endpoints.
        containers: the ids of the namespace's containers. HNS shows 12 digits of each id.
        default: whether the namespace is the host's own.
        compartment: the namespace's network compartment; 0 if it has none, which is the case for namespaces left from
            before a reboot.
    """

    id: str
    endpoints: list[str] = field(default_factory=list)
    containers: list[str] = field(default_factory=list)
    default: bool = False
    compartment: int = 0


@dataclass
class HnsState:
    """The objects of HNS, by upper-case id."""

    networks: dict[str, Network] = field(default_factory=dict)
    endpoints: dict[str, Endpoint] = field(default_factory=dict)
    policies: dict[str, PolicyList] = field(default_factory=dict)
    namespaces: dict[str, Namespace] = field(default_factory=dict)

    def restarted(self) -> None:
        """Remove all objects that do not survive a restart of the hns service.

        Only the persistent networks and the host's own namespace survive it.

        Source: projectcalico/calico#5164.
        """
        self.endpoints.clear()
        self.policies.clear()
        self._leave_default()
        self._forget_fleeting()

    def rebooted(self, *, keep_endpoints: bool) -> None:
        """Apply the effects of a reboot.

        Non-persistent networks and their endpoints are lost. Namespaces lose their containers and, except for the
        host's own, their compartments. If `keep_endpoints` is false, all other endpoints, and all namespaces but the
        host's own, are also lost.

        Sources differ: endpoints survive reboots after updates in moby/moby#47576, but vanish according to Google's
        k8s-node-setup.psm1.
        """
        self._forget_fleeting()
        if not keep_endpoints:
            self.endpoints.clear()
            self._leave_default()
        for endpoint in self.endpoints.values():
            endpoint.state, endpoint.shared = CREATED, []
        for namespace in self.namespaces.values():
            namespace.containers = []
            namespace.compartment = 1 if namespace.default else 0

    def _leave_default(self) -> None:
        self.namespaces = {key: item for key, item in self.namespaces.items() if item.default}

    def _forget_fleeting(self) -> None:
        gone = {key for key, item in self.networks.items() if item.flags & NON_PERSISTENT}
        self.networks = {key: item for key, item in self.networks.items() if key not in gone}
        self.endpoints = {key: item for key, item in self.endpoints.items() if item.network not in gone}
