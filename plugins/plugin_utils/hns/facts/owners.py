# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Find out who owns each HNS object, and which objects are unused (no I/O).

An object is stale if it names its owners and none of them exists; an object without owners belongs to the host. There
are exceptions: empty namespaces (`_empty`), remote endpoints whose address a local pod now has (`_elsewhere`), and
endpoints of containers that Docker stopped (`_lost_by_docker`). A policy list is in use if one of its endpoints is
(`_policy`).

An endpoint names its owner in `SharedContainers` (empty with Hyper-V isolation, projectcalico/calico#8913), in its
namespace (hcsshim internal/hns/namespace.go), or in its own name: `SANDBOX_NETWORK` (containernetworking/plugins
pkg/hns/endpoint_windows.go, ConstructEndpointName; Calico does the same), `SANDBOX[:8]-eth0`
(azure-container-networking network/endpoint_windows.go, ConstructEndpointID) or `cid-SANDBOX`
(aws/amazon-vpc-cni-plugins). Endpoints that kube-proxy creates do not name an owner, because kube-proxy's remote
endpoints and source address belong to no container (kubernetes pkg/proxy/winkernel).

A pod with a network of its own runs in an HNS namespace, and its endpoint belongs to that namespace. If the endpoint is
removed, for example together with its network, the containers keep running in the namespace, and nothing creates the
endpoint again (projectcalico/calico#5164). containerd creates no namespace for a HostProcess pod, which uses the host's
network (containerd internal/cri/server/sandbox_run.go, hostNetwork).
"""

from __future__ import annotations

import dataclasses
import re
import typing as t

from .objects import HnsEndpoint, HnsObjects, Namespace, PolicyList
from .runtime import Owner, Runtime

_DOCKERS = ("nat", "transparent")
"""Network types on which Docker creates unnamed endpoints (moby libnetwork/drivers/windows)."""
_UNATTACHED = (1, 4)
"""States of endpoints without an attached container: created (1) and detached (4). Source: hcsshim
internal/hns/hnsendpoint.go."""
State = t.Literal["in use", "stopped", "stale", "host", "remote", "unknown"]
_NAMES = (
    re.compile(r"(?P<id>[0-9a-f]{64})_.+", re.IGNORECASE),
    re.compile(r"(?P<id>[0-9a-f]{8})-eth\d+", re.IGNORECASE),
    re.compile(r"cid-(?P<id>[0-9a-f]{64})", re.IGNORECASE),
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class OwnerEvidence:
    """The owner of an HNS object, and whether the object is in use."""

    state: State
    """`stopped`: the object's container exists but is not running. `unknown`: the container runtime could not be
    queried, or does not report whether the object is in use."""
    owner: str = ""
    """The object's owner: `namespace/pod`, the name of a container, the id of a missing owner, or a description."""
    ids: tuple[str, ...] = ()
    """Ids of the containers and sandboxes to which the object refers."""
    note: str = ""
    """Why the object is stale, if the reason is not a missing container."""


class Ownership:
    """The owners of HNS objects in one observation of HNS and the container runtime.

    Args:
        objects: the objects that HNS listed.
        runtime: the containers that the container runtime listed afterwards.
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
        """Owners of endpoints, by the endpoint's id."""
        self.namespaces: t.Mapping[str, OwnerEvidence] = {item.id: self._namespace(item) for item in objects.namespaces}
        self.policies: t.Mapping[str, OwnerEvidence] = {item.id: self._policy(item) for item in objects.policies}

    def claims(self, endpoint: HnsEndpoint) -> tuple[str, ...]:
        """Return the ids of the containers and sandboxes to which an endpoint refers."""
        claimed = [*endpoint.containers, *self._containers.get(endpoint.namespace, ())]
        named = (pattern.fullmatch(endpoint.name) for pattern in _NAMES)
        claimed += [match["id"].lower() for match in named if match]
        return tuple(dict.fromkeys(claimed))

    def pods_without_endpoint(self) -> dict[str, Owner]:
        """Return the running pods that have a namespace of their own but no endpoint. The keys are pod ids."""
        claimed = self._pods(claim for endpoint in self._objects.endpoints for claim in self.claims(endpoint))
        known = {item.id for item in self._objects.endpoints}
        separate: dict[str, Owner] = {}
        for namespace in self._objects.namespaces:
            inside = self._pods(namespace.containers)
            if self._objects.in_namespace(namespace) & known:
                claimed |= inside
            elif not namespace.default:
                separate |= inside
        return {name: pod for name, pod in separate.items() if pod.running and name not in claimed}

    def _pods(self, claims: t.Iterable[str]) -> dict[str, Owner]:
        """Return the pods among the containers and pod sandboxes with the given ids. The keys are pod ids."""
        owners = (self._runtime.find(claim) for claim in claims)
        return {owner.id: owner for owner in owners if owner is not None and owner.kind == "pod"}

    def _endpoint(self, endpoint: HnsEndpoint) -> OwnerEvidence:
        claims = self.claims(endpoint)
        if not claims and self._lost_by_docker(endpoint):
            return OwnerEvidence(state="stopped", owner="a Docker container")
        return self._evidence(claims)

    def _lost_by_docker(self, endpoint: HnsEndpoint) -> bool:
        """Return whether an endpoint was left behind by a container that Docker stopped (moby/moby#47576).

        Such an endpoint names no container. Neither does the endpoint of a container that is starting, so no endpoint
        counts as left behind while a container is starting.
        """
        runtime, network = self._runtime, self._types.get(endpoint.network, "")
        if "docker" not in runtime.names or runtime.problem or network not in _DOCKERS:
            return False
        starting = any(owner.kind == "creating" and owner.runtime == "docker" for owner in runtime.owners.values())
        return not starting and endpoint.state in _UNATTACHED and not endpoint.name.endswith("_ep")

    def _evidence(self, claims: tuple[str, ...]) -> OwnerEvidence:
        if not claims:
            return OwnerEvidence(state="host")
        owners = [owner for claim in claims if (owner := self._runtime.find(claim)) is not None]
        if owners:
            # Prefer pod names over container names, and running owners over stopped ones.
            best = min(owners, key=lambda owner: (not owner.running, owner.kind != "pod", not owner.name))
            # The kubelet removes a stopped sandbox's network itself; Docker may have lost track of an endpoint.
            stopped = all(owner.kind == "container" and not owner.running for owner in owners)
            return OwnerEvidence(state="stopped" if stopped else "in use", owner=_name(best), ids=claims)
        return OwnerEvidence(state="unknown" if self._runtime.problem else "stale", owner=claims[0], ids=claims)

    def _namespace(self, namespace: Namespace) -> OwnerEvidence:
        if namespace.default:
            return OwnerEvidence(state="host", owner="host")
        inside = [self.endpoints[name] for name in self._objects.in_namespace(namespace) if name in self.endpoints]
        own = self._evidence(namespace.containers)
        all_evidence = [*inside, *([own] if namespace.containers else [])]
        if not all_evidence:
            return self._empty()
        # If an endpoint is not stale, for example because its owner is unknown, the namespace is not stale either.
        return min(all_evidence, key=_strength)

    def _empty(self) -> OwnerEvidence:
        """Return the owner of an empty namespace, which may belong to a sandbox that is being created."""
        if self._runtime.problem:
            return OwnerEvidence(state="unknown")
        making = next((owner for owner in self._runtime.owners.values() if owner.kind == "creating"), None)
        if making is not None:
            return OwnerEvidence(state="in use", owner=f"perhaps {_name(making)}")
        if "containerd" in self._runtime.names and not self._runtime.has_leases:
            return OwnerEvidence(
                state="unknown", owner="this containerd does not report which sandboxes are being created"
            )
        return OwnerEvidence(state="stale")

    def _policy(self, policy: PolicyList) -> OwnerEvidence:
        """Return the owner of a policy list. A load balancer with a live endpoint is left to kube-proxy.

        kube-proxy keeps its objects in memory and recreates them only when a Service or its endpoints change
        (kubernetes pkg/proxy/winkernel/proxier.go, syncProxyRules), so removing a working load balancer would
        cut off its Service. A load balancer whose endpoints are all missing serves no traffic; some versions of
        kube-proxy leave such objects behind (kubernetes#112836).
        """
        if not policy.endpoints:
            return OwnerEvidence(state="host")
        states = {self._behind(name) for name in policy.endpoints}
        if states == {"stale"}:
            return OwnerEvidence(state="stale")
        return OwnerEvidence(state="unknown" if states <= {"stale", "unknown"} else "in use")

    def _behind(self, endpoint_id: str) -> State:
        """Return the state of a load balancer's endpoint.

        An endpoint whose address a local pod now has is `in use`, not `stale`.
        """
        evidence = self.endpoints.get(endpoint_id)
        if evidence is None:
            return "stale"
        return "in use" if evidence.note else evidence.state


def _elsewhere(user: str | None) -> OwnerEvidence:
    """Return the owner of a remote endpoint, which represents an address on another node.

    If a local pod now has that address, the remote pod is gone. kube-proxy has missed this change, and the local pod
    gets no traffic until the endpoint is removed (microsoft/Windows-Containers#631; since kubernetes#138000, kube-proxy
    removes the endpoint).

    Args:
        user: the local pod that has the address, or None if no local pod has it.
    """
    if user is None:
        return OwnerEvidence(state="remote")
    return OwnerEvidence(state="stale", owner=user, note=f"{user} has its address now")


def _strength(evidence: OwnerEvidence) -> tuple[int, str]:
    """Return an owner's sort key. Owners that certainly use an HNS object come first, then owners that might use it."""
    return ("in use", "unknown", "host", "remote", "stopped", "stale").index(evidence.state), evidence.owner


def _name(owner: Owner) -> str:
    return (owner.name or owner.id[:12]) + (", which is being created" if owner.kind == "creating" else "")
