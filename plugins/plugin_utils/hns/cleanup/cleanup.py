# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Clean up a node: observe HNS, plan the removals, and remove objects.

If HNS hangs, the cleanup restarts HNS or reboots the node, as far as the options allow, and then finishes the work.
"""

from __future__ import annotations

import dataclasses
import uuid

from ansible.errors import AnsibleConnectionFailure

from ...remote.errors import BatchLost, NodeError
from ...remote.session import NodeSession
from ...wire.messages import Batch, Observation, Progress
from ..facts import journal as hns_journal
from ..facts import services
from ..facts.journal import Journal
from ..facts.node_facts import NO_HNS, FactsOptions, HnsFacts, facts_calls, read_facts
from .batch import BatchOptions, batch_calls
from .batch_result import KINDS, BatchResult, read_done
from .outcome import CleanupOutcome
from .plan import CleanupPlan, CleanupRequest, ScopeError, check_request
from .planning import make_plan

_ROUNDS = 6
"""Maximum number of times to observe the node and remove objects. The cleanup repeats both after each lost batch, each
restart of HNS and each reboot."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class CleanupOptions:
    """Options of a cleanup."""

    facts: FactsOptions
    batch: BatchOptions
    restart_timeout: float = 120.0
    """Time limit for a restart of HNS, in seconds."""
    may_restart: bool = True
    """Whether HNS may be restarted if it hangs; running pods then lose their endpoints (projectcalico/calico#5164)."""
    may_reboot: bool = False


class Cleanup:
    """A cleanup of one node.

    Args:
        session: the session with the node.
        request: the scope of the cleanup, and the objects to remove or keep.
        options: time limits, and whether the cleanup may restart HNS or reboot the node.
        check_mode: whether to only observe and plan.
    """

    def __init__(
        self,
        session: NodeSession,
        request: CleanupRequest,
        options: CleanupOptions,
        *,
        check_mode: bool = False,
    ) -> None:
        self._session, self._node = session, session.node
        self._request, self._options, self._check_mode = request, options, check_mode
        self._restarted = self._rebooted = self._waited = False
        self.outcome = CleanupOutcome(scope=request.scope, notify=self._session.report_progress)

    def run(self) -> CleanupOutcome:
        """Run the cleanup.

        Raises:
            NodeError: the cleanup failed; `outcome` shows what was done.
            AnsibleConnectionFailure: the node did not come back.
        """
        for dummy in range(_ROUNDS):
            facts = self._observe()
            if facts.hang:
                self._hang(facts.hang, facts)
                continue
            plan = self._plan(facts)
            self.outcome.plan_made(plan, facts)
            if self._check_mode or plan.empty:
                return self.outcome
            done = self._remove(plan, self._options.batch)
            if done is not None and done.aborted and not done.hang:
                # A cmdlet that gave up at one object has not tried the objects after it.
                done = self._remove(_rest(plan, done), dataclasses.replace(self._options.batch, singly=True))
            if done is not None and not done.hang:
                return self.outcome
            if done is not None:
                self._hang(done.hang, facts)
        raise NodeError(f"{self._node.name}: hns_cleanup: HNS is not clean after {_ROUNDS} attempts")

    def _observe(self) -> HnsFacts:
        """Observe the node. If an earlier cleanup is still running, wait for it and observe again."""
        facts = read_facts(self._node.observe(facts_calls(self._options.facts), step="observe HNS"))
        journal = facts.journal
        if journal is None or not journal.key or self._waited or self._check_mode:
            return facts
        self._waited = True
        answer = self._node.wait(journal.key, step="wait for an earlier cleanup")
        self.outcome.step("wait for an earlier cleanup", f"its batch is {answer.state}")
        if answer.state == "unknown":
            # No cleanup is running, so the observation is current.
            return facts
        return self._observe()

    def _plan(self, facts: HnsFacts) -> CleanupPlan:
        if facts.problem:
            if facts.problem == NO_HNS:
                self.outcome.warnings.append(f"{self._node.name}: {NO_HNS}")
                return CleanupPlan()
            raise NodeError(f"{self._node.name}: HNS cannot be queried: {facts.problem}")
        try:
            warnings = check_request(self._request, facts)
        except ScopeError as error:
            raise NodeError(f"{self._node.name}: hns_cleanup: {error}") from error
        self.outcome.warnings += [text for text in warnings if text not in self.outcome.warnings]
        return make_plan(self._request, facts)

    def _remove(self, plan: CleanupPlan, options: BatchOptions) -> BatchResult | None:
        """Run the batch of calls that carries out a plan.

        Returns:
            The result of the batch, or None if the node lost the batch and must be observed again.
        """
        key = str(uuid.uuid4())
        calls = batch_calls(plan, key, options)
        try:
            answer = self._run(Batch(calls=calls, key=key), step=f"hns_cleanup {self._request.scope}")
        except BatchLost as error:
            self.outcome.step("remove", f"the node lost the batch{_where(error.progress)}; observing again")
            return None
        done = read_done(plan, answer)
        self.outcome.batch_done(plan, done)
        return done

    def _run(self, batch: Batch, *, step: str, removes: bool = True) -> Observation:
        """Run a batch. If the node does not come back, the error contains the last known progress."""
        last: list[Progress] = []

        def report(progress: Progress) -> None:
            last.append(progress)
            self._session.report_progress(f"{step}{_where(progress)}")

        self._node.on_progress = report
        try:
            return self._node.run(batch, step=step)
        except AnsibleConnectionFailure as error:
            # Only a detached batch outlives its session, and only with a journal can the next run find a batch.
            state = "continues" if batch.long else "may still run"
            finds = "reads the batch's result and " if any(call.id == hns_journal.ID for call in batch.calls) else ""
            known = (
                f"it last reported progress{_where(last[-1])}" if last else self.outcome.last_known_progress(removes)
            )
            raise AnsibleConnectionFailure(
                f"{error}: the node did not come back. The batch of {len(batch.calls)} calls {state} on the node; "
                f"{known}. The batch's task: {self.outcome.intent(removes)}. The next run {finds}completes the work"
            ) from error

    # --- HNS hangs.

    def _hang(self, call: str, facts: HnsFacts) -> None:
        """Restart HNS. If a restart is not allowed or does not help, reboot the node.

        Raises:
            NodeError: the options allow no further step, or the run is in check mode.
        """
        # A removal gets more time than hns_timeout, depending on the number of objects.
        removes = call.startswith("Remove-")
        late = "within its time limit" if removes else f"within {self._options.facts.hns_timeout:g} s"
        self.outcome.step("wait", f"HNS did not respond to {call} {late}")
        if self._check_mode:
            raise NodeError(f"{self._node.name}: HNS does not respond: {call} did not return {late}")
        if not self._restarted and self._options.may_restart:
            self._restarted = True
            if self._restart(facts):
                return
        if self._options.may_reboot and not self._rebooted:
            self._rebooted = True
            self._node.reboot(step="HNS hangs")
            self.outcome.rebooted = True
            self.outcome.step("reboot", "the node is back")
            return
        raise NodeError(f"{self._node.name}: HNS does not respond: {call} did not return {late}{self._advice()}")

    def _advice(self) -> str:
        if self._rebooted:
            return ", not even after a reboot"
        if self._restarted:
            return "; restarting the hns service did not help, and allow_reboot is false"
        return (
            "; scope stale does not restart HNS, because running pods would lose their endpoints: drain the node and "
            "set allow_hns_restart, or reboot the node"
        )

    def _restart(self, facts: HnsFacts) -> bool:
        """Stop the services that use HNS, restart HNS, and start the services again, even if the restart fails.

        Services in the request's `stays_stopped` are not started.

        Returns:
            True if HNS responds again, or if the node lost the batch, because HNS may then respond again.
        """
        running = [service.name for service in facts.services if service.running]
        users = [name for name in running if name not in (services.HNS, "vmcompute", *services.RUNTIMES)]
        stop = services.stop_order(users)
        journal = facts.journal
        again = {*stop, *(journal.services if journal else ())} - {*self._request.stays_stopped}
        start = services.start_order(again, overlay=facts.cni.overlay)
        uplinks = journal.uplinks if journal and journal.uplinks else facts.adapters.uplinks
        key = str(uuid.uuid4())
        calls = (
            Journal(key=key, services=start, uplinks=uplinks).write_call(),
            *services.stop_calls(stop),
            *services.restart_hns_calls(self._options.restart_timeout, self._options.facts.hns_timeout),
            *services.start_calls(start),
            *(() if journal else (hns_journal.remove_call([*map(services.START.id, start)]),)),
        )
        try:
            answer = self._run(Batch(calls=calls, key=key), step="restart hns", removes=False)
        except BatchLost as error:
            self.outcome.step("restart hns", f"the node lost the batch{_where(error.progress)}")
            return True
        seen = answer.calls
        ok = "answer" in seen and seen["answer"].ok
        failed = [
            str(seen[name].error) for name in (services.RESTART_HNS, "answer") if name in seen and not seen[name].ok
        ]
        if answer.stopped is not None:
            stopped = seen.get(answer.stopped.id)
            failed.append(f"{answer.stopped.id}: {stopped.error if stopped else 'failed'}")
        self.outcome.restarted = self.outcome.restarted or (
            services.RESTART_HNS in seen and seen[services.RESTART_HNS].ok
        )
        self.outcome.step("restart hns", "HNS answers" if ok else f"the restart did not help: {'; '.join(failed)}")
        return ok


def _rest(plan: CleanupPlan, done: BatchResult) -> CleanupPlan:
    """Return a plan that removes only the HNS objects that a batch failed to remove."""
    left = {item.id for item in done.left}
    return dataclasses.replace(
        plan,
        policies=tuple(item for item in plan.policies if item.id in left),
        endpoints=tuple(item for item in plan.endpoints if item.id in left),
        namespaces=tuple(item for item in plan.namespaces if item.id in left),
        networks=tuple(item for item in plan.networks if item.id in left),
        containers=(),
        files=(),
        routes=(),
        items=tuple(item for item in done.left if item.type in KINDS),
        repair=(),
    )


def _where(progress: Progress | None) -> str:
    return f" at {progress.id} ({progress.done} of {progress.total} calls done)" if progress else ""
