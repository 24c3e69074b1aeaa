# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Simulate HNS's cmdlets and the Windows service `hns`, and restore HNS's state after a boot.

The cmdlets are those of the HostNetworkingService module
(https://learn.microsoft.com/powershell/module/hostnetworkingservice).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from simulator.kubernetes_node.hns import hang, ports, status, switch
from simulator.kubernetes_node.hns.objects import (
    ELEMENT_NOT_FOUND,
    SERVICE,
    UNSPECIFIED,
    Endpoint,
    HnsError,
    HnsState,
    Network,
)
from simulator.kubernetes_node.hns.service import HnsStore
from simulator.kubernetes_node.hns.views import Views
from simulator.machine.objects import Bound, Cmdlet, CmdletError, IdleService, PSObject, ServiceProgram
from simulator.machine.services import Service, ServiceError

if TYPE_CHECKING:
    from simulator.machine.machine import Machine

_CONTINUES = ("continue", "silentlycontinue", "ignore")


def _failure(error: HnsError) -> CmdletError:
    """Return an HNS error as a cmdlet reports it: with the HNS function, the error code, and HNS's response in JSON."""
    message = f"Hcn{error.function} -- HRESULT: {error.code}. Result: {error.answer}"
    return CmdletError("NotSpecified", "System.Exception", message, "System.Exception")


def _guard(machine: Machine, bound: Bound) -> HnsStore:
    """Wait until HNS responds, and return the store of HNS objects.

    Raises:
        CmdletError: HNS is not installed or does not start, or the hns service ends during a hang.
    """
    if machine.services.get(SERVICE) is None:
        # Like the service, the module is part of the feature Containers (or Hyper-V).
        raise CmdletError(
            "ObjectNotFound",
            "CommandNotFoundException",
            f"The term '{bound.command}' is not recognized as the name of a cmdlet, function, script file, "
            f"or operable program.",
            "System.Management.Automation.CommandNotFoundException",
        )
    found = HnsStore(machine)
    try:
        found.wake()
        hang.wait(machine, bound.command, bound.stop)
    except HnsError as error:
        raise _failure(error) from error
    return found


def _listed(machine: Machine, found: HnsStore, kind: str) -> list[PSObject]:
    views = Views(machine, found.networks(), found.endpoints())
    match kind:
        case "networks":
            return [views.network(item) for item in found.networks()]
        case "endpoints":
            return [views.endpoint(item) for item in found.endpoints()]
        case "policies":
            return [views.policy(item) for item in found.policies()]
        case _:
            return [views.namespace(item) for item in found.namespaces()]


def _getter(kind: str) -> Cmdlet:
    def get(machine: Machine, bound: Bound) -> Iterable[object]:
        objects = _listed(machine, _guard(machine, bound), kind)
        requested = bound.text("Id").upper()
        if not requested:
            return objects
        kept = [item for item in objects if str(item["ID"]).upper() == requested]
        if not kept:
            raise _failure(HnsError(f"Open{bound.command.removeprefix('Get-Hns')}", ELEMENT_NOT_FOUND))
        return kept

    return get


def _remover(kind: str) -> Cmdlet:
    def remove(machine: Machine, bound: Bound) -> Iterable[object]:
        found = _guard(machine, bound)
        act: Callable[[str], None] = {
            "networks": found.remove_network,
            "endpoints": found.remove_endpoint,
            "policies": found.remove_policy,
            "namespaces": found.remove_namespace,
        }[kind]
        given = bound.get("InputObjects")
        objects = given if isinstance(given, list) else [given] if given is not None else list(bound.pipeline)
        for item in objects:
            identity = str(item.get("ID") if isinstance(item, PSObject) else item)
            try:
                if identity.upper() in machine.part(status.Refusals).ids:
                    raise HnsError(f"Delete{bound.command.removeprefix('Remove-Hns')}", UNSPECIFIED)
                act(identity)
            except HnsError as error:
                bound.write_error(_failure(error))
                if bound.text("ErrorAction", "Stop").casefold() not in _CONTINUES:
                    break
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


@dataclass
class _RunningHns(IdleService):
    """The process of the hns service."""

    machine: Machine | None = None

    def stop(self) -> None:
        """End the process of the hns service.

        HNS loses everything but the persistent networks and the host's own namespace, unless the machine is shutting
        down.

        Raises:
            ServiceError: the service does not stop. The error code is 1053.
        """
        machine = self.machine
        if machine is not None and machine.power.state != "going-down":
            if not hang.service_may_stop(machine):
                raise ServiceError(1053, SERVICE)
            state = machine.part(HnsState)
            before, endpoints = list(state.networks.values()), list(state.endpoints.values())
            state.restarted()
            _forget_interfaces(machine, endpoints)
            for network in _gone(before, state):
                switch.vanished(machine, network, list(state.networks.values()))
            ports.restarted(machine, set(state.networks))
            hang.service_stopped(machine)
        self.alive = False


class _HnsService:
    def start(self, machine: Machine, service: Service) -> IdleService:
        """Start the hns service."""
        return _RunningHns(machine=machine)


def _gone(before: Iterable[Network], state: HnsState) -> list[Network]:
    """Return the given networks that no longer exist."""
    return [item for item in before if item.id not in state.networks]


def _forget_interfaces(machine: Machine, before: Iterable[Endpoint]) -> None:
    """Remove the network interfaces of the host's own endpoints if these endpoints no longer exist.

    Args:
        machine: the host.
        before: the endpoints that existed before the restart or reboot.
    """
    left = machine.part(HnsState).endpoints
    for endpoint in before:
        if endpoint.id not in left:
            switch.host_endpoint(machine, endpoint, present=False)


def on_boot(machine: Machine) -> None:
    """Restore the persistent objects of HNS, and end all hangs."""
    state = machine.part(HnsState)
    before, endpoints = list(state.networks.values()), list(state.endpoints.values())
    state.rebooted(keep_endpoints=machine.settings.option("hns_keeps_endpoints", True) is True)
    _forget_interfaces(machine, endpoints)
    for network in _gone(before, state):
        switch.forgotten(machine, network, list(state.networks.values()))
    ports.restarted(machine, {*state.networks, *state.policies})
    hang.machine_rebooted(machine)


SERVICES: Mapping[str, ServiceProgram] = {"svchost:hns": _HnsService()}
STATUS = {"hns": status.describe}
FAULTS = {
    "hns_hang": hang.set_fault,
    "hns_refuses": status.refuse,
    "pods_vanish": status.lose_pods,
}
ON_BOOT = on_boot
