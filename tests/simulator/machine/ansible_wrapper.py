# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Ansible's bootstrap wrapper (ansible-core 2.19 and later, lib/ansible/executor/powershell): reading what it was sent.

`bootstrap_wrapper.ps1` gets on its input a JSON document `{name, script, params}`, a line of four NULs, and then what
`exec_wrapper.ps1` reads: a manifest of scripts (base64) and actions, and after another line of four NULs the input of
the first action. The simulator runs none of these scripts: it does what they do, by their names.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

SEPARATOR = "\0\0\0\0"
_MARKS = ("$codeJson = foreach ($in in $", "$code.script")
"""What the wrapper of every version has: its reading up to the first line of NULs, and that it runs what it read."""


class ManifestError(ValueError):
    """What came is not what Ansible's wrapper sends; the text says what is wrong."""


@dataclass(frozen=True)
class Action:
    """One action of a manifest: a script's name and its parameters."""

    name: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    secure: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Manifest:
    """What is to be done.

    Args:
        scripts: text by name.
        actions: in order; each wraps those that follow.
        input: lines for the first action.
        temp_path: where it may keep temporary files.
        min_os, min_powershell: what the module asks for; empty if nothing.
    """

    scripts: Mapping[str, str]
    actions: tuple[Action, ...]
    input: tuple[str, ...] = ()
    temp_path: str = ""
    min_os: str = ""
    min_powershell: str = ""


def is_bootstrap(script: str) -> bool:
    """Return whether a script is Ansible's bootstrap wrapper."""
    return all(mark in script for mark in _MARKS)


def read(lines: list[str]) -> Manifest:
    """Return the manifest of the wrapper's input lines. Raises ManifestError."""
    parts: list[list[str]] = [[]]
    for line in lines:
        text = line.rstrip("\r\n")
        if text == SEPARATOR:
            parts.append([])
        elif text:
            parts[-1].append(text)
    if len(parts) < 2:
        raise ManifestError("the wrapper's input has no line of four NULs")
    bootstrap, document = (_json("\n".join(part)) for part in parts[:2])
    if bootstrap.get("name") != "exec_wrapper" or "param" not in str(bootstrap.get("script", "")):
        raise ManifestError(f"the wrapper was asked to run {bootstrap.get('name')!r} and not exec_wrapper")
    params = bootstrap.get("params") or {}
    scripts = {name: _script(name, entry) for name, entry in document.get("scripts", {}).items()}
    actions = tuple(
        Action(entry["name"], entry.get("params") or {}, entry.get("secure_params") or {})
        for entry in document.get("actions", [])
    )
    if not actions:
        raise ManifestError("the manifest has no action")
    if missing := [action.name for action in actions if action.name not in scripts]:
        raise ManifestError(f"Could not find the script '{missing[0]}'.")
    return Manifest(
        scripts,
        actions,
        tuple(parts[2]) if len(parts) > 2 else (),
        str(params.get("TempPath") or ""),
        str(params.get("MinOSVersion") or ""),
        str(params.get("MinPSVersion") or ""),
    )


def _json(text: str) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except ValueError as error:
        raise ManifestError(f"the wrapper's input is no JSON: {error}") from None
    if not isinstance(found, dict):
        raise ManifestError("the wrapper's input is no JSON object")
    return found


def _script(name: str, entry: Mapping[str, Any]) -> str:
    try:
        return base64.b64decode(entry["script"], validate=True).decode("utf-8-sig")
    except (KeyError, ValueError) as error:
        raise ManifestError(f"the script '{name}' cannot be read: {error}") from None
