# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Record the results of a convergence's calls, for modules that return more than the changes."""

from __future__ import annotations

import dataclasses
import typing as t

from ..wire.messages import Call, CallResult
from .planned import scope
from .planning import Questions


@dataclasses.dataclass(kw_only=True)
class Answers:
    """The results of the calls that a node ran during one convergence."""

    questions: Questions | None = None
    """The calls with which the resources observe the node, or None before the first observation."""
    first: dict[str, CallResult] = dataclasses.field(default_factory=dict)
    """Results of the first observation, by call ID."""
    latest: dict[str, CallResult] = dataclasses.field(default_factory=dict)
    """Results of the last observation, by call ID."""
    applied: dict[str, CallResult] = dataclasses.field(default_factory=dict)
    """Results of the changes, by call ID."""

    def observed(self, questions: Questions, calls: t.Mapping[str, CallResult]) -> None:
        """Record the results of an observation."""
        self.questions = questions
        self.latest = dict(calls)
        self.first = self.first or self.latest

    def of_resource(self, position: int) -> tuple[dict[str, CallResult], dict[str, CallResult]]:
        """Return the results of a resource's last observation, and the results of its change, as two mappings.

        The keys are the resource's own call IDs.
        """
        observed = self.questions.answers(self.latest, position) if self.questions else {}
        return observed, scope(position).results(self.applied)

    def to_first(self, calls: t.Sequence[Call]) -> dict[str, CallResult]:
        """Return what the first observation returned for the commands in `calls`, by the IDs of these calls.

        It does not matter which resource ran a command, or under which ID. Commands without a result are left out. The
        calls must run programs, because only the command and its arguments are compared, not the parameters of cmdlets
        and verbs.
        """
        if self.questions is None:
            return {}
        asked = {(call.command, call.arguments): call.id for group in self.questions.groups for call in group}
        ids = {call.id: asked.get((call.command, call.arguments), "") for call in calls}
        return {own: self.first[full] for own, full in ids.items() if full in self.first}
