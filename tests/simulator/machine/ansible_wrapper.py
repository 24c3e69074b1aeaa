# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Parse the input of Ansible's bootstrap wrapper (ansible-core 2.19 and later, lib/ansible/executor/powershell).

The input of `bootstrap_wrapper.ps1` is a JSON document `{name, script, params}`, a line of four NULs, and the input of
`exec_wrapper.ps1`: a manifest of scripts (base64) and actions, another line of four NULs, and the input of the first
action. The simulator does not run these scripts but simulates their effects. It recognizes the bootstrap wrapper by
parts of its text, and the other scripts by their names.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

SEPARATOR = "\0\0\0\0"
_MARKS = ("$codeJson = foreach ($in in $", "$code.script")
"""Two pieces of code that every version of the bootstrap wrapper contains, by which it is recognized."""


class ManifestError(ValueError):
    """Raised if the input of the bootstrap wrapper is not what Ansible sends. The message contains the reason."""


@dataclass(frozen=True)
class Action:
    """One action of a manifest: the name of a script and its parameters."""

    name: str
    parameters: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class WrapperManifest:
    """The parsed input of Ansible's bootstrap wrapper.

    Args:
        scripts: the text of each script, by the script's name.
        actions: the actions in the order in which they start. Each action wraps the actions after it.
        input: the lines that the first action reads.
        min_os, min_powershell: the oldest versions that the module supports, or an empty string for any version.
    """

    scripts: Mapping[str, str]
    actions: tuple[Action, ...]
    input: tuple[str, ...] = ()
    min_os: str = ""
    min_powershell: str = ""


def is_bootstrap(script: str) -> bool:
    """Return whether a script is Ansible's bootstrap wrapper."""
    return all(mark in script for mark in _MARKS)


def read(lines: list[str]) -> WrapperManifest:
    """Parse the input lines of the bootstrap wrapper.

    Raises:
        ManifestError: the input is not what Ansible sends.
    """
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
        raise ManifestError(f"expected the wrapper's script to be exec_wrapper, got {bootstrap.get('name')!r}")
    params = bootstrap.get("params") or {}
    scripts = {name: _script(name, entry) for name, entry in document.get("scripts", {}).items()}
    actions = tuple(Action(entry["name"], entry.get("params") or {}) for entry in document.get("actions", []))
    if not actions:
        raise ManifestError("the manifest has no actions")
    if missing := [action.name for action in actions if action.name not in scripts]:
        raise ManifestError(f"failure during exec_wrapper: Could not find the script '{missing[0]}'.")
    return WrapperManifest(
        scripts,
        actions,
        tuple(parts[2]) if len(parts) > 2 else (),
        str(params.get("MinOSVersion") or ""),
        str(params.get("MinPSVersion") or ""),
    )


def _json(text: str) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except ValueError as error:
        raise ManifestError(f"the wrapper's input is not valid JSON: {error}") from None
    if not isinstance(found, dict):
        raise ManifestError("the wrapper's input is not a JSON object")
    return found


def _script(name: str, entry: Mapping[str, Any]) -> str:
    try:
        return base64.b64decode(entry["script"], validate=True).decode("utf-8-sig")
    except (KeyError, ValueError) as error:
        raise ManifestError(f"the script '{name}' is not valid base64: {error}") from None
