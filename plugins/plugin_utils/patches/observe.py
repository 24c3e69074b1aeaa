# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The calls that observe a node's patches in one remote command, and how to read their results (no I/O)."""

from __future__ import annotations

import dataclasses
import json
import re
import typing as t

from ..remote.node import FOLDER
from ..windows import registry_keys
from ..windows.node_paths import TRUSTED_FOLDER
from ..windows.registry_calls import make_key, remove_value, set_value
from ..windows.windows_info import WindowsInfo
from ..wire.calls import action, query
from ..wire.messages import Call, CallResult, Json, Observation
from ..wire.scopes import Scope
from .patch import HotFix, NodePatches, Package, Patch, PatchFile

CACHE = f"{TRUSTED_FOLDER}\\patches"
"""Folder of the downloaded files. Only administrators can create folders in C:\\Windows, so no other account can
replace a file between its check and its use."""
MARKER = "HKLM:\\SOFTWARE\\winkube\\patches"
"""Registry key that lists the services whose start type was changed for an installation and has not been restored."""
SERVICES = ("wuauserv", "BITS", "TrustedInstaller")
"""Services that an installation needs: Windows Update and wusa fail with 1058 or 0x80070422 if one of them is
disabled."""
BATCH_KEY, JOB_KEY = "patches-", "patches-wu-"
"""Prefixes of the keys under which the node stores the state of batches and of Windows Update jobs. A later run uses
them to find work that is still running."""
PID = "ansible_async_watchdog_pid"
"""The field with the ID of the worker process in the status file of Ansible's async wrapper."""

_SECURE_BOOT = f"{registry_keys.CONTROL}\\SecureBoot\\State"
_ENABLE = Scope("enable.")
_DISABLED = 4
_PACKAGE = ("PackageName", "PackageState", "ReleaseType")
_EVENTS = 300
_KB = re.compile(r"\bKB(\d{6,7})\b", re.IGNORECASE)


class PatchesUnreadable(ValueError):
    """The node did not report its patches."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Leftovers:
    """Work and files that earlier runs left on the node."""

    batches: tuple[str, ...] = ()
    """Keys of batches that were started and have no result: they are still running, or were lost."""
    jobs: t.Mapping[str, int] = dataclasses.field(default_factory=dict)
    """Maps the key of each running Windows Update job to its process ID."""
    done: tuple[str, ...] = ()
    """Keys of batches and jobs that have ended. Their results can be removed."""
    cache: bool = False
    """Whether the folder of patch files still exists."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class PatchObservation:
    """The state of a node's patches, of its patch files, and of work that earlier runs left behind."""

    node: NodePatches
    leftovers: Leftovers
    files: CallResult
    """The patch files on the node, as `@read-file` reports them."""
    pieces: t.Mapping[str, int]
    """Maps the lower-case path of each uploaded piece of a patch file to its size in bytes."""
    free: int | None = None
    """Free bytes on the system disk, or None if unknown."""
    settled: bool = True
    warnings: tuple[str, ...] = ()


def folder(patch: Patch) -> str:
    """Return the path of a patch's folder.

    No two patches share a folder, because DISM treats every other .msu in a folder as a checkpoint update.
    """
    return f"{CACHE}\\{patch.file.sha256[:16]}" if patch.file else CACHE


def path(patch: Patch, file: PatchFile) -> str:
    """Return the Windows path of a patch's file."""
    return f"{folder(patch)}\\{file.name}"


def calls(patches: t.Sequence[Patch]) -> tuple[Call, ...]:
    """Return the calls that observe the node. If a call fails, its error is recorded and the batch continues."""
    registry: list[Json] = [
        {"path": _SECURE_BOOT, "name": "UEFISecureBootEnabled"},
        {"path": registry_keys.CONTROL, "name": "SystemStartOptions"},
        {"path": MARKER},
        *({"path": f"{registry_keys.CONTROL[:-8]}\\Services\\{name}", "name": "Start"} for name in SERVICES),
    ]
    paths: list[Json] = [CACHE]
    for patch in patches:
        for file in patch.files:
            paths += [path(patch, file), f"{path(patch, file)}.part"]
    left: dict[str, Json] = {"LiteralPath": FOLDER, "Filter": f"{BATCH_KEY}*", "Force": True}
    jobs: dict[str, Json] = {"Path": f"{FOLDER}\\{JOB_KEY}*\\j*", "Pattern": PID}
    # Without SilentlyContinue, a single unknown name would hide the results for all known names.
    shells: dict[str, Json] = {"Name": ["powershell", "pwsh"], "ErrorAction": "SilentlyContinue"}
    asked = [
        query("hotfixes", "Get-HotFix", select=("HotFixID", "Description", "InstalledOn")),
        query("packages", "Get-WindowsPackage", {"Online": True}, select=_PACKAGE, retries=2, delay=5.0),
        query("registry", "@read-registry", {"values": registry}),
        query("left", "Get-ChildItem", left, select=("Name", "PSIsContainer")),
        query("jobs", "Select-String", jobs, select=("Path", "Line")),
        query("shells", "Get-Process", shells, select=("Id",)),
        query("files", "@read-file", {"paths": paths, "hash": True}),
        query("space", "@free-space", {"path": CACHE}),
    ]
    if any(patch.public for patch in patches):
        which: dict[str, Json] = {
            "LogName": "System",
            "ProviderName": "Microsoft-Windows-WindowsUpdateClient",
            "Id": 19,
        }
        events: dict[str, Json] = {"FilterHashtable": which, "MaxEvents": _EVENTS}
        asked.append(query("log", "Get-WinEvent", events, select=("Message",)))
    if any(file.local for patch in patches for file in patch.files):
        pieces: dict[str, Json] = {"Path": f"{CACHE}\\*\\*.piece-*"}
        asked.append(query("pieces", "Get-ChildItem", pieces, select=("FullName", "Length")))
    return tuple(asked)


def settle_calls(seconds: float) -> tuple[Call, ...]:
    """Return the calls that wait until the update stack is idle. If a call reaches its time limit, the next call runs.

    After a reboot, TiWorker finishes the installation of updates. Before TiWorker starts, and for minutes after it has
    ended, only the TrustedInstaller service runs.
    """
    delay = max(0.1, min(5.0, seconds / 40))
    short = max(1, int(seconds / 5 / delay))
    wait: dict[str, Json] = {"Name": "TiWorker", "Timeout": max(1, int(seconds))}
    worker = query("settle.worker", "Wait-Process", wait, select=(), timeout=seconds + 60)
    return (
        worker,
        query(
            "settle.installer",
            "Get-Service",
            {"Name": "TrustedInstaller"},
            select=("Status",),
            until={"Status": "Stopped"},
            retries=short,
            delay=delay,
        ),
        dataclasses.replace(worker, id="settle.again"),
        query(
            "settle.pending",
            "@read-registry",
            {"values": [{"path": registry_keys.SERVICING_REBOOT}]},
            select=("key_exists",),
            until={"key_exists": False},
            retries=min(short, 3),
            delay=delay,
        ),
    )


def enable_calls(services: t.Sequence[str]) -> tuple[Call, ...]:
    """Return the calls that make disabled services startable, after recording their start types."""
    enabling: list[Call] = [*map(_ENABLE.call, make_key(MARKER))] if services else []
    for name in services:
        parameters: dict[str, Json] = {"Name": name, "StartupType": "Manual"}
        enabling.append(set_value(_ENABLE.id(f"{name}.mark"), MARKER, name, "String", "Disabled"))
        enable = action(_ENABLE.id(name), "Set-Service", parameters)
        # Change only services that were recorded. If a service therefore stays disabled, the installer reports an
        # error.
        enabling.append(dataclasses.replace(enable, needs=(_ENABLE.id(f"{name}.mark"),)))
    return tuple(dataclasses.replace(call, on_error="continue") for call in enabling)


def restore_calls(services: t.Mapping[str, str]) -> tuple[Call, ...]:
    """Return the calls that restore the start types of the services that `enable_calls` changed.

    Args:
        services: maps the name of each of these services to the start type to restore.
    """
    restoring: list[Call] = []
    for name, start in services.items():
        stop: dict[str, Json] = {"Name": name, "Force": True}
        if start == "Disabled":
            restoring.append(action(f"restore.{name}.stop", "Stop-Service", stop, on_error="continue"))
        restore: dict[str, Json] = {"Name": name, "StartupType": start}
        restoring.append(action(f"restore.{name}", "Set-Service", restore, on_error="continue"))
        mark = remove_value(f"restore.{name}.mark", MARKER, name)
        restoring.append(dataclasses.replace(mark, needs=(f"restore.{name}",), on_error="continue"))
    return tuple(restoring)


def discard_call() -> Call:
    """Return the call that removes all patch files."""
    parameters: dict[str, Json] = {"LiteralPath": CACHE, "Recurse": True, "Force": True}
    return action("discard", "Remove-Item", parameters, on_error="continue")


def read(seen: Observation, windows: WindowsInfo) -> PatchObservation:
    """Read a node's state from the results of the observation calls that `calls` returns.

    Args:
        seen: the results of these calls.
        windows: the version of Windows that was read at the same time.

    Raises:
        PatchesUnreadable: the node did not report its packages.
    """
    packages = seen["packages"]
    if not packages.ok:
        raise PatchesUnreadable(f"Get-WindowsPackage: {packages.error}")
    warnings = [] if seen["hotfixes"].ok else [f"Get-HotFix failed: {seen['hotfixes'].error}"]
    secure, options, marker, *services = (dict(item) for item in seen["registry"].output)
    node = NodePatches(
        windows=windows,
        hotfixes={fix.kb: fix for fix in map(_hotfix, seen["hotfixes"].output) if fix.kb},
        packages=tuple(_package(item) for item in packages.output),
        logged=_logged(seen.calls.get("log")),
        secure_boot=secure.get("value") == 1,
        test_signing="TESTSIGNING" in str(options.get("value") or "").upper().split(),
        disabled=tuple(name for name, item in zip(SERVICES, services, strict=True) if item.get("value") == _DISABLED),
        to_restore={name: str(item.get("value")) for name, item in (marker.get("values") or {}).items()},
    )
    pieces = seen.calls.get("pieces")
    return PatchObservation(
        node=node,
        leftovers=_leftovers(seen),
        files=seen["files"],
        pieces={str(item["FullName"]).lower(): int(item["Length"] or 0) for item in (pieces.output if pieces else ())},
        free=(seen["space"].first or {}).get("free"),
        settled=_settled(seen),
        warnings=tuple(warnings),
    )


def _hotfix(item: t.Mapping[str, t.Any]) -> HotFix:
    return HotFix(
        kb=str(item.get("HotFixID") or "").upper(),
        description=str(item.get("Description") or ""),
        installed_on=str(item.get("InstalledOn") or "")[:10],
    )


def _package(item: t.Mapping[str, t.Any]) -> Package:
    return Package(
        name=str(item.get("PackageName") or ""),
        state=str(item.get("PackageState") or ""),
        release_type=str(item.get("ReleaseType") or ""),
    )


def _logged(log: CallResult | None) -> dict[str, str]:
    titles: dict[str, str] = {}
    for item in log.output if log else ():
        # "Installation Successful: Windows successfully installed the following update: TITLE", in the node's language.
        title = str(item.get("Message") or "").strip().rpartition(": ")[2]
        for number in _KB.findall(title):
            titles.setdefault(f"KB{number}", title)
    return titles


def _leftovers(seen: Observation) -> Leftovers:
    names = [(str(item.get("Name")), bool(item.get("PSIsContainer"))) for item in seen["left"].output]
    batches = {name.removesuffix(".claim") for name, dummy in names if name.endswith(".claim")}
    results = {name.removesuffix(".json") for name, dummy in names if name.endswith(".json")}
    jobs = {name for name, is_folder in names if is_folder and name.startswith(JOB_KEY)}
    alive = {item.get("Id") for item in seen["shells"].output}
    running: dict[str, int] = {}
    for item in seen["jobs"].output:
        job = read_job(str(item.get("Line")))
        if not job.get("finished") and job.get(PID) in alive:
            running[str(item.get("Path")).rpartition("\\")[0].rpartition("\\")[2]] = int(job[PID])
    files = {str(item.get("path")).lower(): item for item in seen["files"].output}
    return Leftovers(
        batches=tuple(sorted(batches - results)),
        jobs=running,
        done=tuple(sorted((results & batches) | (jobs - set(running)))),
        cache=bool(files.get(CACHE.lower(), {}).get("exists")),
    )


def read_job(text: str) -> dict[str, t.Any]:
    """Return the content of the status file of an async job, or an empty mapping if it cannot be read."""
    try:
        job = json.loads(text.lstrip("\ufeff"))
    except ValueError:
        return {}
    return job if isinstance(job, dict) else {}


def _settled(seen: Observation) -> bool:
    """Return whether TiWorker had stopped by the end of `settle_calls`, or true if these calls were not made."""
    again = seen.calls.get("settle.again")
    return again is None or again.ok or (again.error is not None and "NoProcessFound" in again.error.id)
