# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Tests, over WinRM, of what Windows reports about its updates. Each test runs once for each host in the inventory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

PowerShell = Callable[[str], str]
CURRENT_VERSION = r"HKLM:\SOFTWARE\Microsoft\Windows NT\CurrentVersion"


def test_the_updates_are_installed(powershell: PowerShell, variables: dict[str, Any]) -> None:
    found = powershell("Get-HotFix | ForEach-Object { $_.HotFixID }").splitlines()
    assert set(variables["windows_patches_public"]) <= set(found)


def test_windows_is_the_build_that_the_update_brings(powershell: PowerShell) -> None:
    # KB5048654 of December 2024 updates Windows Server 2022 to build 20348.2966.
    assert powershell(f"(Get-ItemProperty -LiteralPath '{CURRENT_VERSION}').UBR") == "2966"


def test_no_reboot_is_due(powershell: PowerShell) -> None:
    key = r"HKLM:\SOFTWARE\Microsoft\Windows\CurrentVersion\Component Based Servicing\RebootPending"
    assert powershell(f"Test-Path -LiteralPath '{key}'") == "False"


def test_nothing_is_left_of_the_run(powershell: PowerShell) -> None:
    assert powershell(r"Test-Path -LiteralPath HKLM:\SOFTWARE\winkube\patches") == "False"
    assert powershell("(Get-Service -Name wuauserv).StartType") != "Disabled"
