# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The results of the calls that observe the patches of a node."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ansible_collections.winkube.node.plugins.plugin_utils.patches import observe
from ansible_collections.winkube.node.plugins.plugin_utils.windows import windows_info
from ansible_collections.winkube.node.plugins.plugin_utils.wire.messages import CallError, CallResult, Observation


def ok(*output: Any, **more: Any) -> CallResult:
    return CallResult(ok=True, output=output, **more)


def failed(message: str, error_id: str = "Broken") -> CallResult:
    return CallResult(ok=False, error=CallError(id=error_id, message=message))


def value(content: Any) -> dict[str, Any]:
    return {"key_exists": True, "value": content}


WINDOWS = [20348, 2700, "Windows Server 2022 Datacenter", "Server", "a", "a", None]
VERSION = ok(*map(value, WINDOWS), {"key_exists": True}, {"key_exists": False})
QUIET = [{}, {"value": None}, {}, {"value": 3}, {"value": 2}, {}]
FOLDER = observe.FOLDER


def job(**more: Any) -> str:
    return "\ufeff" + json.dumps({"started": 1, **more})


def read(seen: Observation) -> observe.PatchObservation:
    """Read an observation as the session and `observe.read` do together."""
    return observe.read(seen, windows_info.read(seen[windows_info.CALL_ID]))


def seen(**results: CallResult) -> Observation:
    base = {name: ok() for name in ("hotfixes", "packages", "left", "jobs", "shells", "files", "space")}
    calls: Mapping[str, CallResult] = {
        windows_info.CALL_ID: VERSION,
        **base,
        "registry": ok(*QUIET),
        **{name.replace("__", "."): result for name, result in results.items()},
    }
    return Observation(calls=calls)
