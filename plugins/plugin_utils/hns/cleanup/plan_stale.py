# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Plan cleanups with the scope `stale`: remove objects that existed and were unused in all observations (no I/O).

On request, the cleanup also stops pods that had no endpoint in any of the observations.
"""

from __future__ import annotations

import typing as t

from ..facts.node_facts import HnsFacts
from ..facts.owners import Ownership
from ..facts.runtime import Owner
from .plan import CleanupPlan, CleanupRequest, KeptObject, Removal, is_protected, items_of, without_network

_DISCONNECTED = "it runs without an HNS endpoint; the kubelet starts the pod again"


def plan_stale(request: CleanupRequest, facts: HnsFacts) -> CleanupPlan:
    """Return a plan that removes the objects that existed and were unused in all observations."""
    objects, problem = (
        facts.last.objects,
        next((observation.runtime.problem for observation in facts.observations if observation.runtime.problem), ""),
    )
    if problem:
        return CleanupPlan(
            kept=(KeptObject(type="Runtime", name="containers", why=f"nothing counts as stale: {problem}"),)
        )
    owners = [observation.owners for observation in facts.observations]
    open_networks = {network.id for network in objects.networks if not is_protected(network, request, facts)}
    orphaned = {item.id for item in without_network(request, facts)}
    protected = {item.id for item in objects.endpoints if item.network not in open_networks} - orphaned
    gone = ("stale", "stopped") if request.stopped_containers else ("stale",)
    endpoints = tuple(
        item
        for item in objects.endpoints
        if item.id not in protected and all(_state(observation.endpoints, item.id) in gone for observation in owners)
    )
    removed = {item.id for item in endpoints}
    known = {item.id for observation in facts.observations for item in observation.objects.endpoints}
    policies = tuple(
        item
        for item in objects.policies
        if item.endpoints
        and all(_state(observation.policies, item.id) == "stale" for observation in owners)
        and all(name in removed or name not in known for name in item.endpoints)
    )
    namespaces = tuple(
        item
        for item in objects.namespaces
        if all(_state(observation.namespaces, item.id) == "stale" for observation in owners)
        and not objects.in_namespace(item) & protected
    )
    pods = _disconnected(owners) if request.pods_without_endpoints else ()
    return CleanupPlan(
        policies=policies,
        endpoints=endpoints,
        namespaces=namespaces,
        containers=pods,
        items=(
            *items_of(policies, endpoints, namespaces, (), owners[-1], "it is not used"),
            *(Removal(type="Container", id=pod.id, name=pod.name or pod.id[:12], why=_DISCONNECTED) for pod in pods),
        ),
        kept=tuple(
            KeptObject(
                type="HnsEndpoint",
                name=item.name,
                why=f"network {item.network_name or item.network} is protected (protected_networks)",
            )
            for item in objects.endpoints
            if item.id in protected and _state(owners[-1].endpoints, item.id) in gone
        ),
    )


def _disconnected(observations: t.Sequence[Ownership]) -> tuple[Owner, ...]:
    """Return the pods that ran without an endpoint in all observations."""
    disconnected = [observation.pods_without_endpoint() for observation in observations]
    return tuple(pod for name, pod in disconnected[-1].items() if all(name in pods for pods in disconnected))


def _state(holdings: t.Mapping[str, t.Any], item_id: str) -> str:
    """Return the state of an object in one observation, or `new` if the observation does not list the object."""
    holding = holdings.get(item_id)
    return holding.state if holding is not None else "new"
