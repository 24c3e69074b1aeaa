# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
r"""Real-time protection: a scanner that opens each new executable or archive, and removes some of these files.

Faults of the kind `antivirus` configure the scanner:

{"kind": "antivirus", "seconds": 5}                            keeps each new file open for 5 simulated seconds
{"kind": "antivirus", "seconds": 0}                            turns the scanner off
{"kind": "antivirus", "seconds": 5, "blocks": ["*\ctr.exe*"]}  matching files cannot be opened, and are removed later

During a scan, other programs may read and write the file, but not delete, rename or replace it. Users report the
resulting error as "Unable to remove the file to be replaced" (gitextensions/gitextensions#4252,
laurentiu021/SystemManager#2162). Files that are excluded (Add-MpPreference -ExclusionPath, -ExclusionExtension) or
written while protection is off are not scanned. Exclusions of processes, which apply to all files that a process opens,
are not modelled. Source:
https://learn.microsoft.com/defender-endpoint/configure-extension-file-exclusions-microsoft-defender-antivirus
"""

from __future__ import annotations

import fnmatch
import functools
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from simulator.windows.security.defender import Preferences
from simulator.windows.software.features import is_installed
from simulator.windows.system import event_log_store

if TYPE_CHECKING:
    from simulator.machine.machine import Machine

_LOG = "Microsoft-Windows-Windows Defender/Operational"
_MAGIC = (b"MZ", b"PK\x03\x04", b"\x1f\x8b", b"MSCF", b"\xd0\xcf\x11\xe0")
_TAR = (257, b"ustar")


@dataclass
class AntivirusScanner:
    """The scanner's behavior for new files.

    Args:
        seconds: the duration of a scan, in simulated seconds.
        blocks: path patterns of files that the scanner treats as malicious.
    """

    seconds: float = 0.0
    blocks: tuple[str, ...] = ()


def _fault(machine: Machine, fault: Mapping[str, object]) -> None:
    seconds, blocks = fault.get("seconds", 5), fault.get("blocks", [])
    if isinstance(seconds, bool) or not isinstance(seconds, (int, float)):
        raise ValueError(f"expected a number for the fault's key `seconds`, got {seconds!r}")
    if not isinstance(blocks, list):
        raise ValueError(f"expected a list of patterns for the fault's key `blocks`, got {blocks!r}")
    scanner = machine.part(AntivirusScanner)
    scanner.seconds, scanner.blocks = float(seconds), tuple(str(pattern).casefold() for pattern in blocks)
    if not any(getattr(listener, "func", None) is _on_written for listener in machine.files.on_written):
        machine.files.on_written.append(functools.partial(_on_written, machine))


def _on_written(machine: Machine, path: str) -> None:
    scanner = machine.part(AntivirusScanner)
    if not (scanner.seconds or scanner.blocks) or not _protects(machine, path) or not _is_scanned(machine, path):
        return
    seconds = scanner.seconds * machine.settings.time_scale
    if any(fnmatch.fnmatchcase(path.casefold(), pattern) for pattern in scanner.blocks):
        machine.files.open.infected(path)
        text = f"Microsoft Defender Antivirus has detected malware or other potentially unwanted software. Path: {path}"
        event_log_store.write(
            machine, _LOG, text, provider="Microsoft-Windows-Windows Defender", level=3, event_id=1116
        )
        _later(seconds, lambda: _quarantine(machine, path))
    elif seconds:
        threading.Thread(target=_scan, args=(machine, path, seconds), name="MsMpEng", daemon=True).start()
        # The filter driver opens the file before the program that wrote it continues.
        while not machine.files.open.blocks(path, "d"):
            threading.Event().wait(0.001)


def _protects(machine: Machine, path: str) -> bool:
    preferences = machine.part(Preferences)
    service = machine.services.get("WinDefend")
    running = service is not None and service.state == "Running" and is_installed(machine, "Windows-Defender")
    if not running or preferences.values.get("DisableRealtimeMonitoring"):
        return False
    key = path.casefold()
    folders = [item.rstrip("\\").casefold() for item in preferences.lists.get("ExclusionPath", [])]
    if any(key == folder or key.startswith(f"{folder}\\") for folder in folders):
        return False
    endings = [f".{item.lstrip('.').casefold()}" for item in preferences.lists.get("ExclusionExtension", [])]
    return not any(key.endswith(ending) for ending in endings)


def _is_scanned(machine: Machine, path: str) -> bool:
    try:
        with machine.files.real(path).open("rb") as file:
            head = file.read(512)
    except OSError:
        return False
    return head.startswith(_MAGIC) or head[_TAR[0] :].startswith(_TAR[1])


def _scan(machine: Machine, path: str, seconds: float) -> None:
    with machine.files.open.hold(path, "r", "rw"):
        threading.Event().wait(seconds)


def _quarantine(machine: Machine, path: str) -> None:
    if machine.files.is_file(path):
        machine.files.delete(path)
    machine.files.open.forget_infected(path)


def _later(seconds: float, work: Callable[[], None]) -> None:
    timer = threading.Timer(seconds, work)
    timer.daemon = True
    timer.start()


FAULTS: Mapping[str, Callable[[Machine, Mapping[str, object]], None]] = {"antivirus": _fault}
