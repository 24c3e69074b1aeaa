# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The detached batch that finishes the build of an image, and the calls by which the controller follows it (no I/O).

sysprep resets WinRM and its credentials, so the batch must run without a connection:

1. If the builder, such as Packer, ends the build with a shutdown command, the batch first waits for this command, which
   starts a scheduled task that creates a file.
2. The batch generalizes the machine, and waits until Windows reports success.
3. It removes the machine's identity, prepares the first boot, and writes a file with its result.
4. If there is no shutdown command, it waits until the controller has read this result and the state of the image.
5. It closes WinRM. Last, it shuts the machine down, unless the builder stops it after the play.

If any of these steps fails, the batch stops, and the machine stays on.
"""

from __future__ import annotations

import dataclasses
import json
import typing as t

from ..windows.node_paths import TRUSTED_FOLDER
from ..windows.path_calls import make_closed
from ..windows.sddl import ADMINISTRATORS_ONLY, ADMINISTRATORS_ONLY_FILE
from ..wire.calls import action, query
from ..wire.messages import Call, Input, Json, Observation
from . import sysprep_failures

End = t.Literal["power_off", "leave_running", "shutdown_command"]
"""How the build of an image ends. With `power_off`, the batch powers the machine off. With `leave_running`, the
builder, such as Packer, stops the machine after the play. With `shutdown_command`, the batch waits for the builder's
shutdown command and then powers the machine off, while the builder waits."""
SEALED = "IMAGE_STATE_GENERALIZE_RESEAL_TO_OOBE"
_STATE_KEY = "HKLM:\\SOFTWARE\\Microsoft\\Windows\\CurrentVersion\\Setup\\State"
TASK = "winkube-seal"
SHUTDOWN_COMMAND = f"schtasks /Run /TN {TASK}"
"""Packer's `shutdown_command` for builders that shut the machine down with a command."""
FOLDER = f"{TRUSTED_FOLDER}\\image"
RESULT = f"{FOLDER}\\result.json"
"""The file to which the batch writes its result, for the controller and for an administrator at the console."""
_BETWEEN = 2.0
"""Seconds between two checks of a condition for which a call waits on the node."""
CONFIRMATION = 900
"""Maximum number of seconds that the batch waits for the controller to read the result. The controller may have to
reconnect first."""
START_LIMIT = 86400
"""Maximum number of seconds that the batch waits for the scheduled task that the builder's shutdown command starts."""
_PAUSE = 3.0
"""Seconds that the batch waits before it closes WinRM, so that the controller receives the last response."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Sealing:
    """The parts of the batch that finishes the build of an image."""

    key: str
    """The batch's idempotency key."""
    end: End
    preparing: tuple[Call, ...] = ()
    """Calls to run before sysprep. If the machine is already generalized, the batch skips these calls and sysprep."""
    secrets: tuple[Call, ...] = ()
    """Calls that remove secrets. They must be idempotent."""
    sysprep: Call
    timeout: float
    """Time limit of sysprep in seconds."""
    lasting: tuple[Call, ...] = ()
    """Calls that remove the machine's identity and prepare the first boot. They must be idempotent."""
    closing: tuple[Call, ...] = ()
    """Calls that disable accounts and close WinRM."""


def image_state(call_id: str) -> Call:
    """Return the call that reads the state of the image. Source: learn.microsoft.com (Windows Setup states)."""
    values: list[Json] = [{"path": _STATE_KEY, "name": "ImageState"}]
    return query(call_id, "@read-registry", {"values": values}, on_error="stop")


def calls(sealing: Sealing) -> tuple[Call, ...]:
    """Return the calls of the batch that finishes the build of an image.

    Args:
        sealing: the parts of the batch.
    """
    before = dataclasses.replace(image_state("sealed-before"), until={"value": SEALED}, on_error="continue")
    preparing, generalizing = (
        tuple(dataclasses.replace(call, unless=(*call.unless, before.id)) for call in part)
        for part in (sealing.preparing, (sealing.sysprep,))
    )
    sealed = dataclasses.replace(
        image_state("sealed"),
        until={"value": SEALED},
        retries=max(1, int(sealing.timeout // _BETWEEN)),
        delay=_BETWEEN,
    )
    waits_first = sealing.end == "shutdown_command"
    go = _wait(sealing.key, START_LIMIT if waits_first else CONFIRMATION)
    closing = sealing.closing
    if sealing.end != "leave_running":
        closing += (_shutdown(),)
    return (
        make_closed(FOLDER, ADMINISTRATORS_ONLY, "folder"),
        *([go] if waits_first else []),
        before,
        *preparing,
        *sealing.secrets,
        *generalizing,
        sealed,
        *sealing.lasting,
        *_remove_task(),
        _result("result", sealing.key, generalized=True),
        dataclasses.replace(
            _result("no-result", sealing.key, generalized=False), always=True, unless=("result",), on_error="continue"
        ),
        *([] if waits_first else [go, query("pause", "Start-Sleep", {"Milliseconds": int(_PAUSE * 1000)}, select=())]),
        *closing,
        *_not_closed(sealing.key, closing),
    )


def time_limit(sealing: Sealing) -> float:
    """Return the time limit of the batch in seconds.

    Ansible's watchdog on the node ends the batch a few minutes after this limit.
    """
    waiting = START_LIMIT if sealing.end == "shutdown_command" else CONFIRMATION
    return 2 * sealing.timeout + waiting + 1800


def arming_calls(key: str) -> tuple[Call, ...]:
    """Return the calls that register the scheduled task `TASK`, which makes a waiting batch generalize the machine."""
    return (
        make_closed(FOLDER, ADMINISTRATORS_ONLY, "seal-folder"),
        action(
            "seal-action",
            "New-ScheduledTaskAction",
            {"Execute": "cmd.exe", "Argument": f"/d /c echo go> {_go(key)}"},
        ),
        action(
            "seal-register",
            "Register-ScheduledTask",
            {
                "TaskName": TASK,
                "User": "SYSTEM",
                "RunLevel": "Highest",
                "Force": True,
                "Description": "Generalizes this machine and shuts it down, for winkube.node",
            },
            input=Input(calls=("seal-action",), parameter="Action"),
        ),
    )


def follow_calls(key: str, seconds: float = 60.0) -> tuple[Call, ...]:
    """Return the calls that wait for the batch's result, read the state of the image, and let the batch continue.

    The calls run as one remote command, so that the batch continues only if this command has seen a sealed image.
    """
    results: list[Json] = [_content(key, generalized=done) for done in (True, False)]
    read: dict[str, Json] = {"paths": [RESULT], "content": True}
    return (
        query(
            "result", "@read-file", read, until={"content": results}, retries=int(seconds / _BETWEEN), delay=_BETWEEN
        ),
        query("success", "@read-file", read, until={"content": results[0]}, needs=("result",), select=()),
        dataclasses.replace(image_state("state"), until={"value": SEALED}, needs=("success",), on_error="continue"),
        action(
            "go",
            "@write-file",
            {"path": _go(key), "content": "go", "sddl": ADMINISTRATORS_ONLY_FILE},
            needs=("success", "state"),
        ),
    )


def followed(seen: Observation) -> bool | None:
    """Return whether the image is sealed and the batch was told to continue, or None if there is no result yet.

    Args:
        seen: the results of `follow_calls`.
    """
    if not seen["result"].ok or seen["result"].skipped:
        return None
    go = seen["go"]
    return go.ok and not go.skipped


def failure(seen: Observation) -> str:
    """Return the id and the error of the call that failed, or an empty string if none failed."""
    if seen.stopped is None or seen.stopped.id not in seen.calls:
        return ""
    return f"{seen.stopped.id}: {seen[seen.stopped.id].error}"


def explanation(batch: Observation, logs: Observation) -> str:
    """Return why the batch failed, followed by what sysprep's logs say if sysprep failed or may have failed.

    Args:
        batch: the observation of the batch.
        logs: the results of `sysprep_failures.log_calls`.
    """
    failed = failure(batch) or f"the batch is {batch.state}"
    by_sysprep = batch.stopped is None or batch.stopped.id in ("sysprep", "sealed")
    return f"{failed}; {sysprep_failures.reason(logs)}" if by_sysprep else failed


def _go(key: str) -> str:
    """Return the path of the file that lets a waiting batch continue. Each build has its own file."""
    return f"{FOLDER}\\{key}.go"


def _wait(key: str, seconds: float) -> Call:
    # At most 10,000 retries are allowed (docs/wire.md).
    between = max(_BETWEEN, seconds / 9000)
    return query(
        "go",
        "@read-file",
        {"paths": [_go(key)]},
        select=("exists",),
        until={"exists": True},
        retries=int(seconds / between),
        delay=between,
        on_error="stop",
        long=True,
    )


def _content(key: str, *, generalized: bool) -> str:
    return json.dumps({"batch": key, "generalized": generalized, "log": sysprep_failures.ERROR_LOG}, sort_keys=True)


def _result(call_id: str, key: str, *, generalized: bool) -> Call:
    content = _content(key, generalized=generalized)
    return action(call_id, "@write-file", {"path": RESULT, "content": content, "sddl": ADMINISTRATORS_ONLY_FILE})


def _remove_task() -> tuple[Call, ...]:
    """Return the calls that remove the scheduled task `TASK`, so that no machine created from the image has it."""
    return (
        query("seal-task", "Get-ScheduledTask", {"TaskName": [TASK]}, select=("TaskName",)),
        action(
            "seal-task-gone",
            "Unregister-ScheduledTask",
            {"TaskName": [TASK], "Confirm": False},
            needs=("seal-task",),
        ),
    )


def _shutdown() -> Call:
    return action("shutdown", "shutdown.exe", arguments=("/s", "/t", "5", "/c", "winkube.node: image built"))


def _not_closed(key: str, closing: t.Sequence[Call]) -> tuple[Call, ...]:
    """Return the call that sets `generalized` to false in the result file if a later step of the batch fails."""
    if not closing:
        return ()
    failed = dataclasses.replace(
        _result("not-closed", key, generalized=False), always=True, needs=("result",), on_error="continue"
    )
    return (dataclasses.replace(failed, unless=(closing[-1].id,)),)
