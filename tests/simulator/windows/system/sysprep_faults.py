# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Failures of sysprep and their lines in setuperr.log. The `sysprep_fault` setting of a machine selects a failure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Fault:
    """A failure of sysprep: the phase in which it happens, its lines in the log, and the source of these lines.

    A failed validation leaves the machine unchanged. After a failed generalization, no image can be made from the disk.
    """

    phase: Literal["validate", "generalize"]
    lines: tuple[str, ...]
    source: str


FAULTS: Mapping[str, Fault] = {
    "validate": Fault(
        "validate",
        (
            (
                "Sysprep_Clean_Validate_Opk: Audit mode cannot be turned on if there is an active scenario.; "
                "hr = 0x800F0975"
            ),
        ),
        "learn.microsoft.com/windows-hardware/manufacture/desktop/dism-storage-reserve",
    ),
    "generalize": Fault(
        "generalize",
        ("ActionPlatform::LaunchModule: Failure occurred while executing 'Sysprep_Generalize'; dwRet = 0x1f",),
        "made up: a cause that users have not reported",
    ),
    "bitlocker": Fault(
        "validate",
        (
            "BitLocker-Sysprep: BitLocker is on for the OS volume. Turn BitLocker off to run Sysprep. (0x80310039)",
            (
                "ActionPlatform::LaunchModule: Failure occurred while executing 'ValidateBitLockerState' from "
                r"C:\Windows\System32\BdeSysprep.dll; dwRet = 0x80310039"
            ),
        ),
        "github.com/antifob/incus-windows/issues/30",
    ),
    "servicing": Fault(
        "validate",
        (
            "[0x0f00b0] SYSPRP spopk.dll:: Failed to query pending CBS operations; hr = 0x80080005",
            (
                "[0x0f0082] SYSPRP ActionPlatform::LaunchModule: Failure occurred while executing "
                r"'Sysprep_Clean_Validate_Opk' from C:\Windows\System32\spopk.dll; dwRet = 0x5"
            ),
        ),
        "github.com/GoogleCloudPlatform/compute-image-windows/issues/156",
    ),
    "defender_for_endpoint": Fault(
        "generalize",
        (
            (
                "ActionPlatform::DeleteValue: Error from RegDeleteValueW for value senseGuid under key "
                r"HKEY_LOCAL_MACHINE\Software\Microsoft\Windows Advanced Threat Protection; dwRet = 0x5"
            ),
            "SysprepSession::ExecuteInternal: Error in executing action for Windows-SenseClient-Service; dwRet = 0x5",
        ),
        "github.com/actions/runner-images/issues/9659",
    ),
    "desired_state_configuration": Fault(
        "generalize",
        (
            (
                "[0x0f0082] SYSPRP LaunchDll:Failure occurred while executing 'DscCore.dll,SysPrep_Cleanup', returned "
                "error code 0x2"
            ),
        ),
        "github.com/MicrosoftDocs/azure-docs/issues/80346",
    ),
    "rearm": Fault(
        "generalize",
        (
            (
                r"[0x0f0082] SYSPRP LaunchDll:Failure occurred while executing 'C:\Windows\System32\slc.dll,"
                "SLReArmWindows', returned error code -1073425657"
            ),
        ),
        "support.microsoft.com/help/929828",
    ),
}


def fault_of(name: object) -> Fault | None:
    """Return the fault that a machine's `sysprep_fault` setting names, or None if the setting is empty.

    Raises:
        ValueError: no fault has this name.
    """
    if not name:
        return None
    if name not in FAULTS:
        raise ValueError(f"sysprep_fault: expected one of {', '.join(FAULTS)}, got {name!r}")
    return FAULTS[str(name)]
