# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Who an object of HNS belongs to, and which ones nobody uses. Pure.

An object is stale only if it says whose it is, and none of those exists; what says nothing
belongs to the host. How endpoints say it: `SharedContainers` (empty for Hyper-V isolation, projectcalico/calico#8913),
their namespace (hcsshim internal/hns/namespace.go), their name: `SANDBOX_NETWORK` (containernetworking/plugins
pkg/hns/endpoint_windows.go, ConstructEndpointName; Calico likewise), `SANDBOX[:8]-eth0` (azure-container-networking
network/endpoint_windows.go, ConstructEndpointID), `cid-SANDBOX` (aws/amazon-vpc-cni-plugins). kube-proxy names none of
its own, and neither its remote endpoints nor its source address are a container's (kubernetes pkg/proxy/winkernel).
"""

from __future__ import annotations

import dataclasses
import re
import typing as t

from .objects import HnsEndpoint, HnsObjects, Namespace, PolicyList
from .runtime import Owner, Runtime

_DOCKERS = ("nat", "transparent")
"""Types of networks whose endpoints Docker makes; it names none of them (moby libnetwork/drivers/windows)."""
_UNATTACHED = (1, 4)
"""States of endpoints that are in no container: created, detached (hcsshim internal/hns/hnsendpoint.go)."""
State = t.Literal["in use", "stopped", "stale", "host", "remote", "unknown"]
_NAMES = (
    re.compile(r"(?P<id>[0-9a-f]{64})_.+", re.IGNORECASE),
    re.compile(r"(?P<id>[0-9a-f]{8})-eth\d+", re.IGNORECASE),
    re.compile(r"cid-(?P<id>[0-9a-f]{64})", re.IGNORECASE),
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class OwnerEvidence:
    """What is known of an object's owner."""

    state: State
    """`stopped`: its container exists, but does not run. `unknown`: the runtime could not be asked."""
    owner: str = ""
    """`namespace/pod`, a container's name, or the id of what is gone."""
    ids: tuple[str, ...] = ()
    """Ids of the containers and sandboxes that it names."""
    note: str = ""
    """Why it is stale, where no container of its own is gone."""


class Ownership:
    """Owners of one look at HNS and at the runtime.

    Args:
        objects: what HNS listed.
        runtime: what the runtime listed, after that.
    """

    def __init__(self, objects: HnsObjects, runtime: Runtime) -> None:
        self._objects, self._runtime = objects, runtime
        self._types = {item.id: item.type.lower() for item in objects.networks}
        self._containers = {item.id: item.containers for item in objects.namespaces if not item.default}
        local = {item.id: self._endpoint(item) for item in objects.endpoints if not item.remote}
        users = {
            (item.network, item.address): local[item.id].owner
            for item in objects.endpoints
            if item.id in local and item.address and local[item.id].state == "in use"
        }
        self.endpoints: t.Mapping[str, OwnerEvidence] = {
            item.id: local[item.id] if item.id in local else _elsewhere(users.get((item.network, item.address)))
            for item in objects.endpoints
        }
        """By the endpoint's id."""
        self.namespaces: t.Mapping[str, OwnerEvidence] = {item.id: self._namespace(item) for item in objects.namespaces}
        self.policies: t.Mapping[str, OwnerEvidence] = {item.id: self._policy(item) for item in objects.policies}

    def claims(self, endpoint: HnsEndpoint) -> tuple[str, ...]:
        """Ids of the containers and sandboxes that an endpoint says it belongs to."""
        claimed = [*endpoint.containers, *self._containers.get(endpoint.namespace, ())]
        named = (pattern.fullmatch(endpoint.name) for pattern in _NAMES)
        claimed += [found["id"].lower() for found in named if found]
        return tuple(dict.fromkeys(claimed))

    def _endpoint(self, endpoint: HnsEndpoint) -> OwnerEvidence:
        claims = self.claims(endpoint)
        if not claims and self._lost_by_docker(endpoint):
            return OwnerEvidence(state="stopped", owner="a container of Docker")
        return self._holding(claims)

    def _lost_by_docker(self, endpoint: HnsEndpoint) -> bool:
        """Whether it is what Docker leaves of a container that stopped without it (moby/moby#47576).

        It names no container, and while one starts, nor does its endpoint: then it is not known.
        """
        runtime, network = self._runtime, self._types.get(endpoint.network, "")
        if "docker" not in runtime.names or runtime.problem or network not in _DOCKERS:
            return False
        starting = any(owner.kind == "creating" and owner.runtime == "docker" for owner in runtime.owners.values())
        return not starting and endpoint.state in _UNATTACHED and not endpoint.name.endswith("_ep")

    def _holding(self, claims: tuple[str, ...]) -> OwnerEvidence:
        if not claims:
            return OwnerEvidence(state="host")
        owners = [owner for claim in claims if (owner := self._runtime.find(claim)) is not None]
        if owners:
            # A pod's name tells more than that of a container in it; what runs more than what does not.
            best = min(owners, key=lambda owner: (not owner.running, owner.kind != "pod", not owner.name))
            # The kubelet takes a stopped sandbox's network away itself; Docker may have lost an endpoint's trace.
            stopped = all(owner.kind == "container" and not owner.running for owner in owners)
            return OwnerEvidence(state="stopped" if stopped else "in use", owner=_name(best), ids=claims)
        return OwnerEvidence(state="unknown" if self._runtime.problem else "stale", owner=claims[0], ids=claims)

    def _namespace(self, namespace: Namespace) -> OwnerEvidence:
        if namespace.default:
            return OwnerEvidence(state="host", owner="host")
        inside = [self.endpoints[name] for name in self._objects.in_namespace(namespace) if name in self.endpoints]
        own = self._holding(namespace.containers)
        holdings = [*inside, *([own] if namespace.containers else [])]
        if not holdings:
            return self._empty()
        # Whatever is not stale holds it: the host's own, and what nobody knows.
        return min(holdings, key=_strength)

    def _empty(self) -> OwnerEvidence:
        """A namespace with nothing in it may be that of a sandbox that is being made: it comes before its endpoint."""
        if self._runtime.problem:
            return OwnerEvidence(state="unknown")
        making = next((owner for owner in self._runtime.owners.values() if owner.kind == "creating"), None)
        if making is not None:
            return OwnerEvidence(state="in use", owner=f"perhaps {_name(making)}")
        if "containerd" in self._runtime.names and not self._runtime.leases_tell:
            return OwnerEvidence(state="unknown", owner="this containerd does not tell which sandboxes are being made")
        return OwnerEvidence(state="stale")

    def _policy(self, policy: PolicyList) -> OwnerEvidence:
        """A load balancer that still has a live endpoint is kube-proxy's to change.

        kube-proxy keeps what it made in memory and makes it anew only when a Service or its endpoints change
        (kubernetes pkg/proxy/winkernel/proxier.go, syncProxyRules): to remove one that serves cuts its Service off.
        One whose endpoints are all gone serves nobody, and is what kube-proxy fails to delete (kubernetes#112836).
        """
        if not policy.endpoints:
            return OwnerEvidence(state="host")
        states = {self._behind(name) for name in policy.endpoints}
        if states == {"stale"}:
            return OwnerEvidence(state="stale")
        return OwnerEvidence(state="unknown" if states <= {"stale", "unknown"} else "in use")

    def _behind(self, endpoint_id: str) -> State:
        """The state of what a load balancer sends to: an address that a pod here has got is one that serves."""
        holding = self.endpoints.get(endpoint_id)
        if holding is None:
            return "stale"
        return "in use" if holding.note else holding.state


def _elsewhere(user: str | None) -> OwnerEvidence:
    """A remote endpoint: it stands for an address on another node.

    Where a pod here has that address now, the one that it stood for is gone: kube-proxy missed it, and the pod gets no
    traffic until it is removed (microsoft/Windows-Containers#631; kubernetes#138000 has kube-proxy remove it).

    Args:
        user: who has its address here.
    """
    if user is None:
        return OwnerEvidence(state="remote")
    return OwnerEvidence(state="stale", owner=user, note=f"{user} has its address now")


def _strength(holding: OwnerEvidence) -> tuple[int, str]:
    """Who holds something, if several do: whoever surely uses it, before those who may."""
    return ("in use", "unknown", "host", "remote", "stopped", "stale").index(holding.state), holding.owner


def _name(owner: Owner) -> str:
    return (owner.name or owner.id[:12]) + (", which is being made" if owner.kind == "creating" else "")
