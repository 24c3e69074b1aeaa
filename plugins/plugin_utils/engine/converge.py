# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Bring a node into the state that its resources describe, with as few remote commands and reboots as possible.

`Convergence.run` is the whole process:

1. observe: one batch (several if the calls exceed 1 MB) reads the state of all resources from the node.
2. plan: each resource compares its desired state with the observed state (planning.py).
3. measure: one batch reads free disk space and download sizes, if the plan needs disk space and the observation does
   not include them (disk_space.py).
4. apply: one batch makes the changes of all resources. If it ends at a reboot or at the 1 MB limit, another follows.
"""

from __future__ import annotations

import dataclasses
import datetime
import typing as t

from ...module_utils.redaction import hidden
from ..remote.ansible_connection import keeps_files
from ..remote.errors import BatchLost, NodeError
from ..remote.reboot import BATCH_DELAY, order, reboot_message
from ..remote.session import NodeSession
from ..values.errors import ResourceError
from ..windows import code_policies
from ..wire.messages import Batch, CallResult, Observation
from ..wire.typed_values import BadAnswer
from . import disk_space, offline_plans
from .answers import Answers
from .deferral import split
from .disk_space import EarlySizes
from .outcome import AppliedChange, ConvergenceOutcome
from .planned import Planned
from .planning import (
    REBOOT_ORDER,
    PlannedBatch,
    Questions,
    failed_call,
    is_done,
    next_work,
    ordered_reboot,
    plan,
)
from .progress import ProgressReporter
from .resource import Resource
from .service_restarts import RESTART

_REBOOT = "reboot for changes"


@dataclasses.dataclass(frozen=True, kw_only=True)
class _BatchEnd:
    """How a batch ended."""

    done: int
    """The number of the batch's changes that were attempted, including independent changes that failed."""
    reboot: bool
    """Whether a reboot is needed, because a program reported it, or because the next change must wait for a reboot."""
    fatal: bool
    """Whether an error stopped the batch."""
    ordered: bool = False
    """Whether the batch itself requested the reboot."""


class Convergence:
    """A run that brings one node into the state that a list of resources describes.

    Args:
        session: the session with the node.
        resources: what the node should have, in the order in which changes are made.
        check_mode: whether to only observe and plan, which usually takes one remote command.
        may_reboot: whether to reboot the node if a change needs a reboot. If false, the run ends after that change.
        disruptive: whether to make changes that disrupt the pods of a live node (`apply`), or to postpone these
            changes and the later ones that build on them (`defer`).
        allowed_code_policies: names in `code_policies.CHOICES` of the policies that, according to the user, do not
            block the resources' programs.
        check_space: whether to check that the changes fit on the node's volumes. This is not needed if an earlier run
            of the same resources has just measured and deferred the changes.
        offline: whether to fail if a change would download something. This is checked before the first change.
        disk_limit: size in bytes to assume for the system volume if the volume is larger; see `disk_space.free`.
        answers: an object that records the results of the node's calls.
    """

    def __init__(
        self,
        session: NodeSession,
        resources: t.Sequence[Resource],
        *,
        check_mode: bool = False,
        may_reboot: bool = True,
        disruptive: t.Literal["apply", "defer"] = "apply",
        allowed_code_policies: t.Collection[str] = (),
        check_space: bool = True,
        offline: bool = False,
        disk_limit: int | None = None,
        answers: Answers | None = None,
    ) -> None:
        self._session, self._node = session, session.node
        self._resources = tuple(resources)
        # The calls that ask for sizes may contain credentials. If Ansible keeps its files on the node, such calls are
        # sent only if something has to be downloaded.
        asks_early = check_space and not check_mode and not offline and not keeps_files()
        self._early = EarlySizes(self._resources if asks_early else ())
        general = (*code_policies.calls(), *self._early.free_space)
        self._questions = Questions(self._resources, general, self._early.by_resource, offline=offline)
        self._offline = offline
        self._check_mode = check_mode
        self._may_reboot = may_reboot
        self._disruptive = disruptive
        self._allowed_policies = allowed_code_policies
        self._check_space = check_space
        self._disk_limit = disk_limit
        self._answers = answers
        self._private = any(resource.private for resource in self._resources)
        self._observes_privately = self._private or bool(self._early.by_resource)
        self._restarts: list[str] = []
        # A batch that may reboot the node keeps its result for the controller until the node is down.
        self._reboot_order = order(reboot_message(_REBOOT), delay=BATCH_DELAY) if may_reboot else ()
        self._last_boot = self._boot = ""
        """`_last_boot` is the boot time in the last observation; `_boot` is the boot time before the current batch."""
        self._failed_files: set[str] = set()
        """Paths, in lower case, of files that are missing because the changes that would create them failed."""
        self._progress = ProgressReporter(session)
        self.outcome = ConvergenceOutcome()
        """The outcome. It is filled in during the run, so it shows what was done even after an exception."""

    def run(self) -> ConvergenceOutcome:
        """Bring the node into the desired state.

        Returns:
            The outcome of the run. If something failed, its `failures` contain the error messages.

        Raises:
            NodeError: the run cannot continue. The message names the node and the reason.
            AnsibleConnectionFailure: the node cannot be reached.
        """
        try:
            pending = self.observe_and_plan()
            now = self._select(pending)
            if self._check_mode:
                self.outcome.changes = [AppliedChange(planned=planned) for planned in pending]
                self.outcome.reboot_required = any(planned.change.reboot == "always" for planned in pending)
                return self.outcome
            try:
                self._apply_in_parts(self._apply_until_stable(now))
            except BatchLost as lost:
                # Observe and plan again, because the batch may have made some changes. A second loss ends the run.
                self.outcome.warnings.append(f"{lost}; observing the node again")
                if lost.progress is not None and lost.progress.id in REBOOT_ORDER:
                    self._wait_for_reboot(ordered=None)
                self._apply_all(self._select(self.observe_and_plan()))
            return self.outcome
        finally:
            self.outcome.remote_commands = self._node.remote_commands

    def _apply_until_stable(self, now: list[Planned]) -> list[Planned]:
        """Make the changes that require a new observation, observe the node after each, and return the remaining plan.

        The remaining plan is empty if the run cannot continue.
        """
        while first := next((planned for planned in now if planned.change.observe_again), None):
            # The other changes are planned again below, so drop their warnings, which planning repeats.
            again = {text for planned in now if planned is not first for text in self._change_warnings(planned)}
            self.outcome.warnings = [text for text in self.outcome.warnings if text not in again]
            if not self._apply_all([first]):
                return []
            now = self._select(self.observe_and_plan())
        return now

    def observe_and_plan(self) -> list[Planned]:
        """Ask the node for the state of all resources, and compare it with their desired state.

        Returns:
            The changes, in the order in which to make them.

        Raises:
            UnsupportedWindows: the collection does not support the node's version of Windows.
            NodeError: `invoke_calls` failed, or its result is malformed; a resource cannot exist on this node as
                described; a code policy that the user has not allowed may block the resources' programs (except in
                check mode); or a change would download something although `offline` is set.
            AnsibleConnectionFailure: the node cannot be reached.
        """
        step, private = "observe", self._observes_privately
        first, *more = self._questions.batches()
        seen, windows = self._session.observe(first, step=step, private=private)
        calls: dict[str, CallResult] = {}
        for observation in (seen, *(self._node.observe(batch, step=step, private=private) for batch in more)):
            self._note_time(observation)
            calls.update(observation.calls)
        self._early.observed(calls)
        if self._answers is not None:
            self._answers.observed(self._questions, calls)
        self.outcome.windows = windows
        self._session.check_windows()
        if warning := self._session.version_warning or windows.unlisted:
            self.outcome.warnings.append(f"{self._node.name}: {warning}")
        try:
            self.outcome.planned = plan(self._resources, self._questions, calls, windows)
        except (ResourceError, BadAnswer) as error:
            raise NodeError(f"{self._node.name}: plan: {error}") from error
        for planned in self.outcome.planned:
            self.outcome.warnings += self._change_warnings(planned)
        if self.outcome.planned:
            warnings, stop = code_policies.judged(calls, self._allowed_policies, self._node.name)
            self.outcome.warnings += warnings
            if stop and not self._check_mode:
                raise NodeError(stop)
        if self._offline and (why := offline_plans.refusal(self.outcome.planned, begun=bool(self.outcome.changes))):
            raise NodeError(f"{self._node.name}: {why}")
        return self.outcome.planned

    def _change_warnings(self, planned: Planned) -> list[str]:
        return [f"{self._node.name}: {planned.resource.title}: {text}" for text in planned.change.warnings]

    def _select(self, pending: list[Planned]) -> list[Planned]:
        """Return the changes that this run makes, and record the other changes as deferred."""
        if self._disruptive == "apply":
            return pending
        now, self.outcome.deferred = split(pending)
        return now

    def _apply_in_parts(self, pending: list[Planned]) -> None:
        """Measure the required disk space, and apply the plan. Sizes that depend on changes are measured after them."""
        # Measure the deferred changes as well, because a node must not be drained for changes that would not fit.
        rest = self._measure([*pending, *self.outcome.deferred], begun=False)
        if not 0 < rest < len(pending):
            self._apply_all(pending)
        elif self._apply_all(pending[:rest], following=pending[rest:]):
            self._measure(pending[rest:], begun=True)
            self._apply_all(pending[rest:])

    def _measure(self, pending: t.Sequence[Planned], *, begun: bool) -> int:
        """Check that the node's volumes have enough free space for the changes.

        Returns:
            The index of the first change that must be measured again later. If there is none, the number of changes.

        Raises:
            NodeError: there is not enough disk space.
        """
        if not self._check_space or not any(planned.change.space for planned in pending):
            return len(pending)
        early = None if begun else self._early
        seen = dict(early.results) if early else {}
        if questions := disk_space.measure_calls(pending, early):
            seen.update(self._node.observe(questions, step="measure", private=True).calls)
        measurement = disk_space.measured(pending, seen, self._disk_limit)
        self._progress.sizes = measurement.sizes
        for volume in measurement.unread_volumes:
            self.outcome.warnings.append(f"{self._node.name}: the free space of {volume} could not be read")
        refusal = disk_space.refusal(measurement, begun=begun or bool(self.outcome.changes))
        if refusal is not None:
            raise NodeError(f"{self._node.name}: {refusal}")
        return measurement.first_later(pending)

    def _apply_all(self, pending: list[Planned], following: t.Sequence[Planned] = ()) -> bool:
        """Make changes batch by batch, with the reboots that they need.

        Args:
            pending: the changes.
            following: changes that the caller makes afterwards.

        Returns:
            Whether all changes were attempted and all required reboots were made, so that the run can continue.
        """
        while pending or self._restarts:
            work = next_work(pending, self._restarts, reboot_order=self._reboot_order)
            ran = self._apply(work) if work.calls else _BatchEnd(done=len(work.changes), reboot=False, fatal=False)
            if ran.fatal:
                self._restart_after_failure()
                return False
            pending = pending[ran.done :]
            if not (ran.reboot or work.reboot):
                self._restarts = []
                continue
            # A change without calls needs only the reboot, for example for a feature that was installed earlier.
            reboots = [planned for planned in work.changes[: ran.done] if not planned.change.calls]
            self.outcome.changes.extend(AppliedChange(planned=planned) for planned in reboots)
            if not self._reboot([*pending, *following], ordered=ran.ordered):
                return False
        return True

    def _apply(self, work: PlannedBatch) -> _BatchEnd:
        """Run one batch of changes, and record what was done."""
        self._node.on_progress = lambda progress: self._progress.report(progress, work.changes)
        self._boot = self._last_boot
        try:
            batch = Batch(calls=work.calls)
            observation = self._node.run(batch, step="apply", private=self._private, may_reboot=work.may_reboot)
        except BatchLost:
            # The lost batch may have made its changes. The next plan then lacks these changes and the restarts that
            # they need.
            self._restarts.extend(name for planned in work.changes for name in planned.resource.restarts)
            raise
        self._note_time(observation)
        if self._answers is not None:
            self._answers.applied.update(observation.calls)
        seen, stopped = observation.calls, observation.stopped
        failures: list[str] = []
        explained = False
        for planned in work.changes:
            results = [seen[name] for call in planned.change.calls if (name := planned.scope.id(call.id)) in seen]
            if planned.change.reboot == "never":
                # If a change may need a reboot, its warnings are only about this reboot, which the engine handles.
                self._warn(planned.resource.title, results)
            failed = failed_call(planned, seen, stopped)
            if failed is not None:
                if self._is_explained(planned, failed, seen):
                    explained = True
                else:
                    failures.append(self._failure(planned, failed, seen))
                if planned.resource.brings:
                    self._failed_files.add(planned.resource.brings.casefold())
            elif planned.change.calls and is_done(planned, seen, stopped):
                self.outcome.changes.append(
                    AppliedChange(planned=planned, seconds=sum(result.seconds for result in results))
                )
                self._restarts.extend(planned.resource.restarts)
        fatal = stopped is not None and stopped.reason == "error"
        if stopped is not None and fatal and not failures and not explained:
            error = seen[stopped.id].error if stopped.id in seen else None
            what = "restart of a service" if stopped.id in RESTART else stopped.id
            failures.append(f"{self._node.name}: {what}: {error or 'failed'}")
        self.outcome.failures.extend(failures)
        reboot = stopped is not None and stopped.reason == "barrier"
        done = work.barriers[stopped.id] if stopped is not None and reboot else len(work.changes)
        reboot = reboot or any(planned.asks_for_reboot(seen) for planned in work.changes)
        return _BatchEnd(done=done, reboot=reboot, fatal=fatal, ordered=ordered_reboot(work, seen))

    def _note_time(self, seen: Observation) -> None:
        self._last_boot = seen.boot
        skew = seen.clock_skew(datetime.datetime.now(datetime.UTC))
        self.outcome.clock_skew = self.outcome.clock_skew if skew is None else skew

    def _is_explained(self, planned: Planned, call_id: str, calls: t.Mapping[str, CallResult]) -> bool:
        """Return whether a change failed only because it needs a file that an earlier change failed to create."""
        result = calls.get(call_id)
        lacks = planned.resource.lacks(planned.scope.own(call_id), result) if result is not None else None
        return lacks is not None and lacks.casefold() in self._failed_files

    def _failure(self, planned: Planned, call_id: str, calls: t.Mapping[str, CallResult]) -> str:
        result = calls.get(call_id)
        where = f"{self._node.name}: {planned.resource.title}: {planned.scope.own(call_id)}"
        if result is None or result.error is None:
            return f"{where}: failed"
        if planned.resource.no_log:
            return f"{where}: {result.error.category} {result.error.id} {hidden('no_log')}"
        if explanation := planned.resource.failure(planned.scope.results(calls)):
            return f"{self._node.name}: {planned.resource.title}: {explanation}"
        text = str(result.error)
        if result.exit_code is not None and (result.stderr or result.stdout):
            text += f" ({(result.stderr.strip() or result.stdout.strip())[-1000:]})"
        meaning = planned.resource.explain(planned.scope.own(call_id), result)
        return f"{where}: {text}" + (f". {meaning}" if meaning else "")

    def _restart_after_failure(self) -> None:
        """Restart the services of the changes that were made before a failure.

        The next run would see no difference in the changed resources, so it would not restart their services.
        """
        if not self._restarts:
            return
        work = next_work((), self._restarts)
        self._restarts = []
        observation = self._node.run(Batch(calls=work.calls), step="restart of services", private=self._private)
        if observation.stopped is not None:
            self.outcome.failures.append(f"{self._node.name}: restart of services: {observation.stopped.id} failed")

    def _reboot(self, pending: t.Sequence[Planned], *, ordered: bool) -> bool:
        """Reboot the node, if the options allow a reboot.

        Args:
            pending: the changes that remain after the reboot.
            ordered: whether the last batch requested the reboot.

        Returns:
            Whether the run can continue.
        """
        self._restarts = []
        if not self._may_reboot:
            self.outcome.reboot_required = True
            if pending:
                titles = ", ".join(planned.resource.title for planned in pending)
                self.outcome.failures.append(
                    f"{self._node.name}: a reboot is needed before {titles}, and reboot is false; "
                    "reboot the node and run again"
                )
            return False
        self._session.report_progress("rebooting")
        self._wait_for_reboot(ordered=ordered)
        self.outcome.rebooted = True
        return True

    def _wait_for_reboot(self, *, ordered: bool | None) -> None:
        self._node.reboot(step=_REBOOT, ordered=ordered, boot="" if ordered is False else self._boot)

    def _warn(self, title: str, results: t.Iterable[CallResult]) -> None:
        for result in results:
            self.outcome.warnings.extend(f"{self._node.name}: {title}: {text}" for text in result.warnings)
