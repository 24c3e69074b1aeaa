# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The options and results of ansible.windows.win_updates, which installs public patches in a separate job (no I/O).

Ansible's `async` runs the module in this job, so the job's result is the module's result. See the `wait` mode at the
end of win_updates.ps1.
"""

from __future__ import annotations

import typing as t

from ..remote.node import FOLDER
from ..wire.calls import query
from ..wire.messages import Call, CallResult, Json
from ..wire.scopes import Scope
from .codes import describe, meaning, unsigned
from .observe import PID, read_job
from .outcome import Attempt
from .patch import Patch

ACTION = "ansible.windows.win_updates"
UPDATE = Scope("wu.")
"""Scope (the common prefix of call IDs) for the calls of an installation by Windows Update."""
JOB, ANSWER = UPDATE.id("job"), UPDATE.id("answer")
"""IDs of the calls that find the Windows Update job and read its result."""
WAITED, ENDED = UPDATE.id("waited"), UPDATE.id("ended")
"""IDs of two calls. The first waits for the job until a time limit. The second fails if the job has not ended by
then."""
SERVERS: t.Mapping[str, str] = {"default": "default", "wsus": "managed_server", "windows_update": "windows_update"}
"""Maps this collection's name of each update server to the server's name in win_updates."""
_DELAY = 1.0
_NO_HRESULT = -1


def arguments(patches: t.Sequence[Patch], server: str) -> dict[str, t.Any]:
    """Return the options that make win_updates install only the given patches, without a reboot."""
    return {
        "state": "installed",
        "reboot": False,
        "category_names": ["*"],
        # Regular expressions that are matched against title and KB.
        "accept_list": [rf"\b{patch.kb}\b" for patch in patches],
        "server_selection": SERVERS[server],
    }


def find_calls(key: str) -> tuple[Call, ...]:
    """Return the calls that look for a job after the connection failed during its start."""
    parameters: dict[str, Json] = {"Path": f"{FOLDER}\\{key}\\j*", "Pattern": PID}
    return (query(JOB, "Select-String", parameters, select=("Line",), until={"LineNumber": 1}, retries=5),)


def wait_calls(key: str, pid: int, timeout: float) -> tuple[Call, ...]:
    """Return the calls that wait for a job and read its result. They stop the batch if the job dies or takes too long.

    Args:
        key: name of the job's folder.
        pid: ID of the process that does the work, or 0 if it has ended.
        timeout: time limit in seconds.
    """
    job = f"{FOLDER}\\{key}\\j*"
    calls: list[Call] = []
    if pid:
        # After a reboot, a different process may have that ID.
        alive = query(
            UPDATE.id("alive"), "Get-Process", {"Id": pid}, select=(), until={"ProcessName": ["powershell", "pwsh"]}
        )
        wait = query(
            WAITED,
            "Wait-Process",
            {"Id": pid, "Timeout": max(1, int(timeout))},
            select=(),
            needs=(alive.id,),
            timeout=timeout + 60,
            long=True,
        )
        calls = [alive, wait]
    return (
        *calls,
        query(
            ENDED,
            "Select-String",
            {"Path": job, "Pattern": '"finished":\\s*(true|1)\\b'},
            select=(),
            until={"LineNumber": 1},
            retries=3,
            delay=_DELAY,
            on_error="stop",
        ),
        query(ANSWER, "Get-Content", {"Path": job, "Raw": True}),
    )


def read(answer: CallResult | None, patches: t.Sequence[Patch], boots: int) -> dict[str, Attempt]:
    """Return the outcome of the Windows Update job for each patch.

    Args:
        answer: result of the `wu.answer` call, which reads the job's result.
        patches: the patches that win_updates was given.
        boots: number of reboots in this run so far.

    Returns:
        The attempts to install the patches. The keys are the names of the patches.
    """
    result = _result(answer)
    if not result.get("finished"):
        why = "Windows Update did not finish in time" if result else "the result of Windows Update was lost"
        return {patch.name: Attempt(outcome="temporary", why=why, boots=boots) for patch in patches}
    return {patch.name: _attempt(patch, result, boots) for patch in patches}


def _result(answer: CallResult | None) -> dict[str, t.Any]:
    return read_job("".join(str(part) for part in answer.output)) if answer is not None else {}


def _attempt(patch: Patch, result: t.Mapping[str, t.Any], boots: int) -> Attempt:
    mine = _of(patch, result.get("updates"))
    codes = [int(update["failure_hresult_code"]) for update in mine if update.get("failure_hresult_code") is not None]
    title = str(mine[0].get("title") or patch.kb) if mine else patch.kb
    if codes:
        code = next((code for code in codes if code != _NO_HRESULT), codes[0])
        kind = meaning(code)
        outcome = "failed" if kind in ("done", "reboot", "already") else kind
        return Attempt(outcome=outcome, why=f"{title}: {describe(code)}", boots=boots)
    if mine and all(update.get("installed") for update in mine):
        outcome = "reboot" if result.get("reboot_required") else "done"
        return Attempt(outcome=outcome, why=f"Windows Update installed {title}", boots=boots)
    if mine:
        # If the download of one update failed, or a reboot was pending, Windows Update installs none of the updates.
        return Attempt(
            outcome="temporary", why=f"Windows Update did not install {title}: {_message(result)}", boots=boots
        )
    if result.get("failed") and not result.get("updates"):
        code = int(result.get("hresult") or 0)
        kind = meaning(code) if unsigned(code) else "failed"
        return Attempt(outcome="temporary" if kind == "temporary" else "failed", why=_message(result), boots=boots)
    filtered = _of(patch, result.get("filtered_updates"))
    if filtered and "hidden" in (filtered[0].get("filtered_reasons") or ()):
        return Attempt(outcome="not_offered", why=f"{filtered[0].get('title')} is hidden on this machine", boots=boots)
    why = (
        "Windows Update does not offer it: it is superseded, not for this version of Windows, not approved, or not an "
        "update"
    )
    return Attempt(outcome="not_offered", why=why, boots=boots)


def _of(patch: Patch, updates: t.Any) -> list[t.Mapping[str, t.Any]]:
    number = patch.kb.removeprefix("KB")
    matching = []
    for update in (updates or {}).values() if isinstance(updates, t.Mapping) else ():
        kbs = update.get("kb")
        if number in [str(kb).removeprefix("KB") for kb in (kbs if isinstance(kbs, list) else [kbs])]:
            matching.append(update)
    return matching


def _message(result: t.Mapping[str, t.Any]) -> str:
    """Return the message of win_updates, with an explanation of its HRESULT."""
    # The message may end with a colon, such as "Searching for updates:".
    message = str(result.get("msg") or "no reason was reported").strip().removesuffix(":")
    code = int(result.get("hresult") or 0)
    return f"{message}: {describe(code)}" if unsigned(code) else message
