# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Each known failure of sysprep is recognized by the lines that users report, from either of its logs.

The lines are those of the sources in sysprep_failures.yml.
"""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.winkube.node.plugins.plugin_utils.lifecycle import known_failures, sysprep_failures
from ansible_collections.winkube.node.plugins.plugin_utils.wire.messages import CallResult, Observation

NOISE = "2026-11-26 01:02:03, Info                  SYSPRP ========================================================\n"
REPORTED = {
    "the app package Contoso.App_1.0.0.0_neutral__8wekyb3d8bbwe was installed": (
        "Error SYSPRP Package Contoso.App_1.0.0.0_neutral__8wekyb3d8bbwe was installed for a user, but not provisioned "
        "for all users. This package will not function properly in the sysprep image."
    ),
    "the volume of Windows is encrypted": (
        "Error [0x0f0082] SYSPRP ActionPlatform::LaunchModule: Failure occurred while executing "
        r"'ValidateBitLockerState' from C:\Windows\System32\BdeSysprep.dll; dwRet = 0x80310039"
    ),
    "Windows updates wait for a reboot": (
        "Error SYSPRP Sysprep_Clean_Validate_Opk: There are one or more Windows updates that require a reboot. To run "
        "Sysprep, reboot the computer and restart the application."
    ),
    "Windows' servicing stack did not answer": (
        "Error [0x0f00b0] SYSPRP spopk.dll:: Failed to query pending CBS operations; hr = 0x80080005"
    ),
    "the machine is onboarded to Microsoft Defender for Endpoint": (
        "Error SYSPRP ActionPlatform::DeleteValue: Error from RegDeleteValueW for value senseGuid under key "
        r"HKEY_LOCAL_MACHINE\Software\Microsoft\Windows Advanced Threat Protection; dwRet = 0x5"
    ),
    "Windows' activation was reset too often": (
        "Error [0x0f0082] SYSPRP LaunchDll:Failure occurred while executing 'slc.dll,SLReArmWindows', returned error "
        "code -1073425657"
    ),
    "Windows was upgraded from an earlier version": "Error [0x0f0036] SYSPRP Sysprep will not run on an upgraded OS.",
    "Windows uses its reserved storage": (
        "Error SYSPRP Sysprep_Clean_Validate_Opk: Audit mode cannot be turned on if there is an active scenario.; "
        "hr = 0x800F0975"
    ),
    "Windows' Desired State Configuration": (
        "Error SYSPRP LaunchDll:Failure occurred while executing 'DscCore.dll,SysPrep_Cleanup', returned error code 0x2"
    ),
    "the Azure agent could not be generalized": (
        r"Error SYSPRP LaunchDll:Could not load DLL C:\Windows\SYSTEM32\VMAgentDisabler.dll[gle=0x000000c1]"
    ),
    "the answer file for the first boot is invalid": (
        "Error SYSPRP WinMain:Sysprep could not parse or process the unattended answer file for pass [generalize]"
    ),
    "an earlier run of sysprep failed": (
        "Error [0x0f0036] SYSPRP spopk.dll:: Sysprep will not run: machine is in an invalid state or we couldn't "
        "update the recorded state, dwRet = 0x1f"
    ),
}


def _reason(*logs: str) -> str:
    output = tuple[t.Any, ...]({"content": text} for text in logs)
    return sysprep_failures.reason(Observation(calls={"logs": CallResult(ok=True, output=output)}))


@pytest.mark.parametrize("error_log", [True, False])
@pytest.mark.parametrize("cause", REPORTED)
def test_each_failure_is_explained_from_its_own_log(cause: str, error_log: bool) -> None:
    log = f"{NOISE}{REPORTED[cause]}\n{NOISE}"
    text = _reason(log, "") if error_log else _reason("", log)
    assert text.startswith(cause), text
    # The remedy follows, and the line itself.
    assert ". " in text[: text.index("sysprep's log ends with:")]
    assert REPORTED[cause] in text


def test_every_known_failure_has_a_reported_line() -> None:
    assert len(REPORTED) == len(known_failures.load(sysprep_failures.DATA))
