# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Collects the outcome of a machine's reset, and converts it to an Ansible result."""

from __future__ import annotations

import dataclasses
import typing as t

from ..engine.planned import Planned
from ..hns.cleanup.outcome import CleanupOutcome
from ..wire.messages import CallResult, Observation
from .reset_plan import KUBEADM, ResetPlan


@dataclasses.dataclass(kw_only=True)
class ResetOutcome:
    """The outcome of a reset, collected over all of its batches."""

    plan: ResetPlan | None = None
    """The first plan, which shows the state of the machine before the reset."""
    changes: list[Planned] = dataclasses.field(default_factory=list)
    """The changes that were made."""
    left: list[Planned] = dataclasses.field(default_factory=list)
    """The changes that the last batch should have made but did not make."""
    errors: list[str] = dataclasses.field(default_factory=list)
    """Why the changes in `left` were not made."""
    kubeadm: str = ""
    """Why `kubeadm reset` failed; empty if it did not fail or did not run."""
    hns: CleanupOutcome = dataclasses.field(default_factory=lambda: CleanupOutcome(scope="all"))

    def planned(self, plan: ResetPlan) -> None:
        """Record the plan of the next batch."""
        self.plan = self.plan or plan
        self.hns.plan_made(plan.hns, plan.hns_facts)
        self.left = list(plan.changes)

    def batch_done(self, plan: ResetPlan, left: t.Sequence[Planned] | None, seen: Observation) -> None:
        """Record the result of a batch.

        Args:
            plan: the plan that the batch carried out.
            left: the changes that the batch should have made but did not make, or None if they are unknown.
            seen: the results of the batch.
        """
        result = seen.calls.get(KUBEADM)
        if result is not None and result.error is not None:
            self.kubeadm = (result.stderr.strip() or str(result.error))[-1000:]
        remaining = {planned.position for planned in left} if left is not None else {*range(len(plan.changes))}
        known = {planned.position for planned in self.changes}
        self.changes += [one for one in plan.changes if one.position not in remaining | known]
        self.left = list(left or ())
        self.errors = [text for planned in self.left for text in _errors(planned, seen.calls)]

    def to_result(self, *, name: str, diff: bool, shown: t.Literal["plan", "done", "nothing"]) -> dict[str, t.Any]:
        """Return the outcome as the result of an Ansible task. The caller adds the number of remote commands.

        Args:
            name: name of the host.
            diff: whether to include a diff.
            shown: which changes the result contains: the planned changes, the changes that were made, or none.
        """
        plan = self.plan
        if plan is None:
            return {"changed": False}
        own = [*plan.changes] if shown == "plan" else self.changes
        hns = self.hns.to_result(name=name, diff=diff, check_mode=shown == "plan", remote_commands=0)
        changes = [*({**planned.to_result(), "seconds": 0.0} for planned in own), *hns["changes"]]
        result = {
            "changed": bool(changes) or bool(hns["changed"]),
            "changes": changes,
            "needed": not plan.empty,
            "joined": plan.joined,
            "prepared": plan.prepared,
            "server": plan.server,
            "computer_name": plan.computer_name,
            "addresses": list(plan.addresses),
            "counts": hns["counts"],
            "kept": hns["kept"],
            "rebooted": hns["rebooted"],
            "warnings": [*hns.get("warnings", ()), *self._warnings(name)],
        }
        if diff and shown != "nothing":
            result["diff"] = [*(planned.diff() for planned in own), *hns.get("diff", ())]
        return result

    def _warnings(self, name: str) -> t.Iterator[str]:
        if self.plan is not None and self.plan.hns_hangs:
            yield f"{name}: HNS did not respond to {self.plan.hns_facts.hang}, so its objects are not listed"
        for planned in self.plan.changes if self.plan else ():
            yield from (f"{name}: {planned.resource.title}: {text}" for text in planned.change.warnings)
        if self.plan is not None and self.plan.joined and not self.plan.kubeadm_version:
            yield f"{name}: kubeadm.exe is missing or cannot be run, so Ansible does its work"
        if self.kubeadm:
            yield f"{name}: kubeadm reset failed, so Ansible did its work: {self.kubeadm}"


def _errors(planned: Planned, calls: t.Mapping[str, CallResult]) -> t.Iterator[str]:
    """Yield the errors of a failed change's calls, each with an explanation if there is one."""
    for call in planned.change.calls:
        result = calls.get(planned.scope.id(call.id))
        if result is None or result.error is None:
            continue
        meaning = planned.resource.explain(call.id, result)
        yield f"{planned.resource.title}: {result.error}" + (f". {meaning}" if meaning else "")
