# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The request and the plan of a cleanup: what the cleanup removes, what it keeps, and why (no I/O).

docs/hns.md explains the scopes of a cleanup.
"""

from __future__ import annotations

import dataclasses
import typing as t

from ..facts.journal import Journal
from ..facts.node_facts import HnsFacts
from ..facts.objects import HnsEndpoint, HnsNetwork, Namespace, PolicyList
from ..facts.owners import Ownership
from ..facts.runtime import Owner
from ..facts.uplink import AdapterRoute, Uplink

Scope = t.Literal["stale", "networks", "all"]
SCOPES: tuple[str, ...] = ("stale", "networks", "all")
DEFAULT_PROTECTED = ("nat",)


class ScopeError(Exception):
    """An invalid request; the message says what was expected."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class CleanupRequest:
    """What a cleanup should remove and what it must keep."""

    scope: Scope
    networks: tuple[str, ...] = ()
    """Names or ids of networks, for scope `networks`."""
    missing_ok: bool = False
    """Whether the node may lack networks that are listed in `networks` or `protected`."""
    protected: tuple[str, ...] | None = None
    """Names or ids of protected networks. If None, these are DEFAULT_PROTECTED and all networks that no CNI created."""
    keep_running_containers: bool = False
    stopped_containers: bool = False
    """Whether scope `stale` includes endpoints of stopped containers."""
    pods_without_endpoints: bool = False
    """Whether to stop pods that have no endpoint, for example after a restart of HNS or the removal of their network.
    Scope `networks` also stops HostProcess pods, which never have an endpoint; scope `stale` does not stop them."""
    containers: t.Literal["networks", "pods", "all"] = "networks"
    """The containers that scope `all` removes. `networks`: the containers of the removed networks, and all pods if any
    network is removed. `pods`: in addition, all pods even if no network is removed. `all`: all containers of the
    node."""
    stays_stopped: tuple[str, ...] = ()
    """Services that are not started again, because the machine will no longer be a node."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Removal:
    """An object to remove."""

    type: str
    id: str
    name: str
    why: str


@dataclasses.dataclass(frozen=True, kw_only=True)
class KeptObject:
    """An object that is kept."""

    type: str
    name: str
    why: str


@dataclasses.dataclass(frozen=True, kw_only=True)
class CleanupPlan:
    """What a cleanup will remove, keep, stop, start and repair."""

    policies: tuple[PolicyList, ...] = ()
    endpoints: tuple[HnsEndpoint, ...] = ()
    namespaces: tuple[Namespace, ...] = ()
    networks: tuple[HnsNetwork, ...] = ()
    containers: tuple[Owner, ...] = ()
    files: tuple[str, ...] = ()
    routes: tuple[AdapterRoute, ...] = ()
    items: tuple[Removal, ...] = ()
    """All removals, for messages and the module's result."""
    kept: tuple[KeptObject, ...] = ()
    stop: tuple[str, ...] = ()
    """Services to stop, in the order in which to stop them."""
    start: tuple[str, ...] = ()
    """Services to start at the end, in the order in which to start them: those that this cleanup stops and those that
    an interrupted cleanup stopped, except services that must stay stopped."""
    uplinks: tuple[Uplink, ...] = ()
    """Network adapters, with the static settings that they must have at the end."""
    repair: tuple[str, ...] = ()
    """What an earlier cleanup left undone, for messages."""
    networks_left: int = 0
    external_left: int = 0
    """Number of kept networks that use a physical adapter."""
    port_pools: int = 0
    """Number of reserved port ranges before the cleanup."""
    journal: Journal | None = None
    """The journal that an earlier cleanup left on the node."""

    @property
    def empty(self) -> bool:
        """Whether there is nothing to do."""
        return not self.items and self.journal is None

    @property
    def disruptive(self) -> bool:
        """Whether the cleanup stops services or containers, or removes networks."""
        return bool(self.stop or self.networks or self.containers)


def check_request(request: CleanupRequest, facts: HnsFacts) -> tuple[str, ...]:
    """Reject an invalid request before anything is changed.

    Returns:
        Warnings about protected networks that the node does not have, in scope `stale`. In other scopes, such networks
        are errors.

    Raises:
        ScopeError: a listed network does not exist, or a network to remove is protected.
    """
    warnings: list[str] = []
    objects = facts.last.objects
    known = ", ".join(sorted(network.name for network in objects.networks)) or "none"
    # A misspelled name would protect nothing. Only Docker's network may be protected without existing.
    names = [("protected_networks", name) for name in request.protected or () if name.lower() not in DEFAULT_PROTECTED]
    for option, name in (*(("networks", name) for name in request.networks), *names):
        if not request.missing_ok and not objects.called([name]):
            message = f"{option}: expected the name or id of an existing network ({known}), got {name!r}"
            if request.scope != "stale":
                raise ScopeError(
                    message if option == "networks" else f"{message}. ignore_missing: true accepts missing networks"
                )
            warnings.append(message)
    for network in objects.called(request.networks):
        if is_protected(network, request, facts):
            accepted = (
                ", ".join(sorted(n.name for n in objects.networks if not is_protected(n, request, facts))) or "none"
            )
            raise ScopeError(
                f"networks: expected networks that are not protected ({accepted}), got {network.name!r}, "
                "which protected_networks protects"
            )
    return tuple(warnings)


def is_protected(network: HnsNetwork, request: CleanupRequest, facts: HnsFacts) -> bool:
    """Return whether a network is protected from removal."""
    if request.protected is None:
        return network.is_called(DEFAULT_PROTECTED) or not facts.from_cni(network)
    return network.is_called(request.protected)


def without_network(request: CleanupRequest, facts: HnsFacts) -> tuple[HnsEndpoint, ...]:
    """Return the endpoints whose network no longer exists, except endpoints of protected networks.

    Removing a network may leave such endpoints behind.
    """
    known = {item.id for item in facts.last.objects.networks}
    protected = DEFAULT_PROTECTED if request.protected is None else request.protected
    return tuple(
        item
        for item in facts.last.objects.endpoints
        if item.network not in known
        and not HnsNetwork(id=item.network, name=item.network_name, type="").is_called(protected)
    )


def items_of(
    policies: t.Iterable[PolicyList],
    endpoints: t.Iterable[HnsEndpoint],
    namespaces: t.Iterable[Namespace],
    networks: t.Iterable[HnsNetwork],
    owners: Ownership,
    why: str,
) -> tuple[Removal, ...]:
    """Return the HNS objects to remove, each with the reason, in the order of removal."""
    removals = [Removal(type="HnsPolicyList", id=item.id, name=item.name or item.id, why=why) for item in policies]
    for item in endpoints:
        owner = owners.endpoints[item.id].owner
        state = owners.endpoints[item.id].state
        reason = {
            "stale": f"{owner[:12]} does not exist",
            "stopped": f"{owner} is not running",
            "in use": f"{why}; {owner} uses it",
        }.get(state, why)
        reason = owners.endpoints[item.id].note or reason
        removals.append(Removal(type="HnsEndpoint", id=item.id, name=item.name or item.address or item.id, why=reason))
    for space in namespaces:
        holding = owners.namespaces[space.id]
        reason = f"{why}; {holding.owner} uses it" if holding.state == "in use" else why
        removals.append(Removal(type="HnsNamespace", id=space.id, name=space.id, why=reason))
    removals += [Removal(type="HnsNetwork", id=item.id, name=item.name, why=why) for item in networks]
    return tuple(removals)
