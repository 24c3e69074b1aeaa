# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Hand-written results of a node for tests of resources: what their observe calls would return over the wire."""

from __future__ import annotations

import functools
import hashlib
import json
import typing as t
from pathlib import Path

from unit.change_texts import Plan

from ansible_collections.winkube.node.plugins.plugin_utils.engine.resource import Change, Resource
from ansible_collections.winkube.node.plugins.plugin_utils.resources.load import load
from ansible_collections.winkube.node.plugins.plugin_utils.values.errors import ResourceError
from ansible_collections.winkube.node.plugins.plugin_utils.windows.windows_info import WindowsInfo
from ansible_collections.winkube.node.plugins.plugin_utils.wire.messages import Call, CallResult

PLANS: list[Plan] = []
"""All plans of the running test, which a golden file also contains."""
SERVER_2022 = WindowsInfo(
    build=20348,
    ubr=2700,
    product="Windows Server 2022 Datacenter",
    installation="Server Core",
    computer_name="WIN-1",
    active_computer_name="WIN-1",
    pending_reboot=(),
)
"""The default version of Windows for plans of tests."""
_CMDLETS = Path(__file__).resolve().parents[1] / "simulator" / "contracts" / "cmdlets.json"
_COMMON = {"WarningAction", "ErrorAction", "Confirm"}


def one(**properties: t.Any) -> t.Any:
    """Return the single resource with these properties, loaded as from YAML."""
    try:
        (resource,) = load([properties])
    except ResourceError as error:
        PLANS.append(Plan(None, error))
        raise
    return resource


def answer(*output: t.Any, **more: t.Any) -> CallResult:
    """Return the result of a call that succeeded."""
    return CallResult.from_wire({"ok": True, "output": list(output), **more})


def failure(category: str, error_id: str, message: str = "no") -> CallResult:
    """Return the result of a call that failed."""
    return CallResult.from_wire({"ok": False, "error": {"category": category, "id": error_id, "message": message}})


MISSING = failure("ObjectNotFound", "NoServiceFoundForGivenName,Microsoft.PowerShell.Commands.GetServiceCommand")
NO_COMMAND = failure("ObjectNotFound", "CommandNotFoundException")


def planned(resource: Resource, windows: WindowsInfo = SERVER_2022, **seen: CallResult) -> Change | None:
    """Return the plan for these results, one for each observe call of the resource; None if nothing differs."""
    assert {call.id for call in resource.observe()} == set(seen)
    for call in resource.observe():
        assert call.on_error == "continue"
        documented(call)
    try:
        change = resource.plan(seen, windows)
    except ResourceError as error:
        PLANS.append(Plan(resource, error))
        raise
    PLANS.append(Plan(resource, change))
    if change is not None:
        check(change)
    return change


def must(resource: Resource, windows: WindowsInfo = SERVER_2022, **seen: CallResult) -> Change:
    """Return the planned change for these results."""
    change = planned(resource, windows, **seen)
    assert change is not None
    return change


def check(change: Change) -> None:
    """Check the rules for all changes."""
    assert change.why
    assert "\n" not in change.why
    assert set(change.before) == set(change.after)
    assert change.before != change.after
    ids = [call.id for call in change.calls]
    assert len(ids) == len(set(ids))
    for position, call in enumerate(change.calls):
        sources = [*call.needs, *(call.input.calls if call.input else ())]
        assert set(sources) <= set(ids[:position])
        documented(call)
    assert {name.lower() for name in stopped(change.calls)} == {one.service.lower() for one in change.interruptions}
    assert {one.start for one in change.interruptions} <= {None, *ids}


def stopped(calls: t.Sequence[Call]) -> t.Iterator[str]:
    """Yield the names of the services that calls stop, restart or delete."""
    by_id = {call.id: call for call in calls}
    for call in calls:
        if call.command in ("Stop-Service", "Restart-Service", "Suspend-Service"):
            for source in (call, *(by_id[name] for name in (call.input.calls if call.input else ()))):
                yield from t.cast("list[str]", source.parameters.get("Name") or [])
        elif call.command == "sc.exe" and call.arguments[0] in ("stop", "delete", "pause"):
            yield call.arguments[1]


@functools.cache
def _cmdlets() -> t.Mapping[str, t.Any]:
    """Return the cmdlets in Microsoft's reference (the README in its folder names the source)."""
    return t.cast("t.Mapping[str, t.Any]", json.loads(_CMDLETS.read_text(encoding="utf-8")))


def documented(call: Call) -> None:
    """Check that a cmdlet gets only parameters and values that Microsoft documents, by their full names."""
    if call.command.startswith("@") or call.command.endswith(".exe") or call.command == "Get-MpPreference":
        return
    known = _cmdlets()[call.command]["parameters"]
    bound = {call.input.parameter} if call.input and call.input.parameter else set()
    assert {*call.parameters, *bound} <= {*known, *_COMMON}
    for name, value in call.parameters.items():
        values = {str(allowed) for allowed in known.get(name, {}).get("values") or ()}
        given = value if isinstance(value, list) else str(value).split(", ")
        assert not values or {str(item) for item in given} <= values


def commands(change: Change) -> list[str]:
    return [call.command for call in change.calls]


def call(change: Change, call_id: str) -> Call:
    (found,) = [call for call in change.calls if call.id == call_id]
    return found


def file(path: str, content: str | bytes | None = None, **more: t.Any) -> dict[str, t.Any]:
    """Return @read-file's result for a file; for a missing file if there is no content."""
    if content is None:
        return {"path": path, "exists": False, "type": None, "sha256": None, "content": None, "sddl": None, **more}
    data = content.encode() if isinstance(content, str) else content
    return {
        "path": path,
        "exists": True,
        "type": "file",
        "size": len(data),
        "sha256": hashlib.sha256(data).hexdigest(),
        "content": data.decode(errors="replace"),
        "sddl": None,
        **more,
    }
