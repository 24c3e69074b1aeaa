# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Plans the reset of a machine, and builds the remote calls that carry it out (no I/O)."""

from __future__ import annotations

import dataclasses
import json
import typing as t

from ..engine.planned import Planned
from ..engine.planning import Questions
from ..engine.planning import plan as plan_changes
from ..engine.resource import Resource
from ..hns.cleanup import batch as hns_batch
from ..hns.cleanup.batch import BatchOptions
from ..hns.cleanup.plan import CleanupPlan, CleanupRequest
from ..hns.cleanup.planning import make_plan
from ..hns.facts.node_facts import NO_HNS, FactsOptions, HnsFacts, facts_calls, read_facts
from ..node_config import kubeadm as kubeadm_config
from ..values.errors import ResourceError
from ..values.shown import AsItIs
from ..values.versions import Version
from ..windows import node_paths
from ..windows.path_calls import discard
from ..windows.registry_keys import KUBELET_SERVICE
from ..windows.sddl import ADMINISTRATORS_ONLY_FILE
from ..windows.windows_info import WindowsInfo
from ..wire.calls import action, query
from ..wire.messages import Call, Json, Observation
from ..wire.scopes import Scope
from . import join_state

NOTE = f"{node_paths.PROGRAM_DATA}\\reset.json"
"""File that records the key of the running reset batch, so that a later run can wait for this batch."""
CONFIGURATION = f"{node_paths.PROGRAM_DATA}\\reset.yaml"
"""File with the configuration of `kubeadm reset`. It exists only while the reset batch runs."""
KUBEADM = "kubeadm-reset"
"""Id of the call that runs `kubeadm reset`."""
_OWN = Scope("reset.")
_AFTER = Scope("after.")
"""Scope of the calls that observe the resources again at the end of the batch."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class KubeadmReset:
    """The settings with which `kubeadm reset` runs."""

    program: str
    """Windows path of kubeadm.exe."""
    cri_socket: str
    timeout: float


@dataclasses.dataclass(frozen=True, kw_only=True)
class ResetPlan:
    """The state of a machine before its reset, and what the reset changes."""

    joined: bool
    """Whether the machine is a node of a cluster."""
    server: str
    """The API server that the kubelet uses, as `join_state.server_of` returns it; empty if unknown."""
    prepared: bool
    """Whether the Windows service of the kubelet exists."""
    computer_name: str
    addresses: tuple[str, ...]
    """IP addresses of the machine, except loopback and link-local addresses."""
    kubeadm_version: str
    """Version of kubeadm.exe; empty if it is missing or cannot be run."""
    changes: tuple[Planned, ...]
    hns: CleanupPlan
    """The plan of the HNS cleanup; empty if HNS hangs or is not installed."""
    hns_facts: HnsFacts
    interrupted: bool
    """Whether temporary files of an interrupted reset exist (`NOTE` or `CONFIGURATION`)."""
    windows: WindowsInfo

    @property
    def hns_hangs(self) -> bool:
        """Whether HNS does not respond, in which case its objects are unknown."""
        return bool(self.hns_facts.hang)

    @property
    def empty(self) -> bool:
        """Whether the reset has nothing to do."""
        return not (self.changes or self.interrupted or self.hns_hangs) and self.hns.empty


def observation_calls(questions: Questions, kubeadm: KubeadmReset, facts: FactsOptions) -> tuple[Call, ...]:
    """Return the calls that observe everything that a reset may change. The calls themselves change nothing.

    Args:
        questions: the calls that observe the resources.
        kubeadm: the settings with which `kubeadm reset` runs.
        facts: options for the calls that observe HNS.
    """
    paths: list[Json] = [node_paths.KUBELET_CONF, NOTE, CONFIGURATION]
    own = (
        query("files", "@read-file", {"paths": paths, "content": True}, on_error="stop"),
        query("service", "@read-registry", {"values": [{"path": KUBELET_SERVICE, "name": "ImagePath"}]}),
        query("kubeadm", kubeadm.program, arguments=("version", "--output", "short"), timeout=60),
    )
    return (
        *map(_OWN.call, own),
        *(call for group in questions.groups for call in group),
        *facts_calls(facts),
    )


def running_batch(seen: Observation) -> str:
    """Return the key of the batch that an earlier reset left running, or an empty string if there is none."""
    note = seen[_OWN.id("files")].output[1]
    try:
        return str(json.loads(note.get("content") or "{}").get("key") or "")
    except (ValueError, AttributeError):
        return ""


def make(
    resources: t.Sequence[Resource],
    questions: Questions,
    seen: Observation,
    windows: WindowsInfo,
    request: CleanupRequest,
) -> ResetPlan:
    """Return the plan of a reset.

    Args:
        resources: the desired state of the machine after the reset.
        questions: the calls that observe the resources.
        seen: the results of `observation_calls`.
        windows: the machine's version of Windows.
        request: which HNS objects to remove, and which to keep.

    Raises:
        ResourceError: the machine cannot reach the desired state of a resource, or HNS cannot be queried.
        BadAnswer: the machine's answers cannot be used.
    """
    own = _OWN.results(seen.calls)
    kubelet_conf, *own_files = own["files"].output
    prepared = bool((own["service"].first or {}).get("exists"))
    changes = [
        planned
        for planned in plan_changes(resources, questions, seen.calls, windows)
        # A reset adds nothing to a machine that was not prepared, or is no longer prepared.
        if prepared or planned.action == "remove"
    ]
    facts = read_facts(seen)
    hns = CleanupPlan() if facts.problem == NO_HNS or facts.hang else _hns_plan(request, facts)
    return ResetPlan(
        joined=bool(kubelet_conf["exists"]),
        server=join_state.server_of(kubelet_conf.get("content") or ""),
        prepared=prepared,
        computer_name=windows.active_computer_name or windows.computer_name,
        addresses=_addresses(seen),
        kubeadm_version=_version(own["kubeadm"].stdout if own["kubeadm"].ok else ""),
        changes=tuple(changes),
        hns=hns,
        hns_facts=facts,
        interrupted=any(file["exists"] for file in own_files),
        windows=windows,
    )


def _hns_plan(request: CleanupRequest, facts: HnsFacts) -> CleanupPlan:
    if facts.problem:
        raise ResourceError("HNS", AsItIs(facts.problem), "expected a service that responds")
    return make_plan(request, facts)


def _addresses(seen: Observation) -> tuple[str, ...]:
    result = seen.calls.get("addresses")
    reported = [str(item["IPAddress"]) for item in result.output] if result is not None and result.ok else []
    local = ("127.", "169.254.", "fe80:", "::1")
    return tuple(address for address in reported if not address.casefold().startswith(local))


def _version(text: str) -> str:
    try:
        return str(Version.parse(text.strip().removeprefix("v")))
    except ValueError:
        return ""


def batch_calls(
    plan: ResetPlan, key: str, kubeadm: KubeadmReset, options: BatchOptions, questions: Questions
) -> tuple[Call, ...]:
    """Return the calls of the batch that resets the machine.

    The batch first stops services and removes containers. Then it runs kubeadm, and removes all that kubeadm leaves
    behind. A failure of kubeadm or of a resource's call does not stop the batch, because kubeadm may already have
    removed what a later call removes. The last calls observe the resources again, which shows what is left.

    Args:
        plan: the plan of the reset.
        key: the batch's idempotency key.
        kubeadm: the settings with which `kubeadm reset` runs.
        options: options of the cleanup of HNS.
        questions: the calls that observe the resources.
    """
    note = action(
        "note",
        "@write-file",
        {"path": NOTE, "content": json.dumps({"key": key}), "sddl": ADMINISTRATORS_ONLY_FILE},
        select=None,
        long=True,
    )
    within = [*(_kubeadm(plan, kubeadm) if _needs_kubeadm(plan) else ()), *_changes(plan)]
    end = [discard(path, f"end-{number}") for number, path in enumerate((CONFIGURATION, NOTE))]
    again = [_AFTER.call(call) for group in questions.groups for call in group]
    return (
        note,
        *hns_batch.batch_calls(plan.hns, key, options, within),
        *(dataclasses.replace(call, always=True) for call in (*end, *again)),
    )


def _needs_kubeadm(plan: ResetPlan) -> bool:
    """Return whether to run `kubeadm reset`.

    It needs a working kubeadm.exe, and runs only if the machine has joined a cluster, or if the plan changes the
    kubelet's folder. On other machines, it would remove subfolders that the preparation of the machine created in this
    folder. A plan that does not change the folder would not create them again.
    """
    folder = any(planned.resource.name == node_paths.KUBELET for planned in plan.changes)
    return bool(plan.kubeadm_version) and (folder or plan.joined)


def _kubeadm(plan: ResetPlan, kubeadm: KubeadmReset) -> t.Iterator[Call]:
    """Yield the calls that run `kubeadm reset`. kubeadm stops the kubelet, and removes pods and the kubelet's files."""
    arguments = kubeadm_config.reset_flags(kubeadm.cri_socket)
    try:
        configuration = kubeadm_config.reset_configuration(plan.kubeadm_version, kubeadm.cri_socket)
    except ValueError:
        # A version that this collection does not know. All known versions of kubeadm accept the flags.
        configuration = ""
    if configuration:
        parameters: dict[str, Json] = {
            "path": CONFIGURATION,
            "content": configuration,
            "sddl": ADMINISTRATORS_ONLY_FILE,
        }
        yield action("configuration", "@write-file", parameters, select=None, on_error="continue")
        arguments = ("--config", CONFIGURATION)
    yield action(
        KUBEADM, kubeadm.program, arguments=("reset", *arguments), timeout=kubeadm.timeout, on_error="continue"
    )


def _changes(plan: ResetPlan) -> t.Iterator[Call]:
    for planned in plan.changes:
        for call in planned.change.calls:
            yield dataclasses.replace(planned.scope.call(call), on_error="continue")


def left(
    resources: t.Sequence[Resource], questions: Questions, seen: Observation, plan: ResetPlan
) -> list[Planned] | None:
    """Return the changes that a batch should have made but did not make.

    Args:
        resources: the desired state of the machine after the reset.
        questions: the calls that observe the resources.
        seen: the results of the batch.
        plan: the plan that the batch carried out.

    Returns:
        The changes, or None if the batch ended before it observed the resources again.

    Raises:
        ResourceError: the machine cannot reach the desired state of a resource.
        BadAnswer: the machine's answers cannot be used.
    """
    results = _AFTER.results(seen.calls)
    if not results:
        return None
    changes = plan_changes(resources, questions, results, plan.windows)
    return [planned for planned in changes if plan.prepared or planned.action == "remove"]
