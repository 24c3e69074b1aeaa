# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""From the plan of a cleanup to the calls of its batch. Pure.

Removal is pipelined: one listing of a kind, filtered on the node, into one cmdlet; the
cmdlets try every object and go on where one fails (microsoft/SDN Kubernetes/windows/hns.psm1, Remove-Hns*), so what is
left is found by listing once more. Docs: docs/hns.md.
"""

from __future__ import annotations

import dataclasses
import typing as t

from ...wire.messages import Call, Input, Json
from ..facts import journal as hns_journal
from ..facts import services
from ..facts import uplink as hns_uplink
from ..facts.cni import AZURE_PROGRAMS
from ..facts.journal import Journal
from ..facts.objects import EXTERNAL, LISTINGS
from ..facts.runtime import CRI_ENDPOINT, Owner, Programs
from .plan import CleanupPlan

_REMOVE = {
    "policies": "Remove-HnsPolicyList",
    "endpoints": "Remove-HnsEndpoint",
    "namespaces": "Remove-HnsNamespace",
    "networks": "Remove-HnsNetwork",
}
_PER_CALL = 200
"""Containers whose ids fit on a command line (32,767 characters) with room to spare."""
_STOP_SECONDS = 600.0
"""For the containers of one call to stop."""

_SETTLE = 5000
"""Milliseconds from a new network to the comparison: the card's settings may go a moment after its switch came."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class BatchOptions:
    """How long the node waits for what."""

    hns_timeout: float = 60.0
    """Seconds for one call of HNS; a removal may take as long again for each 60 objects."""
    port_pool_timeout: int = 60
    """Seconds for reserved ports to be released (AgentBaker waits as long)."""
    network_timeout: int = 60
    """Seconds for a CNI to make its network again, where that may take a static address away once more."""
    programs: Programs = dataclasses.field(default_factory=Programs)
    singly: bool = False
    """Remove one object at a time."""


def batch_calls(plan: CleanupPlan, key: str, options: BatchOptions) -> tuple[Call, ...]:
    """The batch of a plan. Its part that must not be left out runs whatever happens before it (`always`).

    Args:
        plan: what to do.
        key: the batch's idempotency key, which its journal names.
        options: see there.
    """
    saved = bool(plan.start or plan.uplinks or plan.journal)
    journal = Journal(key=key, services=plan.start, uplinks=plan.uplinks)
    calls: list[Call] = [journal.write_call()] if saved else []
    calls += services.stop_calls(plan.stop)
    calls += _container_calls(plan.containers, options.programs)
    if plan.stop and any(item.name.lower().startswith("azure") for item in plan.networks):
        calls += [_kill(name) for name in AZURE_PROGRAMS]
    calls += _removals(plan, options)
    checks: list[str] = []
    for number, uplink in enumerate(plan.uplinks):
        restore = hns_uplink.restore_calls(uplink, f"uplink.{number}.")
        calls += restore
        checks.append(restore[-1].id)
    if plan.port_pools and plan.networks:
        calls.append(_port_pools(plan, options))
    calls += _remains(plan)
    calls += _looks(plan, options)
    calls += services.start_calls(plan.start)
    if plan.networks and plan.uplinks and plan.start:
        calls += _once_more(plan, options)
    if saved:
        calls.append(hns_journal.remove_call([*(f"start.{name}" for name in plan.start), *checks]))
    if plan.disruptive or plan.uplinks:
        # What it does outlives the link, whatever it is that comes first.
        calls[0] = dataclasses.replace(calls[0], long=True)
    return tuple(calls)


def _container_calls(containers: t.Sequence[Owner], programs: Programs) -> list[Call]:
    """Stops and removes containers; a pod's network is taken down by its CNI on the way."""
    calls: list[Call] = []

    def call(command: str, *arguments: str) -> None:
        calls.append(
            Call(
                id=f"containers.{len(calls)}",
                command=command,
                arguments=arguments,
                timeout=_STOP_SECONDS,
                on_error="continue",
            )
        )

    pods = [one.id for one in containers if one.kind == "pod"]
    docker = [one.id for one in containers if one.runtime == "docker"]
    for start in range(0, len(pods), _PER_CALL):
        cri = ("--runtime-endpoint", CRI_ENDPOINT, "--timeout", f"{_STOP_SECONDS:.0f}s")
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
    return Call(
        id=f"kill.{program}",
        command="taskkill.exe",
        arguments=("/IM", program, "/F"),
        # 128: it does not run.
        success_codes=(0, 128),
        on_error="continue",
    )


def _removals(plan: CleanupPlan, options: BatchOptions) -> list[Call]:
    """Removes objects, kind by kind: what refers to others goes first."""
    calls: list[Call] = []
    for kind in _REMOVE:
        objects: t.Sequence[t.Any] = getattr(plan, kind)
        if not objects:
            continue
        where: dict[str, Json] = {"ID": [item.id for item in objects]}
        if kind == "endpoints" and not plan.stop:
            # Whoever attached to one of them since it was looked at keeps it.
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
            # The first attempt may find references that HNS drops a moment later.
            calls += _remove(kind, f"{kind}-again", where, len(objects), options)
    return calls


def _remove(kind: str, call_id: str, where: t.Mapping[str, Json], count: int, options: BatchOptions) -> list[Call]:
    command, dummy = LISTINGS[kind]
    return [
        Call(id=call_id, command=command, select=("ID",), timeout=options.hns_timeout),
        Call(
            id=f"remove-{call_id}",
            command=_REMOVE[kind],
            parameters={"ErrorAction": "Continue"},
            input=Input(calls=(call_id,), where=where),
            select=(),
            timeout=options.hns_timeout * (1 + count / 60),
            # What fails for one object is no error (Continue): it hangs, or gives up before it has tried them all.
            on_error="continue" if options.singly else "stop",
        ),
    ]


def _remains(plan: CleanupPlan) -> list[Call]:
    """Removes state files and routes."""
    calls: list[Call] = []
    if plan.files:
        calls.append(
            Call(
                id="files",
                command="Remove-Item",
                parameters={
                    "LiteralPath": list(plan.files),
                    "Recurse": True,
                    "Force": True,
                    "Confirm": False,
                    "ErrorAction": "SilentlyContinue",
                },
                select=(),
                on_error="continue",
            )
        )
    for number, route in enumerate(plan.routes):
        if number == 0:
            calls.append(Call(id="routes", command="Get-NetRoute", select=(), on_error="continue"))
        calls.append(
            Call(
                id=f"route.{number}",
                command="Remove-NetRoute",
                parameters={"Confirm": False},
                input=Input(
                    calls=("routes",), where={"DestinationPrefix": route.destination, "NextHop": route.next_hop}
                ),
                select=(),
                on_error="continue",
            )
        )
    return calls


def _port_pools(plan: CleanupPlan, options: BatchOptions) -> Call:
    """Waits until the networks' ports are free; other networks keep theirs, so then fewer than before will do."""
    free: list[Json] = list(range(plan.port_pools)) if plan.networks_left else [0]
    return Call(
        id="port-pools",
        command="@port-pools",
        until={"reserved": free},
        retries=max(0, options.port_pool_timeout // 2),
        delay=2.0,
        on_error="continue",
    )


def _looks(plan: CleanupPlan, options: BatchOptions) -> list[Call]:
    """Lists once more what something was removed from, before services start and make new objects."""
    calls: list[Call] = []
    for kind in _REMOVE:
        if getattr(plan, kind):
            calls.append(
                Call(
                    id=f"{kind}-after",
                    command=LISTINGS[kind][0],
                    select=("ID",),
                    timeout=options.hns_timeout,
                    # Where HNS hung once, it is not asked again.
                    needs=(kind, *(call.id for call in calls[-1:])),
                    on_error="continue",
                    always=True,
                )
            )
    if plan.files:
        calls.append(
            Call(
                id="files-after",
                command="@read-file",
                parameters={"paths": list(plan.files)},
                on_error="continue",
                always=True,
            )
        )
    return calls


def _once_more(plan: CleanupPlan, options: BatchOptions) -> list[Call]:
    """What was started makes its network, perhaps another one, which may take the static addresses away once more."""
    names: list[Json] = [item.name for item in plan.networks if item.external]
    wait = Call(
        id="network-again",
        command="Get-HnsNetwork",
        select=("Name",),
        # Whatever network comes first takes the card. One that stays holds it already, and would be found at once.
        until={"Name": names} if plan.external_left and names else {"Type": list(EXTERNAL)},
        retries=max(0, options.network_timeout // 2),
        delay=2.0,
        timeout=options.hns_timeout,
        on_error="continue",
        always=True,
    )
    again = [
        call
        for number, uplink in enumerate(plan.uplinks)
        for call in hns_uplink.restore_calls(uplink, f"uplink-again.{number}.")
    ]
    settle = Call(
        id="settle",
        command="Start-Sleep",
        parameters={"Milliseconds": _SETTLE},
        select=(),
        # Only where a network came is there anything to wait for.
        needs=("network-again",),
        on_error="continue",
        always=True,
    )
    return [wait, settle, *again]
