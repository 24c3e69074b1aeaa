# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Run the actions that Ansible's wrapper requests: modules, async, become, and the scripts in `ansible_files`."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from simulator.machine import accounts, ansible_files, modules
from simulator.machine.ansible_wrapper import Action, ManifestError, WrapperManifest, read
from simulator.machine.objects import CmdletError, ProgramResult
from simulator.machine.processes import Process
from simulator.machine.session import Session


@dataclass
class Elevations:
    """The accounts to which Ansible's become wrapper switched, one for each run. The status page lists them."""

    runs: list[str] = field(default_factory=list)


def run(session: Session, lines: list[str]) -> ProgramResult:
    """Run the actions that the wrapper's input requests, and return the wrapper's output."""
    try:
        manifest = read(lines)
        if session.machine.settings.option("language_mode") == "ConstrainedLanguage":
            return ProgramResult(1, "", _CONSTRAINED)
        refusal = _refusal(session, manifest)
        return refusal or _run(session, manifest)
    except ManifestError as error:
        return failure(str(error))


_CONSTRAINED = (
    "Cannot invoke method. Method invocation is supported only on core types in this language mode.\r\n"
    "    + CategoryInfo          : InvalidOperation: (:) [], RuntimeException\r\n"
    "    + FullyQualifiedErrorId : MethodInvocationNotSupportedInConstrainedLanguage\r\n"
)
"""The output of exec_wrapper.ps1 in constrained language mode, in which the script's calls to .NET methods fail."""


def failure(message: str, **more: object) -> ProgramResult:
    """Return the output of a failed module, with its message."""
    return ProgramResult(1, json.dumps({"changed": False, "failed": True, "msg": message, **more}) + "\r\n")


def _refusal(session: Session, manifest: WrapperManifest) -> ProgramResult | None:
    windows = session.machine.windows
    for requested, actual, what, mark in (
        (manifest.min_os, windows.full, "on this OS as it requires a minimum version of", ""),
        (manifest.min_powershell, windows.powershell, "as it requires a minimum PowerShell version of", '"'),
    ):
        if requested and _version(actual) < _version(requested):
            return failure(f"This module cannot run {what} {requested}, actual was {mark}{actual}{mark}")
    return None


def _version(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(".") if part.isdigit())


def _run(session: Session, manifest: WrapperManifest) -> ProgramResult:
    action = manifest.actions[0]
    handler = _ACTIONS.get(action.name)
    if handler is None:
        raise ManifestError(f"the simulator does not model the wrapper {action.name}")
    return handler(session, manifest, action)


def _module(session: Session, manifest: WrapperManifest, action: Action) -> ProgramResult:
    script = str(action.parameters.get("Script", ""))
    text = manifest.scripts.get(script)
    if text is None:
        raise ManifestError(f"failure during exec_wrapper: Could not find the script '{script}'.")
    environment = {str(key): str(value) for key, value in (action.parameters.get("Environment") or {}).items()}
    session.environment.update(environment)
    variables = action.parameters.get("Variables") or []
    arguments = next((entry["Value"] for entry in variables if entry.get("Name") == "complex_args"), None)
    if not action.parameters.get("ForModule"):
        from simulator.machine.powershell.host import run_text

        return run_text(session, text, [])
    if not isinstance(arguments, Mapping):
        raise ManifestError("the module has no complex_args")
    try:
        answer = modules.run(session, script, text, arguments, manifest.scripts.values())
    except CmdletError as error:
        return failure(error.message)
    return ProgramResult(1 if answer.get("failed") else 0, json.dumps(answer, default=str) + "\r\n")


def _become(session: Session, manifest: WrapperManifest, action: Action) -> ProgramResult:
    user = str(action.parameters.get("BecomeUser") or "")
    short = user.rsplit("\\", 1)[-1]
    system = short.casefold() in ("system", "localsystem", "local service", "network service")
    if not system and short.casefold() != session.machine.settings.user.casefold():
        if accounts.resolve(session.machine, user):
            raise ManifestError(f"the simulator does not model become with the user {user}")
        why = "Some or all identity references could not be translated."
        call = 'Exception calling "CreateProcessAsUser" with "9" argument(s)'
        return failure(f'failure during exec_wrapper: {call}: "{why}"')
    session.machine.part(Elevations).runs.append(user)
    name = "SYSTEM" if short.casefold() == "localsystem" else short
    other = Session(session.machine, session.process, name, {}, "C:\\Windows", "batch")
    with session.machine.acting.as_account(name):
        return _run(other, replace(manifest, actions=manifest.actions[1:], input=()))


def _async(session: Session, manifest: WrapperManifest, action: Action) -> ProgramResult:
    """Start the actions that follow async_wrapper.ps1, and return without waiting for them.

    They run in a process that outlives the shell. The time limit of async_watchdog.ps1 is not modelled.
    """
    machine = session.machine
    folder = session.expand(str(action.parameters["AsyncDir"]))
    machine.files.make_directory(folder)
    # The action after this one is the watchdog, which `_watch` replaces.
    rest = replace(manifest, actions=manifest.actions[2:], input=())
    job_id = f"{action.parameters['AsyncJid']}.{session.process.id}"
    path = f"{folder}\\{job_id}"
    started: dict[str, Any] = {
        "started": True,
        "finished": False,
        "results_file": path,
        "ansible_job_id": job_id,
        "_ansible_suppress_tmpdir_delete": True,
    }
    user, environment, directory = session.user, dict(session.environment), session.directory
    logon = session.logon

    written = threading.Event()

    def work(process: Process) -> None:
        written.wait()
        detached = Session(machine, process, user, environment, directory, logon)
        result = _watch(detached, rest, started)
        process.check()
        # If the folder was removed in the meantime, async_watchdog.ps1 cannot write either, and its error is lost.
        with contextlib.suppress(FileNotFoundError):
            machine.files.write_text(path, "\ufeff" + json.dumps(result))

    process = machine.processes.detach("powershell.exe", user, work)
    started["ansible_async_watchdog_pid"] = process.id
    machine.files.write_text(path, json.dumps(started))
    written.set()
    return ProgramResult(0, json.dumps(started) + "\r\n")


def _watch(session: Session, manifest: WrapperManifest, started: dict[str, Any]) -> dict[str, Any]:
    """Run an asynchronous job, and return what async_watchdog.ps1 writes to the result file."""
    finished = started | {"finished": True}
    try:
        output = _run(session, manifest).stdout
        begin, end = output.find("{"), output.rfind("}")
        if begin < 0 or end < begin:
            raise ManifestError(f"No {'start' if begin < 0 else 'end'} of json char found in module result")
        result: dict[str, Any] = json.loads(output[begin : end + 1])
        return finished | result
    except ManifestError as error:
        return finished | {"failed": True, "msg": f"failure during async watchdog: {error}"}


_ACTIONS: Mapping[str, Callable[[Session, WrapperManifest, Action], ProgramResult]] = {
    "module_wrapper.ps1": _module,
    "become_wrapper.ps1": _become,
    "async_wrapper.ps1": _async,
    "winrm_put_file.ps1": ansible_files.put,
    "psrp_put_file.ps1": ansible_files.put,
    "winrm_fetch_file.ps1": ansible_files.fetch_part,
    "psrp_fetch_file.ps1": ansible_files.fetch,
    "powershell_mkdtemp.ps1": ansible_files.make_temporary,
    "powershell_expand_user.ps1": ansible_files.expand_user,
}
