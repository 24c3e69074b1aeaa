# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Turn the plan of a cleanup into the calls of its batch (no I/O).

For each kind of object, the node filters one listing and pipes it into one removal cmdlet. These cmdlets usually try
every object and continue after a failure (microsoft/SDN Kubernetes/windows/hns.psm1, Remove-Hns*), so only a second
listing shows what is left. Docs: docs/hns.md.
"""

from __future__ import annotations

import dataclasses
import typing as t

from ...windows.node_paths import CONTAINERD_PIPE
from ...wire.calls import action, query
from ...wire.messages import Call, Input, Json
from ...wire.scopes import Scope
from ..facts import journal as hns_journal
from ..facts import services
from ..facts import uplink as hns_uplink
from ..facts.cni import AZURE_PROGRAMS
from ..facts.journal import Journal
from ..facts.objects import EXTERNAL, LISTINGS, REMOVE
from ..facts.runtime import Owner, Programs
from .plan import CleanupPlan

_REMOVE = {
    "policies": "Remove-HnsPolicyList",
    "endpoints": "Remove-HnsEndpoint",
    "namespaces": "Remove-HnsNamespace",
    "networks": "Remove-HnsNetwork",
}
CONTAINERS, KILLS, ROUTES = Scope("containers."), Scope("kill."), Scope("route.")
"""Id prefixes of the calls that stop containers, kill processes, and remove routes."""
UPLINK, UPLINK_AGAIN = Scope("uplink."), Scope("uplink-again.")
"""Id prefixes of the calls that restore static addresses before and after the services start. The number of the network
adapter follows in the id."""
_PER_CALL = 200
"""Number of container ids that safely fit on a command line (32,767 characters)."""
_STOP_SECONDS = 600.0
"""Time limit of one call that stops containers, in seconds."""

_SETTLE = 5000
"""Milliseconds to wait after a network appears, because an adapter may lose its settings after a short delay."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class BatchOptions:
    """Options of a cleanup's batch of calls, mainly its time limits."""

    hns_timeout: float = 60.0
    """Time limit of one HNS call in seconds. For a removal, 1/60 of this limit is added for each object."""
    port_pool_timeout: int = 60
    """Maximum number of seconds to wait for HNS to release reserved ports (the same as in AgentBaker)."""
    network_timeout: int = 60
    """Maximum number of seconds to wait for a CNI to recreate its network, which may remove the adapter's static
    addresses again."""
    programs: Programs = dataclasses.field(default_factory=Programs)
    singly: bool = False
    """Whether to remove one object at a time."""


def batch_calls(plan: CleanupPlan, key: str, options: BatchOptions, within: t.Sequence[Call] = ()) -> tuple[Call, ...]:
    """Return the calls that carry out a cleanup plan. Calls with `always` run even if earlier calls failed.

    Args:
        plan: the cleanup plan.
        key: the batch's idempotency key, which the journal records.
        options: the time limits and the other settings of the batch.
        within: additional calls. They run after services have been stopped and containers removed, but before HNS
            objects are removed.
    """
    saved = bool(plan.start or plan.uplinks or plan.journal)
    journal = Journal(key=key, services=plan.start, uplinks=plan.uplinks)
    calls: list[Call] = [journal.write_call()] if saved else []
    calls += services.stop_calls(plan.stop)
    calls += _container_calls(plan.containers, options.programs)
    calls += within
    if plan.stop and any(item.name.lower().startswith("azure") for item in plan.networks):
        calls += [_kill(name) for name in AZURE_PROGRAMS]
    calls += _removals(plan, options)
    checks: list[str] = []
    for number, uplink in enumerate(plan.uplinks):
        restore = hns_uplink.restore_calls(uplink, UPLINK.inner(str(number)))
        calls += restore
        checks.append(restore[-1].id)
    if plan.port_pools and plan.networks:
        calls.append(_port_pools(plan, options))
    calls += _leftover_calls(plan)
    calls += _final_listings(plan, options)
    calls += services.start_calls(plan.start)
    if plan.networks and plan.uplinks and plan.start:
        calls += _once_more(plan, options)
    if saved:
        calls.append(hns_journal.remove_call([*map(services.START.id, plan.start), *checks]))
    if plan.disruptive or plan.uplinks:
        # A long first call makes the batch run detached: removing a network may break the connection.
        calls[0] = dataclasses.replace(calls[0], long=True)
    return tuple(calls)


def _container_calls(containers: t.Sequence[Owner], programs: Programs) -> list[Call]:
    """Return the calls that stop and remove containers. When a pod is removed, the CNI removes the pod's endpoint."""
    calls: list[Call] = []

    def call(command: str, *arguments: str) -> None:
        calls.append(
            action(
                CONTAINERS.id(str(len(calls))), command, arguments=arguments, timeout=_STOP_SECONDS, on_error="continue"
            )
        )

    pods = [one.id for one in containers if one.kind == "pod"]
    docker = [one.id for one in containers if one.runtime == "docker"]
    for start in range(0, len(pods), _PER_CALL):
        cri = ("--runtime-endpoint", CONTAINERD_PIPE, "--timeout", f"{_STOP_SECONDS:.0f}s")
        call(programs.crictl, *cri, "rmp", "--force", *pods[start : start + _PER_CALL])
    for start in range(0, len(docker), _PER_CALL):
        call(programs.docker, "rm", "--force", *docker[start : start + _PER_CALL])
    for one in containers:
        if one.kind == "container" and one.runtime == "containerd":
            ctr = ("--namespace", one.namespace)
            call(programs.ctr, *ctr, "tasks", "kill", "--signal", "SIGKILL", one.id)
            call(programs.ctr, *ctr, "containers", "delete", one.id)
    return calls


def _kill(program: str) -> Call:
    return action(
        KILLS.id(program),
        "taskkill.exe",
        arguments=("/IM", program, "/F"),
        # Exit code 128: no such process runs.
        success_codes=(0, 128),
        on_error="continue",
    )


def _removals(plan: CleanupPlan, options: BatchOptions) -> list[Call]:
    """Return the calls that remove HNS objects kind by kind, each object before the objects to which it refers."""
    calls: list[Call] = []
    for kind in _REMOVE:
        objects: t.Sequence[t.Any] = getattr(plan, kind)
        if not objects:
            continue
        where: dict[str, Json] = {"ID": [item.id for item in objects]}
        if kind == "endpoints" and not plan.stop:
            # Keep an endpoint to which a container has been attached since the observation.
            where["SharedContainers"] = sorted({item.shared for item in objects})
        calls += _remove(kind, kind, where, len(objects), options)
        if options.singly:
            one = calls.pop()
            calls += [
                dataclasses.replace(
                    one, id=f"{one.id}.{item.id}", input=Input(calls=(kind,), where={**where, "ID": item.id})
                )
                for item in objects
            ]
        elif kind == "networks":
            # The first attempt may fail because of references that HNS drops a little later.
            calls += _remove(kind, f"{kind}-again", where, len(objects), options)
    return calls


def removals_of(kind: str) -> Scope:
    """Return the id prefix of the calls that remove HNS objects of one kind, all in one call or one by one."""
    return Scope(REMOVE.id(kind))


def _remove(kind: str, call_id: str, where: t.Mapping[str, Json], count: int, options: BatchOptions) -> list[Call]:
    command, dummy = LISTINGS[kind]
    return [
        query(call_id, command, select=("ID",), timeout=options.hns_timeout, on_error="stop"),
        action(
            REMOVE.id(call_id),
            _REMOVE[kind],
            {"ErrorAction": "Continue"},
            input=Input(calls=(call_id,), where=where),
            timeout=options.hns_timeout * (1 + count / 60),
            # A failure for one object is not an error (Continue). An error means that the cmdlet hung or gave up early.
            on_error="continue" if options.singly else "stop",
        ),
    ]


def _leftover_calls(plan: CleanupPlan) -> list[Call]:
    """Return the calls that remove state files and routes."""
    calls: list[Call] = []
    if plan.files:
        calls.append(
            action(
                "files",
                "Remove-Item",
                {
                    "LiteralPath": list(plan.files),
                    "Recurse": True,
                    "Force": True,
                    "Confirm": False,
                    "ErrorAction": "SilentlyContinue",
                },
                on_error="continue",
            )
        )
    for number, route in enumerate(plan.routes):
        if number == 0:
            calls.append(query("routes", "Get-NetRoute", select=()))
        calls.append(
            action(
                ROUTES.id(str(number)),
                "Remove-NetRoute",
                {"Confirm": False},
                input=Input(
                    calls=("routes",), where={"DestinationPrefix": route.destination, "NextHop": route.next_hop}
                ),
                on_error="continue",
            )
        )
    return calls


def _port_pools(plan: CleanupPlan, options: BatchOptions) -> Call:
    """Return the call that waits until HNS releases the ports of removed networks; kept networks retain their ports."""
    free: list[Json] = list(range(plan.port_pools)) if plan.networks_left else [0]
    return query(
        "port-pools", "@port-pools", until={"reserved": free}, retries=max(0, options.port_pool_timeout // 2), delay=2.0
    )


def _final_listings(plan: CleanupPlan, options: BatchOptions) -> list[Call]:
    """Return the calls that list the remaining HNS objects and files. They run before the batch starts services."""
    calls: list[Call] = []
    for kind in _REMOVE:
        if getattr(plan, kind):
            calls.append(
                query(
                    f"{kind}-after",
                    LISTINGS[kind][0],
                    select=("ID",),
                    timeout=options.hns_timeout,
                    # If HNS hung during an earlier call, do not call it again.
                    needs=(kind, *(call.id for call in calls[-1:])),
                    always=True,
                )
            )
    if plan.files:
        calls.append(query("files-after", "@read-file", {"paths": list(plan.files)}, always=True))
    return calls


def _once_more(plan: CleanupPlan, options: BatchOptions) -> list[Call]:
    """Return the calls that restore static addresses again after the started services have created their networks."""
    names: list[Json] = [item.name for item in plan.networks if item.external]
    wait = query(
        "network-again",
        "Get-HnsNetwork",
        select=("Name",),
        # The first external network takes over the adapter. If an external network was kept, it already has the adapter
        # and its type would match immediately, so wait for the names of the removed networks.
        until={"Name": names} if plan.external_left and names else {"Type": list(EXTERNAL)},
        retries=max(0, options.network_timeout // 2),
        delay=2.0,
        timeout=options.hns_timeout,
        always=True,
    )
    again = [
        call
        for number, uplink in enumerate(plan.uplinks)
        for call in hns_uplink.restore_calls(uplink, UPLINK_AGAIN.inner(str(number)))
    ]
    settle = query(
        "settle",
        "Start-Sleep",
        {"Milliseconds": _SETTLE},
        select=(),
        # If no network appeared, there is nothing to wait for.
        needs=("network-again",),
        always=True,
    )
    return [wait, settle, *again]
