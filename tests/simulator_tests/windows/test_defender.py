# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Defender's preferences."""

from __future__ import annotations

from typing import Any


def test_exclusions_are_added_once_and_removed(shell: Any) -> None:
    assert shell.one("Get-MpPreference")["ExclusionPath"] is None
    shell.all("Add-MpPreference", ExclusionPath=[r"C:\k", r"C:\ProgramData\containerd"], ExclusionProcess="kubelet.exe")
    shell.all("Add-MpPreference", ExclusionPath=r"c:\K")
    preferences = shell.one("Get-MpPreference")
    assert preferences["ExclusionPath"] == [r"C:\k", r"C:\ProgramData\containerd"]
    assert preferences["ExclusionProcess"] == ["kubelet.exe"]
    shell.all("Remove-MpPreference", ExclusionPath=[r"C:\K", r"C:\none"])
    assert shell.one("Get-MpPreference")["ExclusionPath"] == [r"C:\ProgramData\containerd"]


def test_settings_are_replaced(shell: Any) -> None:
    shell.all("Set-MpPreference", DisableRealtimeMonitoring=True, ExclusionPath=["C:\\a"])
    shell.all("Set-MpPreference", ExclusionPath=["C:\\b"])
    assert shell.one("Get-MpPreference")["ExclusionPath"] == ["C:\\b"]
    assert shell.one("Get-MpComputerStatus")["RealTimeProtectionEnabled"] is False


def test_without_the_feature_its_cmdlets_do_not_exist(shell: Any) -> None:
    shell.one("Uninstall-WindowsFeature", Name="Windows-Defender")
    assert shell.one("Get-MpPreference")["MAPSReporting"] == 2
    shell.machine.power.reset()
    assert shell.error("Get-MpPreference").error_id == "CommandNotFoundException"


def test_without_their_service_the_cmdlets_fail(shell: Any) -> None:
    shell.machine.services.stop("WinDefend")
    assert shell.error("Get-MpPreference").error_id == "HRESULT 0x800106ba,Get-MpPreference"
