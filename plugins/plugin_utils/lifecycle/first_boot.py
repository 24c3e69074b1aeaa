# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Put the script that a machine runs at its first boot, data/first_boot.ps1, into an image (no I/O).

Batches (docs/wire.md) need a controller, which a new machine does not have. So the image contains a script. The script
is the same in all images; only the data in its settings file differs.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import typing as t

from ..values.versions import DATA
from ..windows.node_paths import POWERSHELL, TRUSTED_FOLDER
from ..windows.path_calls import make_closed
from ..windows.sddl import ADMINISTRATORS_ONLY, ADMINISTRATORS_ONLY_FILE
from ..wire.calls import action, query
from ..wire.messages import Call, Input, Observation
from . import sealing

FOLDER = f"{TRUSTED_FOLDER}\\first-boot"
TASK = "winkube-first-boot"
_SCRIPT = f"{FOLDER}\\first_boot.ps1"


@functools.cache
def script() -> str:
    """Return the content of first_boot.ps1."""
    return (DATA / "first_boot.ps1").read_text(encoding="utf-8")


def calls(*, accounts: t.Sequence[str], winrm_https: bool, certificates: t.Sequence[str] = ()) -> tuple[Call, ...]:
    """Return the calls that put first_boot.ps1 and its scheduled task into the image.

    They must run after sysprep has succeeded. Otherwise, the script would run when the build machine reboots.

    Args:
        accounts: the accounts to remove.
        certificates: thumbprints of the build machine's certificates, which must not be on any other machine.
        winrm_https: whether the machine gets a WinRM HTTPS listener with a certificate of its own.
    """
    settings = json.dumps(
        {"accounts": list(accounts), "certificates": list(certificates), "winrm_https": winrm_https}, sort_keys=True
    )
    return (
        make_closed(FOLDER, ADMINISTRATORS_ONLY, "first-boot-folder"),
        _write("first-boot-script", _SCRIPT, script()),
        _write("first-boot-settings", f"{FOLDER}\\settings.json", settings),
        action(
            "first-boot-action",
            "New-ScheduledTaskAction",
            {
                # SYSTEM would search the folders in PATH for a bare name.
                "Execute": POWERSHELL,
                "Argument": f'-NoProfile -NonInteractive -ExecutionPolicy Bypass -File "{_SCRIPT}"',
            },
        ),
        action("first-boot-trigger", "New-ScheduledTaskTrigger", {"AtStartup": True}),
        action(
            "first-boot-limits",
            "New-ScheduledTaskSettingsSet",
            # Windows' setup may wait for a user, so the time is not limited.
            {"ExecutionTimeLimit": "00:00:00", "AllowStartIfOnBatteries": True, "DontStopIfGoingOnBatteries": True},
        ),
        action(
            "first-boot-register",
            "Register-ScheduledTask",
            {
                "TaskName": TASK,
                "User": "SYSTEM",
                "RunLevel": "Highest",
                "Force": True,
                "Description": "Finishes the first boot of a machine from an image of winkube.node",
            },
            input=Input(calls=("first-boot-action",), parameter="Action"),
        ),
        _set("first-boot-set-trigger", "Trigger", "first-boot-trigger"),
        _set("first-boot-set-limits", "Settings", "first-boot-limits"),
    )


def wait_calls(seconds: float = 120.0) -> tuple[Call, ...]:
    """Return the calls that wait until a machine that was started from an image has finished its first boot.

    This includes a build machine that restarted after sysprep: this restart was a first boot. On a machine that is
    generalized and has not restarted since, the calls do not wait.

    Args:
        seconds: the maximum number of seconds to wait.
    """
    sealed = dataclasses.replace(
        sealing.image_state("first-boot-later"), until={"value": sealing.SEALED}, on_error="continue"
    )
    finished = query(
        "first-boot-finished",
        "@read-file",
        {"paths": [FOLDER]},
        select=("exists",),
        until={"exists": False},
        unless=(sealed.id,),
        retries=int(seconds / 2),
        delay=2.0,
    )
    return (sealed, finished)


def unfinished(seen: Observation) -> str:
    """Return why a machine cannot become an image yet, or an empty string if its first boot has finished.

    Args:
        seen: the results of `wait_calls`.
    """
    if seen["first-boot-finished"].ok:
        return ""
    return (
        "expected a machine that has finished its first boot from an image, got one whose first boot is not finished "
        f"({FOLDER} exists). {FOLDER}\\error.txt may contain the reason. Reboot the machine, and run the playbook again"
    )


def _write(call_id: str, path: str, content: str) -> Call:
    return action(call_id, "@write-file", {"path": path, "content": content, "sddl": ADMINISTRATORS_ONLY_FILE})


def _set(call_id: str, parameter: str, made: str) -> Call:
    return action(call_id, "Set-ScheduledTask", {"TaskName": TASK}, input=Input(calls=(made,), parameter=parameter))
