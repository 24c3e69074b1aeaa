# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Build the resources for registry values that enable fixes in Windows, from data/windows-registry-fixes.json."""

from __future__ import annotations

import functools
import json
import typing as t

from ..values.versions import DATA

_KINDS = {"dword": "DWord"}


@functools.cache
def fixes() -> tuple[t.Mapping[str, t.Any], ...]:
    """Return the entries of data/windows-registry-fixes.json. Each describes a registry value that enables a fix."""
    data = json.loads((DATA / "windows-registry-fixes.json").read_text(encoding="utf-8"))
    return tuple(data["entries"])


def resources(supported: t.Container[str]) -> list[dict[str, t.Any]]:
    """Return the Registry resources that enable the fixes for the given versions of Windows.

    Args:
        supported: versions of Windows, such as `2022`. Registry values for other versions are left out.
    """
    merged: dict[tuple[str, str, t.Any], dict[str, t.Any]] = {}
    for entry in fixes():
        if entry["os"] != "*" and entry["os"] not in supported:
            continue
        key = (entry["path"], entry["name"], entry["value"])
        resource = merged.setdefault(
            key,
            {
                "type": "Registry",
                "key": entry["path"],
                "value_name": entry["name"],
                "value": entry["value"],
                "value_type": _KINDS[entry["type"]],
                "windows": [],
            },
        )
        resource["windows"].append(entry["os"])
    result = []
    for (path, name, value), resource in merged.items():
        everywhere = "*" in resource["windows"]
        alone = sum(1 for other in merged if other[:2] == (path, name)) == 1
        label = f"{path}\\{name}" if alone else f"{path}\\{name} = {value}"
        result.append({**resource, "name": label, "windows": [] if everywhere else resource["windows"]})
    return result
