# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The networks and files that CNI plugins create on a node.

Calico's node-service.ps1 creates the `External` network first, so that later networks find a switch. Sources: for
flannel, pkg/backend/hostgw and vxlan in flannel-io/flannel; for Calico, kubernetes-sigs/sig-windows-tools#378; for
azure-vnet, the files that cleanupnetwork.ps1 of Azure/AgentBaker removes.
"""

from __future__ import annotations

import ipaddress
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from simulator.kubernetes_node.hns import ports, switch
from simulator.kubernetes_node.hns.objects import HnsState, Network
from simulator.kubernetes_node.hns.service import new_id
from simulator.windows.networking.network_state import Route, state_of, uplink

if TYPE_CHECKING:
    from simulator.machine.machine import Machine

CONF_DIR = r"C:\etc\cni\net.d"
Pod = tuple[str, str, str]  # container, address, endpoint


@dataclass(frozen=True)
class Plan:
    """The HNS networks and endpoints that a CNI plugin creates.

    Args:
        plugin: the CNI plugin that creates pods' endpoints.
        config: the name of the CNI configuration.
        network, kind, subnet, vni: the name, type, subnet and, for an overlay network, VNI of the pods' network.
        external: the name of another network on the same adapter, which is created first; empty if there is none.
        host_endpoints: the names of the host's own endpoints. On an overlay network, the endpoint `Ethernet` has
            kube-proxy's source address.
        routes: whether the host has routes to pods on other nodes.
    """

    plugin: str
    config: str
    network: str
    kind: str
    subnet: str
    vni: int = 0
    external: str = ""
    host_endpoints: tuple[str, ...] = ()
    routes: bool = False


SCENES = {
    "flannel-host-gw": Plan(
        "win-bridge", "cbr0", "cbr0", "L2Bridge", "10.244.0.0/20", host_endpoints=("cbr0_ep",), routes=True
    ),
    "flannel-vxlan": Plan(
        "win-overlay", "flannel.4096", "flannel.4096", "Overlay", "10.244.16.0/20", 4096, host_endpoints=("Ethernet",)
    ),
    "calico": Plan(
        "calico", "Calico", "Calico", "Overlay", "10.245.0.0/20", 4096, "External", host_endpoints=("Calico_ep",)
    ),
    "calico-bgp": Plan(
        "calico", "Calico", "Calico", "L2Bridge", "10.245.0.0/20", 0, "External", host_endpoints=("Calico_ep",)
    ),
    "azure": Plan("azure-vnet", "azure", "azure", "L2Bridge", "10.240.0.0/16"),
}


def addresses(subnet: str) -> Iterator[str]:
    """Return the addresses in a subnet that endpoints can use: all but the first one, which is the gateway's."""
    hosts = ipaddress.ip_network(subnet).hosts()
    next(hosts)
    return (str(item) for item in hosts)


def place_all(machine: Machine, plan: Plan) -> list[Network]:
    """Create the networks of a `Plan` on a machine, and return the networks. The last one is the pods' network."""
    found: list[Network] = []
    if plan.external:
        vni = 9999 if plan.vni else 0
        found.append(
            place(machine, Network(new_id(), plan.external, plan.kind, "192.168.255.0/30", "192.168.255.1", vni))
        )
    gateway = str(ipaddress.ip_network(plan.subnet)[1])
    found.append(place(machine, Network(new_id(), plan.network, plan.kind, plan.subnet, gateway, plan.vni)))
    if plan.routes:
        alias, node = uplink(machine).alias, machine.address.rpartition(".")[0]
        state_of(machine).routes += [
            Route(alias, f"10.244.{100 + number}.0/24", f"{node}.{200 + number}") for number in range(2)
        ]
    return found


def place(machine: Machine, network: Network) -> Network:
    """Create an HNS network, but unlike HNS, neither interrupt the link nor discard manual network settings."""
    state = machine.part(HnsState)
    others = list(state.networks.values())
    state.networks[network.id] = network
    ports.reserve(machine, network.id)
    if network.external and not any(item.external and item.adapter == network.adapter for item in others):
        switch.make_switch(machine, network.adapter, keeps=True)
    elif network.kind == "NAT":
        switch.appeared(machine, network, others)
    return network


def write_files(machine: Machine, plan: Plan, pods: list[Pod]) -> None:
    """Write the CNI configuration, and the state that the CNI plugin stores about pods (including removed pods)."""
    machine.files.make_directory(CONF_DIR)
    if plan.plugin.startswith("azure"):
        _azure(machine, plan, pods)
        return
    if plan.plugin == "calico":
        _write(machine, rf"{CONF_DIR}\10-calico.conf", {"name": plan.config, "cniVersion": "0.3.1", "type": "calico"})
        return
    delegate = {"type": plan.plugin}
    document = {"name": plan.config, "cniVersion": "1.0.0", "type": "flannel", "delegate": delegate}
    _write(machine, rf"{CONF_DIR}\10-flannel.conf", document)
    gateway = ipaddress.ip_network(plan.subnet)
    machine.files.make_directory(r"C:\run\flannel")
    machine.files.write_text(
        r"C:\run\flannel\subnet.env",
        f"FLANNEL_NETWORK=10.244.0.0/16\nFLANNEL_SUBNET={gateway[1]}/{gateway.prefixlen}\nFLANNEL_MTU=1450\nFLANNEL_IPMASQ=true\n",
    )
    folder = rf"C:\var\lib\cni\networks\{plan.config}"
    machine.files.make_directory(folder)
    for container, address, _ in pods:
        machine.files.write_text(rf"{folder}\{address}", f"{container}\r\neth0")


def _azure(machine: Machine, plan: Plan, pods: list[Pod]) -> None:
    conflist = {"name": plan.config, "cniVersion": "0.3.0", "plugins": [{"type": "azure-vnet", "mode": "bridge"}]}
    _write(machine, rf"{CONF_DIR}\10-azure.conflist", conflist)
    endpoints = {
        f"{container[:8]}-eth0": {
            "Id": f"{container[:8]}-eth0",
            "HnsId": endpoint.lower(),
            "ContainerID": container,
            "IPAddresses": [{"IP": address, "Mask": "//8AAA=="}],
        }
        for container, address, endpoint in pods
    }
    networks = {plan.network: {"Id": plan.network, "Mode": "bridge", "Endpoints": endpoints}}
    card = {"Name": "Ethernet", "Networks": networks}
    _write(
        machine, r"C:\k\azure-vnet.json", {"Network": {"Version": "v1.5.38", "ExternalInterfaces": {"Ethernet": card}}}
    )
    _write(machine, r"C:\k\azure-vnet-ipam.json", {"IPAM": {"Version": "v1.5.38", "AddressSpaces": {}}})
    _write(machine, r"C:\k\azurecns\azure-endpoints.json", {"Endpoints": {}})
    for name in ("azure-vnet.json.lock", "azure-vnet-ipam.json.lock"):
        machine.files.write_text(rf"C:\k\{name}", "4711")
    for name in ("azure-vnet.log", "azure-vnet-ipam.log", "azure-vnet-telemetry.log"):
        machine.files.write_text(rf"C:\k\{name}", "2026/11/21 00:00:00 [cni-net] Plugin started.\r\n")


def _write(machine: Machine, path: str, document: Mapping[str, object]) -> None:
    machine.files.make_directory(path.rpartition("\\")[0])
    machine.files.write_text(path, json.dumps(document, indent=1))
