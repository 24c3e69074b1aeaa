# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The background process of `ansible.windows.win_updates`.

It searches for, downloads and installs updates, and reports its progress through a named pipe. A scheduled task starts
the process, so the process outlives the shell of the module, but not a reboot.

Its messages are those of win_updates.ps1 in ansible.windows 3: mappings with the keys `task` and `result`. The task of
the last message is `exit`. This message is repeated until the session is cancelled.
"""

from __future__ import annotations

import re
import threading
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from simulator.machine.files import DiskFullError
from simulator.machine.processes import Process
from simulator.windows.updates import component_store, update_faults, update_install, windows_update
from simulator.windows.updates.update_catalogue import Update
from simulator.windows.updates.update_install import DISK_FULL, INSTALL_RUNNING, OK, scale
from simulator.windows.updates.windows_update import AgentError, Selection

if TYPE_CHECKING:
    from simulator.machine.machine import Machine

SUCCEEDED, FAILED = 2, 4
_INSTALL_NOT_ALLOWED = 0x80240016  # WU_E_INSTALL_NOT_ALLOWED
_DOWNLOAD_SECONDS = 5.0
_INTERVAL = 0.1
_MEGABYTE = 1 << 20
# Names that the module writes as one word.
_CATEGORIES = {
    "CriticalUpdates": "Critical Updates",
    "DefinitionUpdates": "Definition Updates",
    "DeveloperKits": "Developer Kits",
    "FeaturePacks": "Feature Packs",
    "SecurityUpdates": "Security Updates",
    "ServicePacks": "Service Packs",
    "UpdateRollups": "Update Rollups",
}


@dataclass(frozen=True)
class UpdateRequest:
    """The options that the win_updates module passes to an update session."""

    state: str = "installed"
    accept: tuple[str, ...] = ()
    reject: tuple[str, ...] = ()
    categories: tuple[str, ...] = ("CriticalUpdates", "SecurityUpdates", "UpdateRollups")
    selection: Selection = "default"
    check_mode: bool = False


class Pipe:
    """The messages that an update session has written but the win_updates module has not read yet."""

    def __init__(self) -> None:
        self._lines: deque[dict[str, Any]] = deque()
        self._changed = threading.Condition()
        self.cancelled = threading.Event()

    def write(self, task: str, result: Mapping[str, Any]) -> None:
        """Add a message to the pipe."""
        with self._changed:
            self._lines.append({"task": task, "result": dict(result)})
            self._changed.notify_all()

    def read(self, timeout: float) -> dict[str, Any] | None:
        """Return the next message, or None if the time limit is reached. The `exit` message stays in the pipe."""
        with self._changed:
            if not self._changed.wait_for(lambda: bool(self._lines), timeout):
                return None
            return self._lines[0] if self._lines[0]["task"] == "exit" else self._lines.popleft()


@dataclass
class UpdateSession:
    """An update session: its pipe, and the process that writes to it."""

    pipe: Pipe
    process: Process


@dataclass
class UpdateSessions:
    """The update sessions of a machine, keyed by the names of their pipes."""

    by_pipe: dict[str, UpdateSession] = field(default_factory=dict)

    def __deepcopy__(self, memo: dict[int, object]) -> UpdateSessions:
        """Return an empty collection, because a machine that is deployed from a copied disk has no sessions."""
        return UpdateSessions()


def start(machine: Machine, name: str, user: str, request: UpdateRequest) -> UpdateSession:
    """Start an update session in a separate process."""
    pipe = Pipe()

    def work(process: Process) -> None:
        Work(machine, process, pipe, request).run()
        while not pipe.cancelled.wait(_INTERVAL):
            process.check()

    process = machine.processes.detach("powershell.exe", user, work)
    session = UpdateSession(pipe, process)
    machine.part(UpdateSessions).by_pipe[name] = session
    return session


def find(machine: Machine, name: str) -> UpdateSession | None:
    """Return the update session with the given pipe name, or None if no process serves this pipe."""
    session = machine.part(UpdateSessions).by_pipe.get(name)
    return session if session is not None and session.process.alive else None


def reasons(request: UpdateRequest, update: Update) -> list[str]:
    """Return the names of the session's options that filter out an update, such as `reject_list`.

    Raises:
        re.error: a pattern is invalid.
    """
    text = update.title + update.kb
    own = {update.category.casefold(), update.product.casefold()}
    categories = {_CATEGORIES.get(name, name).casefold() for name in request.categories}
    found = []
    if request.accept and not any(re.search(pattern, text, re.IGNORECASE) for pattern in request.accept):
        found.append("accept_list")
    if any(re.search(pattern, text, re.IGNORECASE) for pattern in request.reject):
        found.append("reject_list")
    if categories and "*" not in categories and not own & categories:
        found.append("category_names")
    return found


@dataclass
class Work:
    """The steps of an update session. `outcome` is the content of its last message."""

    machine: Machine
    process: Process
    pipe: Pipe
    request: UpdateRequest
    outcome: dict[str, Any] = field(default_factory=dict)

    def run(self) -> None:
        """Run all steps of the session, and write the result to its pipe."""
        self.pipe.write("started", {})
        self.outcome = {
            "changed": False,
            "failed": False,
            "reboot_required": windows_update.reboot_required(self.machine),
            "exception": None,
        }
        try:
            self._run()
        except AgentError as error:
            self._fail(f"Searching for updates: {error}", hresult=signed(error.hresult))
        except re.error as error:
            self._fail(f'parsing "{error.pattern!r}" - {error}')
        except _FailedError as error:
            self._fail(str(error))
        self.pipe.write("exit", self.outcome)

    def _fail(self, message: str, **more: object) -> None:
        self.outcome |= {"failed": True, "exception": {"message": message, "exception": message, **more}}

    def _run(self) -> None:
        found = windows_update.search(self.machine, self.request.selection)
        filtered = {update.id: why for update in found if (why := reasons(self.request, update))}
        chosen = [update for update in found if update.id not in filtered]
        self.pipe.write(
            "search_result",
            {
                "updates": [self._describe(update) for update in found],
                "filtered": [{"id": name, "reasons": why} for name, why in filtered.items()],
            },
        )
        if self.request.check_mode or self.request.state == "searched" or not chosen:
            self.outcome["changed"] = bool(chosen) and self.request.state != "searched"
            return
        if self.outcome["reboot_required"]:
            raise _FailedError("A reboot is required before more updates can be installed")
        self._download(chosen)
        if self.request.state != "downloaded":
            self._install(chosen)

    def _describe(self, update: Update) -> dict[str, object]:
        downloaded = update.kb in component_store.store_of(self.machine).downloaded
        return {
            "id": update.id,
            "title": update.title,
            "description": f"Install this update to resolve issues in Windows ({update.kb}).",
            "kb": [update.kb],
            "type": "Software",
            "deployment_action": "Installation",
            "auto_select_on_websites": True,
            "browse_only": False,
            "revision_number": 1,
            "categories": [name for name in (update.category, update.product) if name],
            "is_installed": False,
            "is_hidden": False,
            "is_present": False,
            "reboot_required": False,
            "impact": "Normal",
            "reboot_behaviour": "CanRequestReboot" if update.reboots else "NeverReboots",
            "is_beta": False,
            "is_downloaded": downloaded,
            "is_mandatory": False,
            "is_uninstallable": False,
            "auto_selection": "LetWindowsUpdateDecide",
            "auto_download": "LetWindowsUpdateDecide",
        }

    def _download(self, chosen: list[Update]) -> None:
        store = component_store.store_of(self.machine)
        missing = [update for update in chosen if update.kb not in store.downloaded]
        if not missing:
            return
        results = []
        for index, update in enumerate(missing):
            self._progress("download", update, index, len(missing), 50)
            self.process.sleep(scale(self.machine, _DOWNLOAD_SECONDS))
            hresult = self._fetch(update)
            if hresult == OK:
                store.downloaded.add(update.kb)
            results.append(_result(update, hresult))
        self.outcome["changed"] = True
        self.pipe.write("download_result", {"info": results})
        if any(result["result_code"] != SUCCEEDED for result in results):
            raise _FailedError("Failed to download all updates - see updates for more information")

    def _fetch(self, update: Update) -> int:
        failure = update_faults.take(self.machine, "update_fails", update.kb, "download")
        if failure is not None:
            return failure.hresult
        try:
            self.machine.files.check_space(update.disk_mb * _MEGABYTE)
        except DiskFullError:
            return DISK_FULL
        return OK

    def _install(self, chosen: list[Update]) -> None:
        results = []
        for index, update in enumerate(chosen):

            def progress(percent: int, index: int = index, update: Update = update) -> None:
                self._progress("install", update, index, len(chosen), percent)

            outcome = update_install.install(self.machine, update, "WindowsUpdate", self.process.stop, progress)
            hresult = _INSTALL_NOT_ALLOWED if outcome.hresult == INSTALL_RUNNING else outcome.hresult
            results.append(_result(update, hresult) | {"reboot_required": outcome.reboot})
        self.outcome["changed"] = True
        if any(result["reboot_required"] for result in results):
            self.outcome["reboot_required"] = True
        self.pipe.write("install_result", {"info": results})
        if any(result["result_code"] != SUCCEEDED for result in results):
            raise _FailedError("Failed to install all updates - see updates for more information")
        self.outcome["reboot_required"] = windows_update.reboot_required(self.machine)

    def _progress(self, task: str, update: Update, index: int, count: int, percent: int) -> None:
        """Write the progress of a download or installation as the Windows Update agent's progress objects show it."""
        progress: dict[str, object] = {
            "CurrentUpdateId": update.id,
            "CurrentUpdateIndex": index,
            "CurrentUpdatePercentComplete": percent,
            "PercentComplete": (100 * index + percent) // count,
        }
        if task == "download":
            size = update.disk_mb * _MEGABYTE
            progress |= {
                "CurrentUpdateBytesDownloaded": size * percent // 100,
                "CurrentUpdateBytesToDownload": size,
                "CurrentUpdateDownloadPhase": 2,
                "TotalBytesDownloaded": size * percent // 100,
                "TotalBytesToDownload": size * count,
            }
        result = {"HResult": 0, "ResultCode": 1}
        self.pipe.write(task, {"progress": progress, "result": result})


class _FailedError(Exception):
    """Raised to end an update session with an error. The text of the exception is the reason."""


def _result(update: Update, hresult: int) -> dict[str, Any]:
    code = SUCCEEDED if hresult == OK else FAILED
    return {"id": update.id, "result_code": code, "hresult": signed(hresult)}


def signed(hresult: int) -> int:
    """Return an HRESULT as a signed number, as .NET does."""
    return hresult - (1 << 32) if hresult & 0x80000000 else hresult
