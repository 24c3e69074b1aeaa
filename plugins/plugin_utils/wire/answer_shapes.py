# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Check whether the output objects of a node's calls have the form that docs/wire.md specifies (no I/O)."""

from __future__ import annotations

import typing as t

from . import typed_values
from .messages import Call, CallResult

_Check = t.Callable[[object, str], object]


def _or_null(check: _Check) -> _Check:
    return lambda value, where: None if value is None else check(value, where)


_TEXT, _WHOLE, _TRUTH = typed_values.text, _or_null(typed_values.whole), _or_null(typed_values.truth)

_VERBS: t.Mapping[str, t.Mapping[str, _Check]] = {
    "@read-file": {
        "path": _TEXT,
        "exists": _TRUTH,
        "type": _TEXT,
        "size": _WHOLE,
        "sha256": _TEXT,
        "content": _TEXT,
        "sddl": _TEXT,
        "modified": _TEXT,
    },
    "@read-registry": {"path": _TEXT, "name": _TEXT, "exists": _TRUTH, "key_exists": _TRUTH, "kind": _TEXT},
    "@write-file": {"path": _TEXT, "sha256": _TEXT, "size": _WHOLE},
    "@commit-file": {"destination": _TEXT, "sha256": _TEXT, "size": _WHOLE, "algorithm": _TEXT, "expected": _TEXT},
    "@copy-file": {"path": _TEXT, "size": _WHOLE, "copied": _WHOLE, "error": _TEXT},
    "@free-space": {"free": _WHOLE, "total": _WHOLE},
    "@wait-port": {"open": _TRUTH},
    "@port-pools": {"reserved": _WHOLE, "ranges": typed_values.items},
    "@move-path": {"path": _TEXT, "destination": _TEXT},
}
"""Maps verbs to the checks of the properties of their output objects. A property that is null or missing passes its
check."""
_FOR_EACH = {"@read-file": "paths", "@read-registry": "values", "@copy-file": "files"}
"""Maps each verb that returns one object per item of a parameter, in the same order, to that parameter's name."""
_READ_LIMIT = 65536


def checked_output(call: Call, result: CallResult, where: str) -> tuple[t.Any, ...]:
    """Return the checked output objects of a call. Missing properties are added as None.

    The objects of a call that failed or was skipped, and of a cmdlet without `select`, are returned unchecked.

    Args:
        call: the call.
        result: the result of the call.
        where: name of the output in error messages.

    Raises:
        BadAnswer: an object has an unexpected form, content is longer than the call allows, or the number of objects
            differs from the number of items in the call.
    """
    output = result.output
    if result.skipped is not None or not result.ok:
        return output
    requested = call.parameters.get(_FOR_EACH.get(call.command, ""))
    if (
        isinstance(requested, (list, tuple))
        and call.input is None
        and call.select != ()
        and len(output) != len(requested)
    ):
        raise typed_values.BadAnswer(f"{where}: expected one object per item ({len(requested)}), got {len(output)}")
    verb = _VERBS.get(call.command)
    if verb is None and not call.select:
        return output
    shape = {name: check for name, check in (verb or {}).items() if call.select is None or name in call.select}
    names = shape if call.select is None else call.select
    checked = tuple(_object(item, shape, names, where) for item in output)
    if call.command == "@read-file":
        _check_contents(call, checked, where)
    return checked


def _object(item: object, shape: t.Mapping[str, _Check], names: t.Iterable[str], where: str) -> t.Mapping[str, t.Any]:
    properties = {**dict.fromkeys(names), **typed_values.mapping(item, where)}
    for name, check in shape.items():
        if properties[name] is not None:
            check(properties[name], f"{where}.{name}")
    return properties


def _check_contents(call: Call, output: t.Iterable[t.Mapping[str, t.Any]], where: str) -> None:
    """Reject file content that is longer than the call allows. In base64, three bytes become four characters."""
    limit = t.cast("int", call.parameters.get("limit", _READ_LIMIT))
    longest = -(-limit // 3) * 4 if call.parameters.get("encoding") == "base64" else limit
    for item in output:
        if len(item.get("content") or "") > longest:
            raise typed_values.BadAnswer(f"{where}.content: expected at most {longest} characters")
