# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Check a node's answer to a batch of calls, and drop results for which the batch did not ask (no I/O)."""

from __future__ import annotations

import dataclasses
import typing as t

from . import typed_values
from .answer_shapes import checked_output
from .messages import Call, CallResult, Observation

_DEEPEST = 16
"""Maximum nesting depth of a call's output, including the list of its objects. It is well above the four levels of an
object in docs/wire.md, because it only protects the controller from malformed answers."""


def only_asked(seen: Observation, calls: t.Sequence[Call]) -> Observation:
    """Return the node's answer to a batch without the results of calls that the batch does not contain.

    Args:
        seen: the answer that the node returned.
        calls: the calls of the batch; empty if only the state of the batch matters.

    Returns:
        The answer with the checked results of these calls.

    Raises:
        BadAnswer: a result is larger than its call allows, has an unexpected form or is missing, or the batch stopped
            at a call that it does not contain.
    """
    asked = {call.id: call for call in calls}
    answers = {key: _checked(asked[key], result) for key, result in seen.calls.items() if key in asked}
    stopped = seen.stopped if asked else None
    if stopped is not None and stopped.id not in asked:
        raise typed_values.BadAnswer("stopped.id: expected the id of a call of this batch")
    missing = asked.keys() - answers.keys()
    if seen.state == "finished" and stopped is None and missing:
        raise typed_values.BadAnswer(f"calls: expected a result for {min(missing)}, got none")
    return dataclasses.replace(seen, calls=answers, stopped=stopped)


def _checked(call: Call, result: CallResult) -> CallResult:
    where = f"calls.{call.id}"
    if call.secret:
        # The module sends no output for a secret call.
        return dataclasses.replace(result, output=(), stdout="", stderr="", warnings=())
    for name, text in (("stdout", result.stdout), ("stderr", result.stderr)):
        if len(text) > call.output_limit:
            raise typed_values.BadAnswer(
                f"{where}.{name}: expected at most {call.output_limit} characters, got {len(text)}"
            )
    if _is_deeper(result.output, _DEEPEST):
        raise typed_values.BadAnswer(f"{where}.output: expected at most {_DEEPEST} levels of nesting")
    return dataclasses.replace(result, output=checked_output(call, result, f"{where}.output"))


def _is_deeper(value: object, levels: int) -> bool:
    """Return whether lists and objects are nested deeper than the given number of levels.

    The check does not descend further than that.
    """
    if isinstance(value, t.Mapping):
        return levels <= 0 or any(_is_deeper(item, levels - 1) for item in value.values())
    if isinstance(value, (list, tuple)):
        return levels <= 0 or any(_is_deeper(item, levels - 1) for item in value)
    return False
