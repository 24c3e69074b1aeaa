# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What a cleanup removes, and what it leaves alone and why. Pure.

Private to the collection. The scopes are explained in docs/hns.md.
"""

from __future__ import annotations

import dataclasses
import re
import typing as t

from . import hns_cni, hns_services, hns_uplink
from .hns_facts import Facts
from .hns_journal import Journal
from .hns_objects import Endpoint, Namespace, Network, PolicyList
from .hns_owners import Ownership
from .hns_runtime import Owner
from .hns_services import Service
from .hns_uplink import Route, Uplink

Scope = t.Literal["stale", "networks", "all"]
SCOPES: tuple[str, ...] = ("stale", "networks", "all")
DEFAULT_PROTECTED = ("nat",)
_DAEMONS = re.compile(r"flannel|kube-proxy|calico|azure-cn|antrea|ovn|cni|multus", re.IGNORECASE)
"""Pods that make and use networks without an endpoint of their own (HostProcess): they have to begin anew with them."""


class ScopeError(Exception):
    """A cleanup that was asked for cannot be: the text says what would be accepted."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Wish:
    """What was asked for."""

    scope: Scope
    networks: tuple[str, ...] = ()
    """Of scope `networks`: names or ids."""
    missing_ok: bool = False
    """Whether such a network may be gone already."""
    protected: tuple[str, ...] | None = None
    """Names of networks that nothing is removed from; None: DEFAULT_PROTECTED and all that did not come from a CNI."""
    keep_running_containers: bool = False
    stopped_containers: bool = False
    """Whether scope `stale` takes endpoints of containers that exist but do not run."""
    extra_files: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True, kw_only=True)
class Item:
    """One thing that is removed."""

    type: str
    id: str
    name: str
    why: str


@dataclasses.dataclass(frozen=True, kw_only=True)
class Kept:
    """Something in a cleanup's reach that stays."""

    type: str
    name: str
    why: str


@dataclasses.dataclass(frozen=True, kw_only=True)
class CleanupPlan:
    """What a cleanup does on a node."""

    policies: tuple[PolicyList, ...] = ()
    endpoints: tuple[Endpoint, ...] = ()
    namespaces: tuple[Namespace, ...] = ()
    networks: tuple[Network, ...] = ()
    containers: tuple[Owner, ...] = ()
    files: tuple[str, ...] = ()
    routes: tuple[Route, ...] = ()
    items: tuple[Item, ...] = ()
    """All of the above, for people."""
    kept: tuple[Kept, ...] = ()
    stop: tuple[str, ...] = ()
    """Services that stop for it, in order."""
    start: tuple[str, ...] = ()
    """Services that run at its end, in order: those that stopped for it, and those an earlier cleanup left stopped."""
    uplinks: tuple[Uplink, ...] = ()
    """Static settings of cards that must be there at its end."""
    repair: tuple[str, ...] = ()
    """What an earlier cleanup left undone, for people."""
    networks_left: int = 0
    port_pools: int = 0
    """How many ranges of ports are reserved before."""
    journal: Journal | None = None
    """What an earlier cleanup left on the node."""

    @property
    def empty(self) -> bool:
        """Whether there is nothing to do."""
        return not self.items and self.journal is None

    @property
    def disruptive(self) -> bool:
        """Whether services stop for it."""
        return bool(self.stop or self.networks or self.containers)


def check_wish(wish: Wish, facts: Facts) -> None:
    """Refuses what cannot be done, before anything is.

    Raises:
        ScopeError: a network that does not exist, or is protected.
    """
    objects = facts.last.objects
    known = ", ".join(sorted(network.name for network in objects.networks)) or "none"
    if wish.scope != "networks":
        return
    if not wish.networks:
        raise ScopeError(f"scope networks needs the names of networks; there are: {known}")
    for name in wish.networks:
        network = objects.network(name)
        if network is None:
            if wish.missing_ok:
                continue
            raise ScopeError(f"networks: there is no network {name!r}; there are: {known}")
        if is_protected(network, wish, facts):
            accepted = ", ".join(sorted(n.name for n in objects.networks if not is_protected(n, wish, facts))) or "none"
            raise ScopeError(f"networks: {network.name!r} is protected (protected_networks); accepted: {accepted}")


def is_protected(network: Network, wish: Wish, facts: Facts) -> bool:
    """Whether nothing may be removed from a network."""
    if wish.protected is None:
        return network.name.lower() in DEFAULT_PROTECTED or not facts.from_cni(network)
    return network.name.lower() in {name.lower() for name in wish.protected}


def make_plan(wish: Wish, facts: Facts) -> CleanupPlan:
    """Decides what is removed.

    Args:
        wish: what was asked for; `check_wish` let it pass.
        facts: what the node told.
    """
    plan = _stale(wish, facts) if wish.scope == "stale" else _networks(wish, facts)
    return _with_repairs(plan, facts)


# --- Scope stale.


def _stale(wish: Wish, facts: Facts) -> CleanupPlan:
    """What nobody used in any look, and is the same thing in all of them."""
    objects, problem = (
        facts.last.objects,
        next((look.runtime.problem for look in facts.looks if look.runtime.problem), ""),
    )
    if problem:
        return CleanupPlan(kept=(Kept(type="Runtime", name="containers", why=f"nothing counts as stale: {problem}"),))
    owners = [look.owners for look in facts.looks]
    open_networks = {network.id for network in objects.networks if not is_protected(network, wish, facts)}
    protected = {item.id for item in objects.endpoints if item.network not in open_networks}
    gone = ("stale", "stopped") if wish.stopped_containers else ("stale",)
    endpoints = tuple(
        item
        for item in objects.endpoints
        if item.id not in protected and all(_state(look.endpoints, item.id) in gone for look in owners)
    )
    removed = {item.id for item in endpoints}
    known = {item.id for look in facts.looks for item in look.objects.endpoints}
    policies = tuple(
        item
        for item in objects.policies
        if item.endpoints
        and all(_state(look.policies, item.id) == "stale" for look in owners)
        and all(name in removed or name not in known for name in item.endpoints)
    )
    namespaces = tuple(
        item
        for item in objects.namespaces
        if all(_state(look.namespaces, item.id) == "stale" for look in owners)
        and not objects.in_namespace(item) & protected
    )
    return CleanupPlan(
        policies=policies,
        endpoints=endpoints,
        namespaces=namespaces,
        items=_items(policies, endpoints, namespaces, (), owners[-1], "nobody uses it"),
        kept=tuple(
            Kept(type="HnsEndpoint", name=item.name, why=f"network {item.network_name or item.network} is protected")
            for item in objects.endpoints
            if item.id in protected and _state(owners[-1].endpoints, item.id) in gone
        ),
    )


def _state(holdings: t.Mapping[str, t.Any], item_id: str) -> str:
    """The state in one look; what was not there in it is not known long enough."""
    holding = holdings.get(item_id)
    return holding.state if holding is not None else "new"


def _items(
    policies: t.Iterable[PolicyList],
    endpoints: t.Iterable[Endpoint],
    namespaces: t.Iterable[Namespace],
    networks: t.Iterable[Network],
    owners: Ownership,
    why: str,
) -> tuple[Item, ...]:
    found = [Item(type="HnsPolicyList", id=item.id, name=item.name or item.id, why=why) for item in policies]
    for item in endpoints:
        owner = owners.endpoints[item.id].owner
        state = owners.endpoints[item.id].state
        said = {"stale": f"{owner[:12]} does not exist", "stopped": f"{owner} does not run"}.get(state, why)
        found.append(Item(type="HnsEndpoint", id=item.id, name=item.name or item.address or item.id, why=said))
    found += [Item(type="HnsNamespace", id=item.id, name=item.id, why=why) for item in namespaces]
    found += [Item(type="HnsNetwork", id=item.id, name=item.name, why=why) for item in networks]
    return tuple(found)


# --- Scopes networks and all.


def _networks(wish: Wish, facts: Facts) -> CleanupPlan:
    objects, owners = facts.last.objects, facts.last.owners
    if wish.scope == "all":
        targets = [item for item in objects.networks if facts.from_cni(item) and not is_protected(item, wish, facts)]
        why = "Kubernetes or its CNI made it"
    else:
        targets = [found for name in wish.networks if (found := objects.network(name)) is not None]
        why = "asked for"
    ids = {item.id for item in targets}
    on_targets = [item for item in objects.endpoints if item.network in ids]
    busy_networks = {item.network for item in on_targets if wish.keep_running_containers and _may_run(owners, item)}
    # A running container needs its network whole, the host's endpoint on it included.
    busy = {
        item.id
        for item in on_targets
        if item.network in busy_networks and owners.endpoints[item.id].state not in ("stale", "stopped")
    }
    endpoints = tuple(item for item in on_targets if item.id not in busy)
    networks = tuple(item for item in targets if item.id not in busy_networks)
    removed = {item.id for item in endpoints}
    stay = {item.id for item in objects.endpoints} - removed
    policies = tuple(
        item
        for item in objects.policies
        if item.endpoints & removed or (wish.scope == "all" and not item.endpoints & stay)
    )
    namespaces = tuple(
        item
        for item in objects.namespaces
        if not item.default
        and not (inside := objects.in_namespace(item)) & stay
        # An empty one may be that of a pod that is being made.
        and (inside & removed or (wish.scope == "all" and not wish.keep_running_containers))
    )
    everything = wish.scope == "all" and not busy
    kept_names = {item.name.lower() for item in targets if item.id in busy_networks}
    names = {name.lower() for name in (*(item.name for item in networks), *wish.networks)} - kept_names
    files = (*hns_cni.state_of(facts.cni, names, everything), *(() if busy_networks else facts.extra_files))
    routes = _routes(facts, networks)
    containers = () if wish.keep_running_containers else _containers(wish, facts, owners, on_targets, networks)
    items = (
        *_items(policies, endpoints, namespaces, networks, owners, why),
        *(Item(type="Container", id=item.id, name=item.name or item.id[:12], why=why) for item in containers),
        *(Item(type="File", id=path, name=path, why="state of the CNI") for path in files),
        *(
            Item(type="Route", id=item.destination, name=f"{item.destination} via {item.next_hop}", why="of the CNI")
            for item in routes
        ),
    )
    running = [service.name for service in facts.services if service.running] if items else []
    stop = hns_services.stop_order(name for name in running if name in _users(facts.services))
    gone = {(route.destination, route.next_hop) for route in routes}
    return CleanupPlan(
        policies=policies,
        endpoints=endpoints,
        namespaces=namespaces,
        networks=networks,
        containers=containers,
        files=files,
        routes=routes,
        items=items,
        kept=(
            *(
                Kept(type="HnsNetwork", name=item.name, why="running containers have endpoints on it")
                for item in targets
                if item.id in busy_networks
            ),
            *_unasked(wish, facts, items),
        ),
        stop=stop,
        start=hns_services.start_order(stop, overlay=_overlay(facts)),
        uplinks=tuple(hns_uplink.without_routes(uplink, gone) for uplink in facts.links.uplinks)
        if any(item.external for item in networks)
        else (),
        networks_left=len(objects.networks) - len(networks),
        port_pools=len(facts.port_pools),
    )


def _unasked(wish: Wish, facts: Facts, items: t.Sequence[Item]) -> tuple[Kept, ...]:
    """Containers that may run on, since nobody could ask the runtime."""
    problem = facts.last.runtime.problem
    if wish.keep_running_containers or not problem or not items:
        return ()
    return (Kept(type="Runtime", name="containers", why=f"those that run are not stopped: {problem}"),)


def _overlay(facts: Facts) -> bool:
    return facts.cni.overlay or any(item.type.lower() == "overlay" for item in facts.last.objects.networks)


def _users(services: t.Iterable[Service]) -> set[str]:
    """Services that use networks; HNS itself and the runtimes go on."""
    own = {hns_services.HNS, "vmcompute", *hns_services.RUNTIMES}
    return {service.name for service in services} - own


def _may_run(owners: Ownership, endpoint: Endpoint) -> bool:
    return owners.endpoints[endpoint.id].state in ("in use", "unknown")


def _routes(facts: Facts, networks: t.Sequence[Network]) -> tuple[Route, ...]:
    """Routes to other nodes' pods (host-gw): those into the pods' subnets by another node.

    A default route is never one of them: it lies in no pods' subnet.
    """
    subnets = [subnet for network in networks for subnet in network.subnets]
    if any(network.type.lower() == "l2bridge" for network in networks) and facts.cni.pods_subnet:
        subnets.append(facts.cni.pods_subnet)
    found = {
        (route.destination, route.next_hop): route
        for route in facts.links.routes
        if hns_cni.inside(route.destination, subnets)
    }
    return tuple(found.values())


def _containers(
    wish: Wish, facts: Facts, owners: Ownership, endpoints: t.Iterable[Endpoint], networks: t.Sequence[Network]
) -> tuple[Owner, ...]:
    """What is stopped: with its endpoints on the networks, and the pods that make networks."""
    runtime = facts.last.runtime
    pods = [owner for owner in runtime.owners.values() if owner.kind == "pod"]
    claimed = {
        owner.id: owner
        for endpoint in endpoints
        for claim in owners.claims(endpoint)
        if (owner := runtime.find(claim)) is not None
    }
    if wish.scope == "all" and networks:
        claimed.update((pod.id, pod) for pod in pods)
        claimed.update((one.id, one) for one in runtime.owners.values() if one.runtime == "docker" and "/" in one.name)
        if not pods:
            claimed.update((one.id, one) for one in runtime.owners.values() if one.runtime == "containerd")
    elif networks:
        claimed.update((pod.id, pod) for pod in pods if _DAEMONS.search(pod.name))
    # A container goes with its pod's sandbox, where crictl told of sandboxes.
    return tuple(
        owner
        for owner in claimed.values()
        if owner.kind != "creating" and (owner.kind == "pod" or owner.runtime == "docker" or not pods)
    )


# --- What an earlier cleanup left.


def _with_repairs(plan: CleanupPlan, facts: Facts) -> CleanupPlan:
    journal = facts.journal
    if journal is None:
        return plan
    stopped = {service.name for service in facts.services if not service.running}
    there = {service.name for service in facts.services}
    left = [name for name in journal.services if name in stopped]
    lost = [uplink for uplink in journal.uplinks if hns_uplink.lost(uplink, facts.links)]
    saved = {uplink.mac for uplink in journal.uplinks}
    gone = {(route.destination, route.next_hop) for route in plan.routes}
    return dataclasses.replace(
        plan,
        # What ran before the first of them has to run after the last.
        start=hns_services.start_order(
            {*plan.start, *(name for name in journal.services if name in there)}, overlay=_overlay(facts)
        ),
        uplinks=(
            *(hns_uplink.without_routes(uplink, gone) for uplink in journal.uplinks),
            *(uplink for uplink in plan.uplinks if uplink.mac not in saved),
        ),
        repair=(
            *(f"service {name} was left stopped" for name in left),
            *(f"{uplink.alias} has lost its static address" for uplink in lost),
        ),
        journal=journal,
    )
