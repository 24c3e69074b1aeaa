# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The simulated win_updates module, which the action plugin of the same name runs several times.

The plugin requests the operations `start`, `poll` (repeatedly) and `cancel`, in this order. For an async task, it
requests only `start` with `wait`: the module then waits for the end of the session, and returns its result in the form
of win_updates versions that had no action plugin.
"""

from __future__ import annotations

import uuid
from typing import Any

from simulator.machine.modules.arguments import ArgumentError, ModuleArguments
from simulator.machine.objects import ProcessEndedError
from simulator.machine.session import Session
from simulator.windows.updates import update_session
from simulator.windows.updates.update_install import scale
from simulator.windows.updates.update_session import SUCCEEDED, UpdateRequest, UpdateSession

_PIPE = "Ansible.Windows.WinUpdates-"
_STATES = ("installed", "searched", "downloaded")
_SELECTIONS = ("default", "managed_server", "windows_update")
# How long the module waits, in simulated seconds.
_CONNECT = 300.0  # for a pipe that does not exist yet
_NEXT = 1.0  # for another line
_END = 10.0  # for the end of the session
_INTERVAL = 0.1


def run(session: Session, arguments: ModuleArguments) -> dict[str, Any]:
    """Depending on the operation, start an update session in the background, return its messages, or end it."""
    operation = arguments.text("_operation", default="start")
    options = arguments.raw("_operation_options", {})
    work = {"start": _start, "poll": _poll, "cancel": _cancel}.get(operation)
    if work is None:
        raise ArgumentError(f"value of _operation must be one of: start, cancel, poll. Got no match for: {operation}")
    return {"changed": False, **work(session, arguments, options), "invocation": {"module_args": _given(arguments)}}


def _given(arguments: ModuleArguments) -> dict[str, Any]:
    names = ("accept_list", "category_names", "reject_list", "server_selection", "skip_optional", "state", "log_path")
    return {name: arguments.raw(name) for name in names}


def _choice(arguments: ModuleArguments, name: str, choices: tuple[str, ...]) -> str:
    value = arguments.text(name, default=choices[0])
    if value not in choices:
        raise ArgumentError(f"value of {name} must be one of: {', '.join(choices)}. Got no match for: {value}")
    return value


def _names(arguments: ModuleArguments, name: str, default: tuple[str, ...] = ()) -> tuple[str, ...]:
    value = arguments.raw(name)
    if value is None:
        return default
    return tuple(str(item) for item in (value if isinstance(value, list) else str(value).split(",")))


def _request(arguments: ModuleArguments) -> UpdateRequest:
    selection: Any = _choice(arguments, "server_selection", _SELECTIONS)
    return UpdateRequest(
        state=_choice(arguments, "state", _STATES),
        accept=_names(arguments, "accept_list"),
        reject=_names(arguments, "reject_list"),
        categories=_names(arguments, "category_names", UpdateRequest.categories),
        selection=selection,
        check_mode=arguments.check_mode,
    )


def _start(session: Session, arguments: ModuleArguments, options: dict[str, Any]) -> dict[str, Any]:
    identity = str(uuid.uuid4())
    name = f"{_PIPE}{identity}"
    started = update_session.start(session.machine, name, session.user, _request(arguments))
    # The module itself reads the line `started`.
    _next(session, started, None)
    if options.get("wait"):
        return _wait(session, started)
    return {
        "cancel_options": {"cancel_id": f"Global\\{name}", "task_pid": started.process.id},
        "poll_options": {"pipe_name": name},
    }


def _next(session: Session, updates: UpdateSession, timeout: float | None) -> dict[str, Any] | None:
    """Return the next message of an update session, or None after `timeout` real seconds.

    If `timeout` is None, there is no time limit.

    Raises:
        ProcessEndedError: the simulated process was stopped.
        ArgumentError: the session ended without a result.
    """
    left = float("inf") if timeout is None else timeout
    while True:
        line = updates.pipe.read(min(_INTERVAL, left))
        session.process.check()
        left -= _INTERVAL
        if line is not None or left <= 0:
            return line
        if not updates.process.alive:
            raise ArgumentError(
                "Unknown failure running win_updates bootstrap process, see rc/stdout/stderr for more info"
            )


def _poll(session: Session, arguments: ModuleArguments, options: dict[str, Any]) -> dict[str, Any]:
    """Return the session's messages since the last call. Wait for the first message, and briefly for the others."""
    updates = update_session.find(session.machine, str(options.get("pipe_name")))
    if updates is None:
        session.process.sleep(scale(session.machine, _CONNECT))
        raise ArgumentError("Timed out waiting for server pipe to be available")
    output: list[dict[str, Any]] = []
    timeout: float | None = None
    while (line := _next(session, updates, timeout)) is not None:
        output.append(line)
        if line["task"] == "exit":
            break
        timeout = max(0.02, scale(session.machine, _NEXT))
    return {"output": output}


def _cancel(session: Session, arguments: ModuleArguments, options: dict[str, Any]) -> dict[str, Any]:
    name = str(options.get("cancel_id", "")).removeprefix("Global\\")
    updates = update_session.find(session.machine, name)
    if updates is not None:
        _end(session, updates)
    return {}


def _end(session: Session, updates: UpdateSession) -> None:
    updates.pipe.cancelled.set()
    # The process of the session ends. TiWorker continues what it has started.
    session.machine.processes.kill(updates.process)
    updates.process.ended.wait(scale(session.machine, _END))


def _wait(session: Session, updates: UpdateSession) -> dict[str, Any]:
    """Wait until the session ends, and return its result as win_updates did before it had an action plugin."""
    found: dict[str, dict[str, Any]] = {}
    answer: dict[str, Any] = {"reboot_required": False, "rebooted": False}
    try:
        while (line := _next(session, updates, None)) is not None:
            _take(found, line)
            if line["task"] == "exit":
                answer |= _ending(line["result"])
                break
    except ProcessEndedError:
        updates.pipe.cancelled.set()
        raise
    _end(session, updates)
    taken = {name: info for name, info in found.items() if "filtered_reasons" not in info}
    failed = [info for info in taken.values() if "failure_hresult_code" in info]
    return answer | {
        "found_update_count": len(taken),
        "failed_update_count": len(failed),
        "installed_update_count": len([info for info in taken.values() if info["installed"] and info not in failed]),
        "updates": taken,
        "filtered_updates": {name: info for name, info in found.items() if "filtered_reasons" in info},
    }


def _take(found: dict[str, dict[str, Any]], line: dict[str, Any]) -> None:
    """Add the information from one message of an update session to `found`, which maps ids to updates."""
    task, result = line["task"], line["result"]
    if task == "search_result":
        why = {entry["id"]: entry["reasons"] for entry in result["filtered"]}
        for update in result["updates"]:
            info = {
                "categories": update["categories"],
                "id": update["id"],
                "installed": False,
                "downloaded": False,
                "kb": [kb.removeprefix("KB") for kb in update["kb"]],
                "title": update["title"],
            }
            found[update["id"]] = info | ({"filtered_reasons": why[info["id"]]} if info["id"] in why else {})
    elif task in ("download_result", "install_result"):
        for entry in result["info"]:
            info = found[entry["id"]]
            if entry["result_code"] == SUCCEEDED:
                info["downloaded" if task == "download_result" else "installed"] = True
            else:
                info["failure_hresult_code"] = entry["hresult"]


def _ending(result: dict[str, Any]) -> dict[str, Any]:
    answer = {"changed": result["changed"], "reboot_required": result["reboot_required"], "failed": result["failed"]}
    if result["exception"]:
        answer |= {"msg": result["exception"]["message"], "exception": result["exception"]["exception"]}
        if "hresult" in result["exception"]:
            answer["hresult"] = result["exception"]["hresult"]
    return answer
