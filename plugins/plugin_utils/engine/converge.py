# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Observe, plan, apply: makes a node have its resources, with as few remote commands and reboots as it takes."""

from __future__ import annotations

import dataclasses
import datetime
import typing as t

from ..remote.errors import BatchLost, NodeError
from ..remote.protocol import RemoteNode
from ..remote.session import NodeSession
from ..values.errors import ResourceError
from ..windows import code_policies
from ..windows import windows_info as node_header
from ..windows.windows_info import WindowsInfo
from ..wire.messages import Batch, CallResult, Observation
from ..wire.typed_values import BadAnswer
from . import disk_space
from .answers import Answers
from .deferral import split
from .outcome import AppliedChange, ConvergenceOutcome
from .planned import Planned
from .planning import PlannedBatch, Questions, failed_call, is_done, next_work, plan
from .progress import ProgressReporter
from .resource import Resource
from .service_restarts import RESTART


@dataclasses.dataclass(frozen=True, kw_only=True)
class _BatchEnd:
    """How a batch ended."""

    done: int
    """How many of its changes were come by, failed independent ones included."""
    reboot: bool
    """A barrier stopped it: a reboot is needed."""
    fatal: bool
    """An error stopped it."""


class Convergence:
    """Brings one node to a list of resources.

    Args:
        node: the node.
        resources: what it should have, in the order in which it is made so.
        check_mode: only plan: one remote command.
        may_reboot: whether to reboot where a change needs it; else that change is the last one made.
        disturbing: `defer` leaves what disturbs the pods of a live node, and what follows it, for later.
        allow_unsupported_windows: go on where Windows is none of the supported versions.
        allowed_code_policies: those of `code_policies.CHOICES` that let run what the resources install.
        say: shows a line to whoever runs this, while a long batch runs.
        disk_limit: bytes that the system volume is treated as having; see `disk_space.free`.
        answers: keeps what the node answers.
    """

    def __init__(
        self,
        node: RemoteNode,
        resources: t.Sequence[Resource],
        *,
        check_mode: bool = False,
        may_reboot: bool = True,
        disturbing: t.Literal["apply", "defer"] = "apply",
        allow_unsupported_windows: bool = False,
        allowed_code_policies: t.Collection[str] = (),
        say: t.Callable[[str], None] | None = None,
        disk_limit: int | None = None,
        answers: Answers | None = None,
    ) -> None:
        self._node = node
        self._resources = tuple(resources)
        self._check_mode = check_mode
        self._may_reboot = may_reboot
        self._disturbing = disturbing
        self._allowed_policies = allowed_code_policies
        self._session = NodeSession(node, allow_unsupported_windows=allow_unsupported_windows, say=say)
        self._disk_limit = disk_limit
        self._answers = answers
        self._private = any(resource.private for resource in self._resources)
        self._restarts: list[str] = []
        self._not_brought: set[str] = set()
        self._teller = ProgressReporter(node.name, say)
        self.outcome = ConvergenceOutcome()
        """Filled while it runs: after an exception it tells what was done so far."""

    def run(self) -> ConvergenceOutcome:
        """Converges the node.

        Returns:
            What was done; failed changes are in `failures`.

        Raises:
            NodeError: nothing can be said or done further; the text names node and step.
            AnsibleConnectionFailure: the node cannot be reached.
        """
        try:
            pending = self.observe_and_plan()
            now = self._at_once(pending)
            if self._check_mode:
                self.outcome.changes = [AppliedChange(planned=planned) for planned in pending]
                self.outcome.reboot_required = any(planned.change.reboot == "always" for planned in pending)
                return self.outcome
            try:
                self._apply_in_parts(self._look_again(now))
            except BatchLost as lost:
                # Once: what it did is observed anew, and the rest planned anew.
                self.outcome.warnings.append(f"{lost}; looking again at what the node has")
                self._apply_all(self._at_once(self.observe_and_plan()))
            return self.outcome
        finally:
            self.outcome.remote_commands = self._node.remote_commands

    def _look_again(self, now: list[Planned]) -> list[Planned]:
        """Makes those first after which what was seen no longer holds; returns the plan after the last of them."""
        while first := next((planned for planned in now if planned.change.look_again), None):
            later = tuple(text for planned in now if planned is not first for text in planned.change.warnings)
            self.outcome.warnings = [text for text in self.outcome.warnings if not (later and text.endswith(later))]
            if not self._apply_all([first]):
                return []
            now = self._at_once(self.observe_and_plan())
        return now

    def observe_and_plan(self) -> list[Planned]:
        """Asks the node for all that the resources need to know, and compares.

        Returns:
            The changes, in order.
        """
        questions = Questions(self._resources, (node_header.call(), *code_policies.calls()))
        calls: dict[str, CallResult] = {}
        for batch in questions.batches():
            seen = self._node.observe(batch, private=self._private)
            self._note_clock(seen)
            calls.update(seen.calls)
        if self._answers is not None:
            self._answers.observed(questions, calls)
        try:
            header = self._session.read_windows(calls, step="observe")
        finally:
            self.outcome.header = self._session.windows
        self._warn_of_version(header)
        try:
            self.outcome.planned = plan(self._resources, questions, calls, header)
        except (ResourceError, BadAnswer) as error:
            raise NodeError(f"{self._node.name}: plan: {error}") from error
        for planned in self.outcome.planned:
            told = (f"{self._node.name}: {planned.resource.title}: {text}" for text in planned.change.warnings)
            self.outcome.warnings.extend(told)
        if self.outcome.planned:
            warnings, stop = code_policies.judged(calls, self._allowed_policies, self._node.name)
            self.outcome.warnings += warnings
            if stop and not self._check_mode:
                raise NodeError(stop)
        return self.outcome.planned

    def _at_once(self, pending: list[Planned]) -> list[Planned]:
        """What of a plan is made by this run; the rest is noted as deferred."""
        if self._disturbing == "apply":
            return pending
        now, self.outcome.deferred = split(pending)
        return now

    def _warn_of_version(self, header: WindowsInfo) -> None:
        if self._session.version_warning:
            self.outcome.warnings.append(f"{self._node.name}: {self._session.version_warning}")
        elif header.unlisted:
            self.outcome.warnings.append(f"{self._node.name}: {header.unlisted}")

    def _apply_in_parts(self, pending: list[Planned]) -> None:
        """Measures and applies the plan; what tells its size later is measured again before its first byte."""
        # A node on which the rest would not fit is not to be drained for it.
        rest = self._measure([*pending, *self.outcome.deferred], begun=False)
        if not 0 < rest < len(pending):
            self._apply_all(pending)
        elif self._apply_all(pending[:rest], following=pending[rest:]):
            self._measure(pending[rest:], begun=True)
            self._apply_all(pending[rest:])

    def _measure(self, pending: t.Sequence[Planned], *, begun: bool) -> int:
        """Asks how much room the plan takes and how much there is, where it takes any.

        Returns:
            Where in the plan the first change stands that can tell its size later; its length where there is none.

        Raises:
            NodeError: it does not fit.
        """
        questions = disk_space.questions(pending)
        if not questions:
            return len(pending)
        seen = self._node.observe(questions, step="measure", private=True).calls
        needs = disk_space.needs(pending, seen)
        self._teller.sizes = {need.title: need.size for need in needs}
        left = disk_space.free(seen, self._disk_limit)
        for volume in sorted({need.volume for need in needs} - left.keys()):
            self.outcome.warnings.append(f"{self._node.name}: the free space of {volume} could not be read")
        refusal = disk_space.refusal(needs, left, begun=begun)
        if refusal is not None:
            raise NodeError(f"{self._node.name}: {refusal}")
        later = {need.title for need in needs if need.later}
        places = (place for place, planned in enumerate(pending) if planned.resource.title in later)
        return next(places, len(pending))

    def _apply_all(self, pending: list[Planned], following: t.Sequence[Planned] = ()) -> bool:
        """Makes the changes.

        Args:
            pending: the changes.
            following: what is made afterwards, by somebody else.

        Returns:
            Whether it came to the end of them, failed independent ones included.
        """
        while pending or self._restarts:
            work = next_work(pending, self._restarts)
            ran = self._apply(work) if work.calls else _BatchEnd(done=len(work.changes), reboot=False, fatal=False)
            if ran.fatal:
                self._restart_after_failure()
                return False
            pending = pending[ran.done :]
            if not (ran.reboot or work.reboot):
                self._restarts = []
                continue
            # Such as a feature that was installed before and still waits for its reboot.
            no_calls = [planned for planned in work.changes[: ran.done] if not planned.change.calls]
            self.outcome.changes.extend(AppliedChange(planned=planned) for planned in no_calls)
            if not self._reboot([*pending, *following]):
                return False
        return True

    def _apply(self, work: PlannedBatch) -> _BatchEnd:
        """Runs one batch of changes, and takes down what was done."""
        self._node.on_progress = lambda progress: self._teller.tell(progress, work.changes)
        try:
            observation = self._node.run(Batch(calls=work.calls), step="apply", private=self._private)
        except BatchLost:
            # Their changes may be made: later nobody would see a difference, and restart them.
            self._restarts.extend(name for planned in work.changes for name in planned.resource.restarts)
            raise
        self._note_clock(observation)
        if self._answers is not None:
            self._answers.applied.update(observation.calls)
        seen, stopped = observation.calls, observation.stopped
        failures: list[str] = []
        told = False
        for planned in work.changes:
            results = [seen[name] for call in planned.change.calls if (name := planned.prefix + call.id) in seen]
            if planned.change.reboot == "never":
                # The others only warn that a reboot is needed, and that is seen to.
                self._warn(planned.resource.title, results)
            failed = failed_call(planned, seen, stopped)
            if failed is not None:
                if self._is_told(planned, failed, seen):
                    told = True
                else:
                    failures.append(self._failure(planned, failed, seen))
                self._not_brought.update(brought.casefold() for brought in (planned.resource.brings,) if brought)
            elif planned.change.calls and is_done(planned, seen, stopped):
                self.outcome.changes.append(
                    AppliedChange(planned=planned, seconds=sum(result.seconds for result in results))
                )
                self._restarts.extend(planned.resource.restarts)
        fatal = stopped is not None and stopped.reason == "error"
        if stopped is not None and fatal and not failures and not told:
            error = seen[stopped.id].error if stopped.id in seen else None
            what = "restart of a service" if stopped.id.startswith(RESTART) else stopped.id
            failures.append(f"{self._node.name}: {what}: {error or 'failed'}")
        self.outcome.failures.extend(failures)
        reboot = stopped is not None and stopped.reason == "barrier"
        done = work.barriers[stopped.id] if stopped is not None and reboot else len(work.changes)
        return _BatchEnd(done=done, reboot=reboot, fatal=fatal)

    def _note_clock(self, seen: Observation) -> None:
        skew = seen.clock_skew(datetime.datetime.now(datetime.UTC))
        self.outcome.clock_skew = self.outcome.clock_skew if skew is None else skew

    def _is_told(self, planned: Planned, call_id: str, calls: t.Mapping[str, CallResult]) -> bool:
        """Whether a change failed only because another one, whose failure is told, did not bring its file."""
        result = calls.get(call_id)
        lacks = planned.resource.lacks(call_id.removeprefix(planned.prefix), result) if result is not None else None
        return lacks is not None and lacks.casefold() in self._not_brought

    def _failure(self, planned: Planned, call_id: str, calls: t.Mapping[str, CallResult]) -> str:
        result = calls.get(call_id)
        where = f"{self._node.name}: {planned.resource.title}: {call_id.removeprefix(planned.prefix)}"
        if result is None or result.error is None:
            return f"{where}: failed"
        if planned.resource.no_log:
            return f"{where}: {result.error.category} {result.error.id} (details hidden: no_log)"
        mine = {
            name.removeprefix(planned.prefix): one for name, one in calls.items() if name.startswith(planned.prefix)
        }
        if told := planned.resource.failure(mine):
            return f"{self._node.name}: {planned.resource.title}: {told}"
        text = str(result.error)
        if result.exit_code is not None and (result.stderr or result.stdout):
            text += f" ({(result.stderr.strip() or result.stdout.strip())[-1000:]})"
        meaning = planned.resource.explain(call_id.removeprefix(planned.prefix), result)
        return f"{where}: {text}" + (f". {meaning}" if meaning else "")

    def _restart_after_failure(self) -> None:
        """Restarts the services of what was changed before the failure: the next run sees no difference there."""
        if not self._restarts:
            return
        work = next_work((), self._restarts)
        self._restarts = []
        observation = self._node.run(Batch(calls=work.calls), step="restart of services", private=self._private)
        if observation.stopped is not None:
            self.outcome.failures.append(f"{self._node.name}: restart of services: {observation.stopped.id} failed")

    def _reboot(self, pending: t.Sequence[Planned]) -> bool:
        """Reboots where that is allowed.

        Returns:
            Whether the work can go on.
        """
        self._restarts = []
        if not self._may_reboot:
            self.outcome.reboot_required = True
            if pending:
                titles = ", ".join(planned.resource.title for planned in pending)
                self.outcome.failures.append(
                    f"{self._node.name}: a reboot is needed before {titles}; reboot is false: reboot it, then run again"
                )
            return False
        self._session.tell("rebooting")
        self._node.reboot(step="reboot for what was changed")
        self.outcome.rebooted = True
        return True

    def _warn(self, title: str, results: t.Iterable[CallResult]) -> None:
        for result in results:
            self.outcome.warnings.extend(f"{self._node.name}: {title}: {text}" for text in result.warnings)
