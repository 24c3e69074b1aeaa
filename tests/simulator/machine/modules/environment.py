# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Simulate Ansible's win_path and win_environment, which set environment variables of a machine, user or process."""

from __future__ import annotations

import re
from typing import Any

from simulator.machine.machine import ENVIRONMENT
from simulator.machine.modules.arguments import ArgumentError, ModuleArguments
from simulator.machine.session import Session

_KEYS = {"machine": ENVIRONMENT, "user": r"HKCU:\Environment"}
_ELEMENTS = re.compile(r'(?P<q>\s*"[^"]+"\s*|[^;]+)(?:;$|$|;)')


def _choice(arguments: ModuleArguments, name: str, *known: str, default: str | None = None) -> str:
    value = arguments.text(name, default=default)
    found = next((choice for choice in known if choice.casefold() == value.casefold()), None)
    if found is None:
        raise ArgumentError(f"value of {name} must be one of: {', '.join(known)}. Got no match for: {value}")
    return found


def path(session: Session, arguments: ModuleArguments) -> dict[str, Any]:
    """Add elements to an environment variable such as PATH, or remove elements from it (win_path)."""
    name = arguments.text("name", default="PATH")
    given = arguments.raw("elements")
    if given is None:
        raise ArgumentError("missing required arguments: elements")
    elements = [str(item) for item in (given if isinstance(given, list) else str(given).split(","))]
    state = _choice(arguments, "state", "absent", "present", default="present")
    key = _KEYS[_choice(arguments, "scope", "machine", "user", default="machine")]
    registry = session.machine.registry
    found = [match["q"] for match in _ELEMENTS.finditer(str(registry.data(key, name, "")))]
    answer: dict[str, Any] = {}
    if state == "absent":
        changed = False
        for element in elements:
            place = _place(found, element)
            answer["removed_idx"] = place
            if place >= 0:
                found.pop(place)
                changed = True
    else:
        changed = _add(found, elements)
    value = ";".join(found)
    if changed and not arguments.check_mode:
        registry.set(key, name, value, "ExpandString")
    return {"changed": changed, "path_value": value, **answer}


def _place(found: list[str], element: str) -> int:
    def plain(text: str) -> str:
        return text.strip('"').strip("\\").casefold()

    return next((place for place, known in enumerate(found) if plain(known) == plain(element)), -1)


def _add(found: list[str], elements: list[str]) -> bool:
    """Add elements to a list so that it contains them in the given order. Return whether this changes the list.

    A missing element is appended. An element that comes before the one that it should follow is moved to the end.
    """
    last, changed = -1, False
    for element in elements:
        place = _place(found, element)
        if place == -1:
            found.append(element)
            last, changed = len(found) - 1, True
        elif place < last:
            found.pop(place)
            found.append(element)
            last, changed = len(found) - 1, True
        else:
            last = place
    return changed


def variables(session: Session, arguments: ModuleArguments) -> dict[str, Any]:
    """Set or remove environment variables (win_environment)."""
    level = _choice(arguments, "level", "machine", "process", "user")
    state = _choice(arguments, "state", "absent", "present") if arguments.raw("state") is not None else ""
    requested = arguments.raw("variables")
    if requested is None:
        requested = {arguments.text("name"): arguments.raw("value")}
    elif any(arguments.raw(other) is not None for other in ("name", "value", "state")):
        raise ArgumentError("parameters are mutually exclusive: variables, name")
    answer: dict[str, Any] = {"changed": False, "values": {}, "warnings": []}
    for name, value in requested.items():
        text = "" if value is None else str(value)
        if state == "absent" and text:
            answer["warnings"].append(
                f"When removing environment variable '{name}' it should not have a value '{text}' set"
            )
            text = ""
        if state == "present" and not text:
            raise ArgumentError(
                "When state=present, value must be defined and not an empty string, if you wish to remove the envvar, "
                "set state=absent"
            )
        before = _read(session, level, str(name))
        present = (state or ("present" if text else "absent")) == "present"
        changed = before != text if present else before is not None
        if changed and not arguments.check_mode:
            _write(session, level, str(name), text if present else None)
        answer["values"][name] = {"before": before, "after": text, "changed": changed}
        answer |= {"changed": answer["changed"] or changed, "before_value": before, "value": text}
    return answer


def _read(session: Session, level: str, name: str) -> str | None:
    if level == "process":
        return session.variable(name) or None
    data = session.machine.registry.data(_KEYS[level], name)
    return None if data is None else session.machine.expand(str(data))


def _write(session: Session, level: str, name: str, value: str | None) -> None:
    if level == "process":
        known = next((key for key in session.environment if key.casefold() == name.casefold()), name)
        session.environment.pop(known, None)
        if value is not None:
            session.environment[known] = value
    elif value is None:
        session.machine.registry.delete(_KEYS[level], name)
    else:
        # [Environment]::SetEnvironmentVariable writes REG_SZ.
        session.machine.registry.set(_KEYS[level], name, value, "String")
