# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The node's answers during a convergence, for modules that return more than what was changed."""

from __future__ import annotations

import dataclasses
import typing as t

from ..wire.messages import Call, CallResult
from .planned import scope
from .planning import Questions


@dataclasses.dataclass(kw_only=True)
class Answers:
    """The node's answers during one convergence."""

    questions: Questions | None = None
    """The questions that the resources ask; None before the first observation."""
    first: dict[str, CallResult] = dataclasses.field(default_factory=dict)
    """Results of the first observation, by call id."""
    latest: dict[str, CallResult] = dataclasses.field(default_factory=dict)
    """Results of the last observation, by call id."""
    applied: dict[str, CallResult] = dataclasses.field(default_factory=dict)
    """Results of the changes, by call id."""

    def observed(self, questions: Questions, calls: t.Mapping[str, CallResult]) -> None:
        """Record the answers of an observation."""
        self.questions = questions
        self.latest = dict(calls)
        self.first = self.first or self.latest

    def of_resource(self, position: int) -> tuple[dict[str, CallResult], dict[str, CallResult]]:
        """Return a resource's last observation, and the results of its change, by the resource's own call ids."""
        observed = self.questions.answers(self.latest, position) if self.questions else {}
        return observed, scope(position).results(self.applied)

    def to_first(self, calls: t.Sequence[Call]) -> dict[str, CallResult]:
        """Return the first observation's answers to the questions that `calls` ask, by call id.

        Any resource may have asked the same question, under any id. Questions are compared by command and arguments
        only, so the calls must run programs.
        """
        if self.questions is None:
            return {}
        asked = {(call.command, call.arguments): call.id for group in self.questions.groups for call in group}
        ids = {call.id: asked.get((call.command, call.arguments), "") for call in calls}
        return {own: self.first[full] for own, full in ids.items() if full in self.first}
