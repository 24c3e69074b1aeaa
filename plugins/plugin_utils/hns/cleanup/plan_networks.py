# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Plan cleanups with the scope `networks` or `all`: remove networks and everything that belongs to them (no I/O)."""

from __future__ import annotations

import dataclasses
import re
import typing as t

from ..facts import cni
from ..facts import services as hns_services
from ..facts import uplink as hns_uplink
from ..facts.node_facts import HnsFacts
from ..facts.objects import HnsEndpoint, HnsNetwork, Namespace, PolicyList
from ..facts.owners import Ownership
from ..facts.runtime import K8S, Owner
from ..facts.services import InstalledService
from ..facts.uplink import AdapterRoute
from .plan import CleanupPlan, CleanupRequest, KeptObject, Removal, is_protected, items_of, without_network

_DAEMONS = re.compile(r"flannel|kube-proxy|calico|azure-cn|antrea|ovn|cni|multus", re.IGNORECASE)
"""Matches the names of HostProcess pods that use networks without having an endpoint. If networks are removed, these
pods must restart."""


@dataclasses.dataclass(frozen=True)
class _TargetNetworks:
    """The networks that a request selects, and those of them that must stay because running containers use them."""

    targets: tuple[HnsNetwork, ...]
    on_targets: tuple[HnsEndpoint, ...]
    """Endpoints of the networks in `targets`; in scope `all`, also endpoints whose network no longer exists."""
    busy_networks: frozenset[str]
    """Ids of networks that running containers use, if the containers must keep running; otherwise empty."""
    busy: frozenset[str]
    """Ids of the endpoints to keep on the networks in `busy_networks`. They include the host's endpoints, which running
    containers also need."""
    why: str

    @classmethod
    def of(cls, request: CleanupRequest, facts: HnsFacts) -> _TargetNetworks:
        objects, owners = facts.last.objects, facts.last.owners
        if request.scope == "all":
            targets = [
                item for item in objects.networks if facts.from_cni(item) and not is_protected(item, request, facts)
            ]
        else:
            targets = [*objects.called(request.networks)]
        ids = {item.id for item in targets}
        orphaned = without_network(request, facts) if request.scope == "all" else ()
        on_targets = (*(item for item in objects.endpoints if item.network in ids), *orphaned)
        running = {item.network for item in on_targets if request.keep_running_containers and _may_run(owners, item)}
        return cls(
            targets=tuple(targets),
            on_targets=on_targets,
            busy_networks=frozenset(running),
            busy=frozenset(
                item.id
                for item in on_targets
                if item.network in running and owners.endpoints[item.id].state not in ("stale", "stopped")
            ),
            why="Kubernetes or its CNI created it" if request.scope == "all" else "requested",
        )

    @property
    def networks(self) -> tuple[HnsNetwork, ...]:
        """The networks to remove."""
        return tuple(item for item in self.targets if item.id not in self.busy_networks)

    @property
    def endpoints(self) -> tuple[HnsEndpoint, ...]:
        """The endpoints to remove."""
        return tuple(item for item in self.on_targets if item.id not in self.busy)

    @property
    def kept(self) -> tuple[KeptObject, ...]:
        """The networks to keep, each with the reason."""
        why = "running containers have endpoints on it"
        return tuple(
            KeptObject(type="HnsNetwork", name=item.name, why=why)
            for item in self.targets
            if item.id in self.busy_networks
        )


def plan_networks(request: CleanupRequest, facts: HnsFacts) -> CleanupPlan:
    """Plan a cleanup of scope `networks` or `all`, which removes everything that belongs to the chosen networks."""
    objects, owners, aim = facts.last.objects, facts.last.owners, _TargetNetworks.of(request, facts)
    networks, endpoints = aim.networks, aim.endpoints
    policies, namespaces = _references(request, facts, {item.id for item in endpoints})
    files, routes = _files(request, facts, aim), _routes(facts, networks)
    containers = (
        () if request.keep_running_containers else _containers(request, facts, owners, aim.on_targets, networks)
    )
    items = (
        *items_of(policies, endpoints, namespaces, networks, owners, aim.why),
        *(Removal(type="Container", id=item.id, name=item.name or item.id[:12], why=aim.why) for item in containers),
        *(Removal(type="File", id=path, name=path, why="state of the CNI") for path in files),
        *(
            Removal(type="Route", id=r.destination, name=f"{r.destination} via {r.next_hop}", why="route of the CNI")
            for r in routes
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
        kept=(*aim.kept, *_unasked(request, facts, items)),
        stop=stop,
        start=hns_services.start_order(stop, overlay=is_overlay(facts)),
        uplinks=tuple(hns_uplink.without_routes(uplink, gone) for uplink in facts.adapters.uplinks)
        if any(item.external for item in networks)
        else (),
        networks_left=len(objects.networks) - len(networks),
        external_left=sum(item.external and item not in networks for item in objects.networks),
        port_pools=len(facts.port_pools),
    )


def _references(
    request: CleanupRequest, facts: HnsFacts, removed: set[str]
) -> tuple[tuple[PolicyList, ...], tuple[Namespace, ...]]:
    """Return the policy lists and namespaces to remove in addition to the endpoints that a cleanup removes.

    These are the policy lists that refer to a removed endpoint, and the namespaces whose endpoints are all removed. In
    scope `all`, policy lists that refer to no kept endpoint are also removed. So are empty namespaces, unless
    containers keep running.
    """
    objects = facts.last.objects
    stay = {item.id for item in objects.endpoints} - removed
    policies = tuple(
        item
        for item in objects.policies
        if item.endpoints & removed or (request.scope == "all" and not item.endpoints & stay)
    )
    namespaces = tuple(
        item
        for item in objects.namespaces
        if not item.default
        and not (inside := objects.in_namespace(item)) & stay
        # An empty namespace may belong to a pod that is being created.
        and (inside & removed or (request.scope == "all" and not request.keep_running_containers))
    )
    return policies, namespaces


def _files(request: CleanupRequest, facts: HnsFacts, aim: _TargetNetworks) -> tuple[str, ...]:
    """Return the paths of the state files that CNIs keep for the removed networks."""
    kept = {item.name.lower() for item in aim.targets if item.id in aim.busy_networks}
    names = {name.lower() for name in (*(item.name for item in aim.networks), *request.networks)} - kept
    everything = request.scope == "all" and not aim.busy
    paths = (*cni.state_of(facts.cni, names, everything), *(() if aim.busy_networks else facts.extra_files))
    # The caller may name a file that belongs to the networks anyway.
    return tuple({path.lower(): path for path in paths}.values())


def _unasked(request: CleanupRequest, facts: HnsFacts, items: t.Sequence[Removal]) -> tuple[KeptObject, ...]:
    """If the container runtime could not be queried, return a note that running containers are not stopped."""
    problem = facts.last.runtime.problem
    if request.keep_running_containers or not problem or not items:
        return ()
    return (KeptObject(type="Runtime", name="containers", why=f"running containers are not stopped: {problem}"),)


def is_overlay(facts: HnsFacts) -> bool:
    """Return whether the node has an overlay network, according to its CNI configuration or to HNS."""
    return facts.cni.overlay or any(item.type.lower() == "overlay" for item in facts.last.objects.networks)


def _users(services: t.Iterable[InstalledService]) -> set[str]:
    """Return the services to stop because they use networks. HNS itself and the container runtimes keep running."""
    own = {hns_services.HNS, "vmcompute", *hns_services.RUNTIMES}
    return {service.name for service in services} - own


def _may_run(owners: Ownership, endpoint: HnsEndpoint) -> bool:
    return owners.endpoints[endpoint.id].state in ("in use", "unknown")


def _routes(facts: HnsFacts, networks: t.Sequence[HnsNetwork]) -> tuple[AdapterRoute, ...]:
    """Return the routes whose destinations are inside a pod subnet. The default route is not among them.

    In host-gw mode, flannel adds such routes to the pods on other nodes.
    """
    subnets = [subnet for network in networks for subnet in network.subnets]
    if any(network.type.lower() == "l2bridge" for network in networks) and facts.cni.pods_subnet:
        subnets.append(facts.cni.pods_subnet)
    routes = {
        (route.destination, route.next_hop): route
        for route in facts.adapters.routes
        if cni.inside(route.destination, subnets)
    }
    return tuple(routes.values())


def _without_endpoints(facts: HnsFacts, owners: Ownership, pods: t.Iterable[Owner]) -> dict[str, Owner]:
    """Return the pods that have no endpoint, such as HostProcess pods, and pods that lost theirs when HNS restarted."""
    claims = (claim for endpoint in facts.last.objects.endpoints for claim in owners.claims(endpoint))
    attached = {owner.id for claim in claims if (owner := facts.last.runtime.find(claim)) is not None}
    return {pod.id: pod for pod in pods if pod.id not in attached}


def _containers(
    request: CleanupRequest,
    facts: HnsFacts,
    owners: Ownership,
    endpoints: t.Iterable[HnsEndpoint],
    networks: t.Sequence[HnsNetwork],
) -> tuple[Owner, ...]:
    """Return the containers to stop.

    They are the containers that use one of the given endpoints and, if networks are given, the pods that create
    networks. Scope `all`, `CleanupRequest.containers` and `CleanupRequest.pods_without_endpoints` may add containers.
    """
    runtime = facts.last.runtime
    pods = [owner for owner in runtime.owners.values() if owner.kind == "pod"]
    claimed = {
        owner.id: owner
        for endpoint in endpoints
        for claim in owners.claims(endpoint)
        if (owner := runtime.find(claim)) is not None
    }
    if request.containers == "all":
        claimed.update(runtime.owners)
    if request.scope == "all" and (networks or request.containers != "networks"):
        claimed.update((pod.id, pod) for pod in pods)
        claimed.update((one.id, one) for one in runtime.owners.values() if one.runtime == "docker" and "/" in one.name)
        if not pods:
            ours = (one for one in runtime.owners.values() if one.runtime == "containerd" and one.namespace == K8S)
            claimed.update((one.id, one) for one in ours)
    elif networks:
        claimed.update((pod.id, pod) for pod in pods if _DAEMONS.search(pod.name))
        if request.pods_without_endpoints:
            claimed.update(_without_endpoints(facts, owners, pods))
    # If crictl listed sandboxes, a container is removed together with its pod's sandbox.
    return tuple(
        owner
        for owner in claimed.values()
        if owner.kind != "creating"
        and (owner.kind == "pod" or owner.runtime == "docker" or owner.namespace != K8S or not pods)
    )
