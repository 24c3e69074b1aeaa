# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Observe HNS and the containers, services and adapters that use it, in one remote command (no I/O)."""

from __future__ import annotations

import dataclasses
import typing as t

from ...wire.calls import query
from ...wire.messages import Call, CallResult, Observation
from ...wire.scopes import Scope
from . import cni as hns_cni
from . import runtime as hns_runtime
from . import services as hns_services
from . import uplink as hns_uplink
from .cni import Cni
from .journal import JOURNAL, Journal
from .objects import (
    LISTINGS,
    HnsEndpoint,
    HnsNetwork,
    HnsObjects,
    Namespace,
    PolicyList,
    cmdlet,
    listing_calls,
    read_objects,
)
from .owners import OwnerEvidence, Ownership
from .runtime import Programs, Runtime
from .services import InstalledService
from .uplink import AdapterFacts

FIRST, SECOND = Scope("1."), Scope("2.")
"""Id prefixes of the calls of the two observations of HNS and the container runtime."""
LATE = "CommandTimeout"
NO_HNS = "this machine has no HNS (the Windows feature Containers is not installed)"


@dataclasses.dataclass(frozen=True, kw_only=True)
class FactsOptions:
    """Options for observing HNS and the containers, services and adapters that use HNS."""

    hns_timeout: float = 60.0
    """Time limit of one HNS listing, in seconds."""
    grace: float = 0.0
    """Seconds between two observations of HNS and the container runtime; 0 means a single observation."""
    conf_dirs: tuple[str, ...] = hns_cni.CONF_DIRS
    programs: Programs = dataclasses.field(default_factory=Programs)
    extra_files: tuple[str, ...] = ()
    """Additional state files to search for."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Snapshot:
    """One observation of HNS and the container runtime."""

    objects: HnsObjects
    runtime: Runtime

    @property
    def owners(self) -> Ownership:
        """The owners of the observed HNS objects."""
        return Ownership(self.objects, self.runtime)


@dataclasses.dataclass(frozen=True, kw_only=True)
class HnsFacts:
    """Observed facts about HNS on a node, and about the containers, services and adapters that use HNS."""

    observations: tuple[Snapshot, ...]
    """One observation, or two if `FactsOptions.grace` is greater than 0."""
    cni: Cni
    services: tuple[InstalledService, ...]
    adapters: AdapterFacts
    port_pools: tuple[str, ...] = ()
    """Ranges of TCP ports that HNS reserves for its networks, such as `50000-50063`."""
    extra_files: tuple[str, ...] = ()
    """Existing files of FactsOptions.extra_files."""
    journal: Journal | None = None
    """The journal of an interrupted cleanup."""
    hang: str = ""
    """The HNS cmdlet that exceeded its time limit, or an empty string if none did."""
    problem: str = ""
    """Why HNS cannot be queried, for example because it is not installed, or an empty string if it can."""

    @property
    def last(self) -> Snapshot:
        """The latest observation."""
        return self.observations[-1]

    def from_cni(self, network: HnsNetwork) -> bool:
        """Return whether a CNI created the network."""
        return self.cni.made(network)


def facts_calls(options: FactsOptions) -> tuple[Call, ...]:
    """Return the calls that observe HNS and the containers, services and adapters that use HNS.

    The calls change nothing, and the batch continues after errors.

    Args:
        options: time limits, CNI folders, programs and files for the observation.
    """
    snapshot = (*listing_calls(options.hns_timeout), *hns_runtime.calls(options.programs))
    again: tuple[Call, ...] = ()
    if options.grace > 0:
        pause = query(
            "grace",
            "Start-Sleep",
            {"Milliseconds": int(options.grace * 1000)},
            select=(),
            # If HNS does not respond, a second observation is useless.
            needs=(FIRST.id("networks"),),
        )
        second = map(SECOND.call, snapshot)
        again = (pause, *(dataclasses.replace(call, needs=(*call.needs, pause.id)) for call in second))
    files = (JOURNAL, *options.extra_files)
    return (
        *hns_services.calls(),
        *hns_cni.calls(options.conf_dirs),
        query("files", "@read-file", {"paths": list(files), "content": True}),
        *hns_uplink.calls(),
        query("port-pools", "@port-pools"),
        *map(FIRST.call, snapshot),
        *again,
    )


def read_facts(observation: Observation) -> HnsFacts:
    """Return the facts about HNS, as read from the results of the calls of `facts_calls`."""
    seen = observation.calls
    services = hns_services.read(seen)
    installed = hns_services.installed_runtimes(services)
    files = {str(item["path"]): item for item in (seen["files"].output if "files" in seen else ())}
    journal = files.pop(JOURNAL, None)
    scopes = [scope for scope in (FIRST, SECOND) if scope.id("networks") in seen] or [FIRST]
    pools = seen["port-pools"].first if "port-pools" in seen else None
    return HnsFacts(
        observations=tuple(_snapshot(scope.results(seen), installed) for scope in scopes),
        cni=hns_cni.read(seen),
        services=services,
        adapters=hns_uplink.read(seen),
        port_pools=tuple(str(item) for item in (pools or {}).get("ranges") or ()),
        extra_files=tuple(path for path, file in files.items() if file.get("exists")),
        journal=Journal.read(journal),
        hang=hang(seen),
        problem=_problem(seen),
    )


def _snapshot(results: t.Mapping[str, CallResult], installed: t.Collection[str]) -> Snapshot:
    listed = {kind: results[kind].output for kind in LISTINGS if kind in results}
    return Snapshot(objects=read_objects(listed), runtime=hns_runtime.read(results, installed))


def hang(seen: t.Mapping[str, CallResult]) -> str:
    """Return the first HNS cmdlet that exceeded its time limit, or an empty string if none did."""
    late = (name for name, result in seen.items() if result.error is not None and result.error.id == LATE)
    return next((cmdlet(name) for name in late if not hns_services.is_of_service(name)), "")


def _problem(seen: t.Mapping[str, CallResult]) -> str:
    for scope in (FIRST, SECOND):
        for kind in LISTINGS:
            result = seen.get(scope.id(kind))
            if result is not None and result.error is not None and result.error.id != LATE:
                return NO_HNS if "not recognized" in str(result.error) else str(result.error)
    return ""


def to_result(facts: HnsFacts) -> dict[str, t.Any]:
    """Return the facts as plain data for hns_info."""
    latest, owners = facts.last, facts.last.owners
    names = {network.id: network.name for network in latest.objects.networks}
    return {
        "answers": not facts.hang and not facts.problem,
        "problem": f"HNS did not respond to {facts.hang}" if facts.hang else facts.problem,
        "runtime": {
            "asked": not latest.runtime.problem,
            "names": list(latest.runtime.names),
            "problem": latest.runtime.problem,
        },
        "networks": [_network(item, facts) for item in latest.objects.networks],
        "endpoints": [_endpoint(item, owners.endpoints[item.id], names) for item in latest.objects.endpoints],
        "policy_lists": [_policy(item, owners.policies[item.id]) for item in latest.objects.policies],
        "namespaces": [
            _namespace(item, owners.namespaces[item.id], latest.objects) for item in latest.objects.namespaces
        ],
        "port_pools": list(facts.port_pools),
        "state_files": [*facts.cni.state_files, *facts.extra_files],
        "services": [dataclasses.asdict(service) for service in facts.services],
        "static_uplinks": [uplink.to_json() for uplink in facts.adapters.uplinks],
        "interrupted_cleanup": facts.journal is not None,
    }


def _network(item: HnsNetwork, facts: HnsFacts) -> dict[str, t.Any]:
    return {
        "id": item.id,
        "name": item.name,
        "type": item.type,
        "subnets": list(item.subnets),
        "adapter": item.adapter,
        "external": item.external,
        "from_cni": facts.from_cni(item),
    }


def _endpoint(item: HnsEndpoint, evidence: OwnerEvidence, names: t.Mapping[str, str]) -> dict[str, t.Any]:
    return {
        "id": item.id,
        "name": item.name,
        "network": item.network_name or names.get(item.network, ""),
        "address": item.address,
        "state": evidence.state,
        "owner": evidence.owner,
        "note": evidence.note,
        "containers": list(evidence.ids),
    }


def _policy(item: PolicyList, evidence: OwnerEvidence) -> dict[str, t.Any]:
    return {"id": item.id, "name": item.name, "state": evidence.state, "endpoints": sorted(item.endpoints)}


def _namespace(item: Namespace, evidence: OwnerEvidence, objects: HnsObjects) -> dict[str, t.Any]:
    endpoints = sorted(objects.in_namespace(item))
    return {"id": item.id, "state": evidence.state, "owner": evidence.owner, "endpoints": endpoints}
