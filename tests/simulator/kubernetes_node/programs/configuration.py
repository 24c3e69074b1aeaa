# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Check the fields of Kubernetes configuration objects against contracts/kubernetes.json.

A value of a wrong type raises an error. Unknown fields are returned, because only some programs reject them
(`strict_error`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from simulator.kubernetes_node.programs import contracts
from simulator.kubernetes_node.programs.flags import DURATION


class ConfigurationError(Exception):
    """Raised if the program rejects a configuration. The exception's message is the program's."""


def check(document: Mapping[str, Any], kind: str, version: str) -> list[str]:
    """Check the fields of a document of the given kind (`apiVersion Kind`) for a version of Kubernetes.

    Returns:
        The paths of unknown fields, in document order.

    Raises:
        ConfigurationError: a value has the wrong type or is an invalid duration. The message is that of Go's json
            or time package.
    """
    known = contracts.fields(kind, version)
    unknown: list[str] = []
    _walk(document, "", "", known, unknown, kind.rpartition(" ")[2])
    return unknown


def strict_error(unknown: list[str]) -> str:
    """Return the message of a strict decoding error, which lists the paths of unknown fields."""
    return "strict decoding error: " + ", ".join(f'unknown field "{path}"' for path in unknown)


def gates(requested: Mapping[str, object], version: str) -> dict[str, bool]:
    """Return the values of all feature gates: the defaults, overridden by the requested values.

    Raises:
        ConfigurationError: a gate is unknown or is locked to a different value. The message is that of Kubernetes'
            component-base.
    """
    known = contracts.feature_gates(version)
    found = {name: default for name, (default, _) in known.items()}
    for name, value in requested.items():
        if name not in known:
            raise ConfigurationError(f"unrecognized feature gate: {name}")
        on = value if isinstance(value, bool) else str(value).lower() in ("true", "t", "1")
        default, locked = known[name]
        if locked and on != default:
            text = str(on).lower()
            raise ConfigurationError(
                f"cannot set feature gate {name} to {text}, feature is locked to {str(default).lower()}"
            )
        found[name] = on
    return found


def _walk(value: object, pattern: str, path: str, known: Mapping[str, str], unknown: list[str], kind: str) -> None:
    if value is None:
        return
    if isinstance(value, Mapping) and not known.get(pattern):
        for name, child in value.items():
            step = _child(pattern, str(name), known)
            here = f"{path}.{name}" if path else str(name)
            if step is None:
                unknown.append(here)
            else:
                _walk(child, step, here, known, unknown, kind)
    elif isinstance(value, list) and any(key == f"{pattern}[]" or key.startswith(f"{pattern}[].") for key in known):
        for index, child in enumerate(value):
            _walk(child, f"{pattern}[]", f"{path}[{index}]", known, unknown, kind)
    else:
        _scalar(value, pattern, path, known, kind)


def _child(pattern: str, name: str, known: Mapping[str, str]) -> str | None:
    prefix = f"{pattern}." if pattern else ""
    for step in (f"{prefix}{name}", f"{prefix}*"):
        if step in known or any(key.startswith((f"{step}.", f"{step}[]")) for key in known):
            return step
    return None


def _scalar(value: object, pattern: str, path: str, known: Mapping[str, str], kind: str) -> None:
    requested = known.get(pattern)
    what = {bool: "bool", int: "number", float: "number", str: "string", list: "array", dict: "object"}.get(
        type(value), ""
    )
    if requested is None:
        if f"{pattern}.Duration" in known:  # component-base's TimeOrMetaDuration also accepts a number or duration
            return
        expected = "slice" if any(key.startswith(f"{pattern}[]") for key in known) else "object"
        raise ConfigurationError(_mismatch(what, kind, path, expected))
    whole = requested.removeprefix("u").rstrip("0123456789")
    fits = {
        "string": isinstance(value, str),
        "bool": isinstance(value, bool),
        "int": isinstance(value, int) and not isinstance(value, bool),
        "float": isinstance(value, (int, float)) and not isinstance(value, bool),
        "duration": isinstance(value, str),
        "quantity": isinstance(value, (str, int, float)),
    }.get(whole, True)
    if not fits:
        raise ConfigurationError(_mismatch(what, kind, path, requested))
    if whole == "duration" and isinstance(value, str) and not DURATION.match(value):
        raise ConfigurationError(f'time: invalid duration "{value}"')


def _mismatch(what: str, kind: str, path: str, requested: str) -> str:
    field = re.sub(r"\[\d+\]", "", path)
    return f"json: cannot unmarshal {what} into Go struct field {kind}.{field} of type {requested}"
