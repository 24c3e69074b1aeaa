# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Checks whether a version of the kubelet or kube-proxy accepts a configuration (data/kubernetes_configuration.json).

Both programs refuse to start if a value has the wrong type, if a feature gate is unknown, or if a locked feature gate
differs from its default. For an unknown field, they only log a warning, so a misspelled setting has no effect. Source:
kubernetes/kubernetes, cmd/kube-proxy/app/options.go and pkg/kubelet/kubeletconfig/util/codec.
"""

from __future__ import annotations

import dataclasses
import difflib
import functools
import json
import re
import types
import typing as t

from ..specification.convert import is_true
from ..values.versions import DATA, Version, numbers

Kind = t.Literal["KubeletConfiguration", "KubeProxyConfiguration"]
GATES = "featureGates"
DURATION = re.compile(r"0|[+-]?((\d+(\.\d*)?|\.\d+)(ns|us|µs|ms|s|m|h))+")
"""Pattern of a Go duration. Source: pkg.go.dev/time (ParseDuration)."""


class Objection(t.NamedTuple):
    """A value that the kubelet or kube-proxy does not accept in its configuration."""

    path: str
    """Path of the field, such as `evictionHard.pid.available`."""
    value: object
    expected: str
    hint: str = ""


@dataclasses.dataclass
class _Field:
    """A field of a configuration, with the fields below it."""

    kind: str = ""
    """The type of a scalar, such as `int32`; empty for an object or a list."""
    children: dict[str, _Field] = dataclasses.field(default_factory=dict)
    """The fields below this field, by name. `*` stands for any name, and `[]` for the items of a list."""


def objections(kind: Kind, document: t.Mapping[str, t.Any], version: str) -> list[Objection]:
    """Return the values and fields of a configuration that a version of the kubelet or kube-proxy does not accept.

    Args:
        kind: the kind of configuration.
        document: the configuration, or a part of it.
        version: version of Kubernetes, such as 1.36.2.

    Raises:
        ValueError: the version is malformed.
    """
    minor = Version.parse(version).minor_version
    own = {key: value for key, value in document.items() if key not in ("apiVersion", "kind")}
    refused = list(_object(own, _tree(kind, minor), "", f"{kind} in Kubernetes {minor}", is_open=_is_newer(minor)))
    gates = document.get(GATES)
    return [*refused, *gate_objections(gates, version)] if isinstance(gates, t.Mapping) else refused


def gate_objections(gates: t.Mapping[str, t.Any], version: str, path: str = GATES) -> list[Objection]:
    """Return the feature gates that a version of Kubernetes does not have, or has locked to another value.

    Args:
        gates: maps the name of each feature gate to whether the gate is enabled.
        version: version of Kubernetes.
        path: path of the field that contains the gates, for messages.

    Raises:
        ValueError: the version is malformed.
    """
    minor = Version.parse(version).minor_version
    refused = []
    for name, value in gates.items():
        states = _gate(name, minor)
        if not states and not _is_newer(minor):
            close = difflib.get_close_matches(str(name), _data()["feature_gates"], n=1)
            hint = f"Did you mean {close[0]}?" if close and _gate(close[0], minor) else _gate_history(name)
            refused.append(Objection(f"{path}.{name}", value, f"expected a feature gate of Kubernetes {minor}", hint))
        elif states and all(locked and default != is_true(value) for default, locked in states):
            default = str(states[0][0]).lower()
            hint = f"Kubernetes {minor} does not allow this feature gate to be changed. Delete it."
            refused.append(Objection(f"{path}.{name}", value, f"expected {default}", hint))
    return refused


def _gate(name: str, minor: str) -> list[tuple[bool, bool]]:
    """Return a feature gate's default, and whether it is locked, in each of the versions that `_recorded` returns."""
    spans = _data()["feature_gates"].get(name, ())
    return [
        (bool(default), bool(locked))
        for recorded in _recorded(minor)
        for span, default, locked in spans
        if _includes(span, recorded)
    ]


def _gate_history(name: str) -> str:
    """Return a sentence that says which Kubernetes versions have a feature gate, or an empty string if none has it."""
    spans = _data()["feature_gates"].get(name, ())
    periods: list[list[str]] = []
    previous = False
    for minor in _measured():
        exists = any(_includes(span, minor) for span, dummy, dummy2 in spans)
        if exists and previous:
            periods[-1].append(minor)
        elif exists:
            periods.append([minor])
        previous = exists
    texts = [one[0] if len(one) == 1 else f"{one[0]} to {one[-1]}" for one in periods]
    return f"It exists in Kubernetes {' and '.join(texts)}." if texts else ""


def _object(
    value: t.Mapping[str, t.Any], field: _Field, path: str, what: str, *, is_open: bool
) -> t.Iterator[Objection]:
    for name, inner in value.items():
        place = f"{path}.{name}" if path else str(name)
        child = field.children.get(str(name)) or field.children.get("*")
        if child is not None:
            yield from _value(inner, child, place, what, is_open=is_open)
        elif not is_open:
            close = difflib.get_close_matches(str(name), field.children, n=1)
            hint = f"Did you mean {close[0]}?" if close else ""
            yield Objection(place, inner, f"expected a field of {what}", hint)


def _value(value: object, field: _Field, path: str, what: str, *, is_open: bool) -> t.Iterator[Objection]:
    if value is None:
        return
    items = field.children.get("[]")
    if field.kind:
        type_ = field.kind.rstrip("0123456789")
        if type_ in _FITS and not _FITS[type_](value):
            yield Objection(path, value, f"expected {_EXPECTED[type_]}")
    elif items is not None:
        if not isinstance(value, (list, tuple)):
            yield Objection(path, value, "expected a list")
            return
        for index, item in enumerate(value):
            yield from _value(item, items, f"{path}[{index}]", what, is_open=is_open)
    elif isinstance(value, t.Mapping):
        yield from _object(value, field, path, what, is_open=is_open)
    elif "Duration" not in field.children:  # logging.flushFrequency may also be a number or a string
        yield Objection(path, value, "expected a mapping")


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


_FITS: t.Mapping[str, t.Callable[[object], bool]] = types.MappingProxyType(
    {
        "string": lambda value: isinstance(value, str),
        "bool": lambda value: isinstance(value, bool),
        "int": _is_whole,
        "uint": lambda value: _is_whole(value) and t.cast("int", value) >= 0,
        "float": lambda value: isinstance(value, float) or _is_whole(value),
        "duration": lambda value: isinstance(value, str) and bool(DURATION.fullmatch(value)),
    }
)
"""Maps types of fields to functions that return whether a value has the type. Types that are missing here are not
checked, because they accept several forms."""
_EXPECTED: t.Mapping[str, str] = types.MappingProxyType(
    {
        "string": "a string in quotes",
        "bool": "true or false",
        "int": "a whole number",
        "uint": "a whole number that is not negative",
        "float": "a number",
        "duration": "a duration such as 5m0s",
    }
)


@functools.cache
def _data() -> t.Mapping[str, t.Any]:
    text = (DATA / "kubernetes_configuration.json").read_text(encoding="utf-8")
    return t.cast("t.Mapping[str, t.Any]", json.loads(text))


@functools.cache
def _measured() -> tuple[str, ...]:
    return tuple(sorted(_data()["measured"], key=numbers))


@functools.cache
def _tree(kind: str, minor: str) -> _Field:
    """Return the fields that a kind of configuration has in a version of Kubernetes."""
    root = _Field()
    recorded = _recorded(minor)
    for path, about in _data()[kind].items():
        type_, span = (about, "all") if isinstance(about, str) else about
        if not any(_includes(span, one) for one in recorded):
            continue
        field = root
        for name in path.replace("[]", ".[]").split("."):
            field = field.children.setdefault(name, _Field())
        field.kind = type_
    return root


def _recorded(minor: str) -> tuple[str, ...]:
    """Return the version itself if it is recorded, or else the nearest older and newer recorded versions."""
    if minor in _measured():
        return (minor,)
    older = [one for one in _measured() if numbers(one) < numbers(minor)]
    newer = [one for one in _measured() if numbers(one) > numbers(minor)]
    return (*older[-1:], *newer[:1])


def _is_newer(minor: str) -> bool:
    """Return whether a version is newer than all recorded versions, and may thus have more fields and gates."""
    return numbers(minor) > numbers(_measured()[-1])


def _includes(span: str, minor: str) -> bool:
    """Return whether a span such as `all`, `1.30-1.33` or `1.32,1.34-1.37` includes a version."""
    if span == "all":
        return True
    bounds = (part.partition("-") for part in span.split(","))
    return any(numbers(first) <= numbers(minor) <= numbers(last or first) for first, dummy, last in bounds)
