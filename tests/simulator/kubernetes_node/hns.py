# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The Host Networking Service: its cmdlets, and the service.

Cmdlets: module HostNetworkingService (https://learn.microsoft.com/powershell/module/hostnetworkingservice).
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from simulator.kubernetes_node.hns_objects import (
    SERVICE,
    Endpoint,
    HnsError,
    Namespace,
    Network,
    PolicyList,
    State,
    Store,
    store,
)
from simulator.machine.objects import Bound, Cmdlet, CmdletError, IdleService, PSObject, ServiceProgram
from simulator.machine.services import Service

if TYPE_CHECKING:
    from simulator.machine.machine import Machine

__all__ = ["CMDLETS", "SERVICES", "STATUS", "Endpoint", "HnsError", "Network", "PolicyList", "State", "Store", "store"]


def _network(item: Network) -> PSObject:
    subnets = (
        [
            PSObject(
                "System.Management.Automation.PSCustomObject",
                {"AddressPrefix": item.subnet, "GatewayAddress": item.gateway},
            )
        ]
        if item.subnet
        else []
    )
    return _object(
        item.id,
        {
            "Name": item.name,
            "Type": item.kind,
            "Subnets": subnets,
            "ManagementIP": "",
            "NetworkAdapterName": item.adapter if item.external else "",
            "State": 1,
            "Version": 38654705666,
            "Vsid": item.vni,
        },
    )


def _endpoint(machine: Machine, item: Endpoint) -> PSObject:
    network = machine.part(State).networks.get(item.network)
    return _object(
        item.id,
        {
            "Name": item.name,
            "IPAddress": item.address,
            "MacAddress": item.mac,
            "VirtualNetwork": item.network,
            "VirtualNetworkName": network.name if network else "",
            "Type": network.kind if network else "",
            "IsRemoteEndpoint": item.remote,
            "Namespace": item.namespace,
            "State": 3 if item.container else 1,
            "SharedContainers": [item.container] if item.container else [],
        },
    )


def _policy(item: PolicyList) -> PSObject:
    inner = PSObject(
        "System.Management.Automation.PSCustomObject",
        {
            "Type": "ELB",
            "VIPs": [item.vip] if item.vip else [],
            "ExternalPort": item.port,
            "InternalPort": item.target_port,
            "Protocol": item.protocol,
        },
    )
    return _object(
        item.id, {"Policies": [inner], "References": [f"/endpoints/{name}" for name in item.endpoints], "State": 2}
    )


def _namespace(item: Namespace) -> PSObject:
    return _object(item.id, {"Type": "Guest", "ResourceList": list(item.endpoints)})


def _object(object_id: str, properties: Mapping[str, object]) -> PSObject:
    return PSObject("HNS.Object", {"ID": object_id, **properties})


def _guard(machine: Machine, command: str) -> Store:
    found = Store(machine)
    if machine.services.get(SERVICE) is None:
        # The module is there with the feature Containers (or Hyper-V), as the service is.
        raise CmdletError(
            "ObjectNotFound",
            "CommandNotFoundException",
            f"The term '{command}' is not recognized as the name of a cmdlet, function, script file, "
            f"or operable program.",
            "System.Management.Automation.CommandNotFoundException",
        )
    try:
        found.require()
    except HnsError as error:
        raise CmdletError("NotSpecified", "System.Exception", str(error), "System.Exception") from error
    return found


def _getter(kind: str) -> Cmdlet:
    def get(machine: Machine, bound: Bound) -> Iterable[object]:
        found = _guard(machine, bound.command)
        objects = {
            "networks": lambda: [_network(item) for item in found.networks()],
            "endpoints": lambda: [_endpoint(machine, item) for item in found.endpoints()],
            "policies": lambda: [_policy(item) for item in found.policies()],
            "namespaces": lambda: [_namespace(item) for item in found.namespaces()],
        }[kind]()
        wanted = bound.text("Id").upper()
        if not wanted:
            return objects
        kept = [item for item in objects if str(item["ID"]).upper() == wanted]
        if not kept:
            raise CmdletError("NotSpecified", "System.Exception", "Element not found.", "System.Exception")
        return kept

    return get


def _remover(kind: str) -> Cmdlet:
    def remove(machine: Machine, bound: Bound) -> Iterable[object]:
        found = _guard(machine, bound.command)
        given = bound.get("InputObjects")
        objects = given if isinstance(given, list) else [given] if given is not None else list(bound.pipeline)
        for item in objects:
            object_id = str(item.get("ID") if isinstance(item, PSObject) else item)
            act = {
                "networks": found.remove_network,
                "endpoints": found.remove_endpoint,
                "policies": found.remove_policy,
                "namespaces": found.remove_namespace,
            }[kind]
            try:
                act(object_id)
            except HnsError as error:
                raise CmdletError("NotSpecified", "System.Exception", str(error), "System.Exception") from error
        return []

    return remove


CMDLETS: Mapping[str, Cmdlet] = {
    f"{verb}-Hns{noun}": make(kind)
    for noun, kind in (
        ("Network", "networks"),
        ("Endpoint", "endpoints"),
        ("PolicyList", "policies"),
        ("Namespace", "namespaces"),
    )
    for verb, make in (("Get", _getter), ("Remove", _remover))
}


class _HnsService:
    """The service: when it stops, endpoints, policy lists and namespaces are gone (projectcalico/calico#5164)."""

    def start(self, machine: Machine, service: Service) -> IdleService:
        """Start it."""
        state = machine.part(State)

        class Running(IdleService):
            def stop(self) -> None:
                """End it."""
                self.alive = False
                state.endpoints.clear()
                state.policies.clear()
                state.namespaces.clear()

        return Running()


SERVICES: Mapping[str, ServiceProgram] = {"svchost:hns": _HnsService()}


def _status(machine: Machine) -> object:
    state = copy.deepcopy(machine.part(State))
    names = {item.id: item.name for item in state.networks.values()}
    return {
        "networks": [
            {"id": item.id, "name": item.name, "type": item.kind, "subnet": item.subnet, "vni": item.vni}
            for item in state.networks.values()
        ],
        "endpoints": [
            {
                "id": item.id,
                "name": item.name,
                "network": names.get(item.network, ""),
                "address": item.address,
                "container": item.container,
            }
            for item in state.endpoints.values()
        ],
        "policies": [{"id": item.id, "vip": item.vip, "port": item.port} for item in state.policies.values()],
        "namespaces": [item.id for item in state.namespaces.values()],
    }


STATUS = {"hns": _status}
