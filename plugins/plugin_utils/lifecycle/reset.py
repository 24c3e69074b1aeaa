# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Reset a machine to the state of a machine that was prepared but never joined a cluster.

`Reset.run` does all the work. One remote command observes the state of the kubelet and of kubeadm, the HNS objects, and
the resources of the node_reset role. Then one detached batch removes what the reset must remove, and observes the
resources again. reset_plan.py builds the calls.
"""

from __future__ import annotations

import dataclasses
import uuid

from ..engine.planning import Questions
from ..engine.resource import Resource
from ..hns.cleanup.batch_result import read_done
from ..hns.cleanup.cleanup import Cleanup, CleanupOptions
from ..hns.cleanup.plan import CleanupRequest
from ..hns.facts.node_facts import FactsOptions
from ..remote.errors import BatchLost, NodeError
from ..remote.session import NodeSession
from ..values.errors import ResourceError
from ..wire.messages import Batch, Observation
from ..wire.typed_values import BadAnswer
from . import reset_plan
from .reset_outcome import ResetOutcome
from .reset_plan import KubeadmReset, ResetPlan

_ROUNDS = 4
"""Maximum number of batches. Another batch is needed if a batch was lost or something is left, for example because
containers still used images."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class ResetOptions:
    """Options of a reset."""

    kubeadm: KubeadmReset
    request: CleanupRequest
    hns: CleanupOptions


class Reset:
    """A reset of one machine.

    Args:
        session: the session with the machine.
        resources: the desired state of the machine after the reset (node_resources/node_reset.py).
        options: options of the reset.
        check_mode: whether to change nothing, and only observe the machine and plan the changes.
    """

    def __init__(
        self, session: NodeSession, resources: tuple[Resource, ...], options: ResetOptions, *, check_mode: bool
    ) -> None:
        self._session, self._node = session, session.node
        self._resources, self._options, self._check_mode = resources, options, check_mode
        self._questions = Questions(resources)
        self._waited = False
        self.outcome = ResetOutcome()
        """The outcome. It is filled during the run, so it shows what was done even after an exception."""

    @property
    def _facts(self) -> FactsOptions:
        return self._options.hns.facts

    def run(self) -> ResetOutcome:
        """Reset the machine.

        Raises:
            NodeError: something could not be removed; `outcome` shows what was done.
            AnsibleConnectionFailure: the machine cannot be reached.
        """
        for dummy in range(_ROUNDS):
            plan = self._observe()
            self.outcome.planned(plan)
            if self._check_mode or plan.empty:
                return self.outcome
            if self._apply(plan):
                return self.outcome
        left = ", ".join(planned.resource.title for planned in self.outcome.left) or "HNS objects"
        raise NodeError(f"{self._node.name}: reset: still there after {_ROUNDS} attempts: {left}{self._why()}")

    def _why(self) -> str:
        return f" ({'; '.join(self.outcome.errors)})" if self.outcome.errors else ""

    def _observe(self) -> ResetPlan:
        """Observe the machine. If an earlier reset left a batch running, wait for that batch and observe again.

        Raises:
            NodeError: the machine could not be observed, its answers cannot be used, or HNS cannot be queried.
            AnsibleConnectionFailure: the machine cannot be reached.
        """
        calls = reset_plan.observation_calls(self._questions, self._options.kubeadm, self._facts)
        seen, windows = self._session.observe(calls, step="observe", private=True)
        self._session.check_windows()
        key = reset_plan.running_batch(seen)
        if key and not self._waited and not self._check_mode:
            self._waited = True
            state = self._node.wait(key, step="wait for an earlier reset").state
            if state != "unknown":
                return self._observe()
        try:
            return reset_plan.make(self._resources, self._questions, seen, windows, self._options.request)
        except (ResourceError, BadAnswer) as error:
            raise NodeError(f"{self._node.name}: reset: {error}") from error

    def _apply(self, plan: ResetPlan) -> bool:
        """Run the batch that carries out a plan.

        Returns:
            Whether the reset is complete.
        """
        key = str(uuid.uuid4())
        options = self._options
        calls = reset_plan.batch_calls(plan, key, options.kubeadm, options.hns.batch, self._questions)
        try:
            seen = self._node.run(Batch(calls=calls, key=key), step="reset", private=True)
        except BatchLost as lost:
            self._session.warn(f"{lost}; observing the machine again")
            return False
        return self._read(plan, seen)

    def _read(self, plan: ResetPlan, seen: Observation) -> bool:
        done = read_done(plan.hns, seen)
        self.outcome.hns.batch_done(plan.hns, done)
        try:
            left = reset_plan.left(self._resources, self._questions, seen, plan)
        except (ResourceError, BadAnswer) as error:
            raise NodeError(f"{self._node.name}: reset: {error}") from error
        self.outcome.batch_done(plan, left, seen)
        if plan.hns_hangs or done.hang or done.aborted or done.failures:
            self._finish_hns()
        return left is not None and not left

    def _finish_hns(self) -> None:
        """Remove the remaining HNS objects with `Cleanup`, which can also restart HNS if it hangs.

        Raises:
            NodeError: the cleanup failed.
        """
        cleanup = Cleanup(self._session, self._options.request, self._options.hns)
        cleanup.outcome.removed, cleanup.outcome.changes = self.outcome.hns.removed, self.outcome.hns.changes
        self.outcome.hns = cleanup.outcome
        cleanup.run()
        if cleanup.outcome.failures:
            raise NodeError("\n".join(f"{self._node.name}: reset: {text}" for text in cleanup.outcome.failures))
