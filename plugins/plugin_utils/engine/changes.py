# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Help resources to plan changes: read the results of calls, and compare the observed with the desired state."""

from __future__ import annotations

import dataclasses
import typing as t

from ...module_utils.redaction import BLANK, HIDDEN, HIDDEN_CHANGED
from ...module_utils.redaction.urls import redact_users
from ..values.each_text import each_text
from ..values.errors import ResourceError
from ..wire.messages import Call, CallResult, Results
from .resource import Change, Resource

_OPEN = frozenset({"state", "path", "name"})
"""Keys of `before` and `after` that `no_log` does not hide, because they only identify the resource or say whether
it exists."""

Reboot = t.Literal["never", "if_reported", "always"]


class ObservationError(ResourceError):
    """The state of a resource could not be read."""

    def __init__(self, where: str, call: str, problem: str) -> None:
        super().__init__(where, None, "")
        # ResourceError's own message describes an invalid value, and here no value is invalid.
        self.args = (f"{where}: its state could not be read ({call}): {problem}",)


def answered(resource: Resource, seen: Results, call: str) -> CallResult:
    """Return the result of an observing call that must succeed.

    Raises:
        ObservationError: the call failed or did not run.
    """
    result = seen.get(call)
    if result is None:
        raise ObservationError(resource.title, call, "the node returned no result")
    if not result.ok:
        raise ObservationError(resource.title, call, str(result.error or f"exit code {result.exit_code}"))
    return result


def objects(resource: Resource, seen: Results, call: str) -> tuple[t.Mapping[str, t.Any], ...]:
    """Return the objects that an observing call returned. The call must succeed.

    Raises:
        ObservationError: the call failed or did not run.
    """
    return tuple(item for item in answered(resource, seen, call).output if isinstance(item, t.Mapping))


def only(resource: Resource, seen: Results, call: str) -> t.Mapping[str, t.Any]:
    """Return the first object that an observing call returned. The call must succeed and return at least one object.

    Raises:
        ObservationError: the call failed, did not run, or returned no object.
    """
    items = objects(resource, seen, call)
    if not items:
        raise ObservationError(resource.title, call, "the node returned no object")
    return items[0]


def is_missing(result: CallResult | None) -> bool:
    """Return whether a call failed because the requested object, or the cmdlet or program itself, does not exist."""
    return result is not None and result.error is not None and result.error.category == "ObjectNotFound"


def no_command(result: CallResult | None) -> bool:
    """Return whether a call failed because its cmdlet or program does not exist on the node."""
    return result is not None and result.error is not None and "CommandNotFoundException" in result.error.id


def update(
    resource: Resource,
    before: t.Mapping[str, t.Any],
    after: t.Mapping[str, t.Any],
    calls: t.Iterable[Call],
    *,
    why: str | None = None,
    reboot: Reboot = "never",
) -> Change | None:
    """Return a change that shows the differences between `before` and `after`, or None if there are no differences.

    Args:
        resource: the resource that changes.
        before: the observed state, with the keys and notation of `after`. A missing key counts as None.
        after: the desired state.
        calls: the calls that make the change.
        why: the reason for the change. If None, the reason is a sentence that lists the differences.
        reboot: whether the node must reboot after the change. See `Change.reboot`.
    """
    differing = [key for key in after if before.get(key) != after[key]]
    if not differing:
        return None
    sentence = why or "; ".join(_difference(resource, key, before.get(key), after[key]) for key in differing)
    return _change(
        resource,
        sentence,
        {key: before.get(key) for key in differing},
        {key: after[key] for key in differing},
        calls,
        reboot,
    )


def create(
    resource: Resource,
    after: t.Mapping[str, t.Any],
    calls: t.Iterable[Call],
    *,
    why: str = "does not exist",
    reboot: Reboot = "never",
) -> Change:
    """Return a change that creates a resource that does not exist yet."""
    shown = {"state": "present", **{key: value for key, value in after.items() if value is not None}}
    return _change(resource, why, dict.fromkeys(shown) | {"state": "absent"}, shown, calls, reboot)


def remove(
    resource: Resource,
    before: t.Mapping[str, t.Any],
    calls: t.Iterable[Call],
    *,
    why: str = "exists, expected absent",
    reboot: Reboot = "never",
) -> Change:
    """Return a change that removes a resource that exists but should not."""
    shown = {"state": "present", **before}
    return _change(resource, why, shown, dict.fromkeys(shown) | {"state": "absent"}, calls, reboot)


def _change(
    resource: Resource,
    why: str,
    before: dict[str, t.Any],
    after: dict[str, t.Any],
    calls: t.Iterable[Call],
    reboot: Reboot,
) -> Change:
    if resource.no_log:
        before, after = _hidden(before, HIDDEN), _hidden(after, HIDDEN_CHANGED)
        calls = [dataclasses.replace(call, secret=True) for call in calls]
    before, desired = _without_users(before), after
    after = _without_users(desired)
    if before == after:
        after = _without_users(desired, f"{BLANK}(changed)")
    return Change(why=_without_users(why), before=before, after=after, calls=tuple(calls), reboot=reboot)


def _hidden(shown: dict[str, t.Any], instead: str) -> dict[str, t.Any]:
    return {key: value if key in _OPEN or value is None else instead for key, value in shown.items()}


def _without_users(value: t.Any, instead: str = BLANK) -> t.Any:
    """Return a value without the users and passwords in its URLs."""
    return each_text(value, lambda text: redact_users(text, instead))


def _difference(resource: Resource, key: str, before: t.Any, after: t.Any) -> str:
    label = key.replace("_", " ")
    texts = _text(_without_users(before)), _text(_without_users(after))
    hidden = (resource.no_log and key not in _OPEN) or texts[0] == texts[1]
    if hidden or max(map(len, texts)) > 80 or any("\n" in text for text in texts):
        return f"{label} differs"
    return f"{label} is {texts[0]}, expected {texts[1]}"


def _text(value: t.Any) -> str:
    if value is None:
        return "not set"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, tuple)):
        return ", ".join(map(_text, value)) or "empty"
    if isinstance(value, t.Mapping):
        return ", ".join(f"{key}={_text(item)}" for key, item in value.items()) or "empty"
    return str(value) or "empty"
