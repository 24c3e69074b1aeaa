# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Tests, over WinRM, of a node after its upgrade. Each test runs once for each host in the inventory."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from testinfra.host import Host

PowerShell = Callable[[str], str]
VERSION = "v1.37.1"
"""The version in ../../upgrade.yml."""


@pytest.mark.parametrize(
    "program", ["kubelet.exe --version", "kubeadm.exe version -o short", "kube-proxy.exe --version"]
)
def test_programs_have_the_new_version(powershell: PowerShell, program: str) -> None:
    assert powershell(rf"C:\k\{program}").split()[-1] == VERSION


@pytest.mark.parametrize("service", ["containerd", "kubelet"])
def test_services_run(powershell: PowerShell, service: str) -> None:
    assert powershell(f'$s = Get-Service -Name {service}; "$($s.Status) $($s.StartType)"') == "Running Automatic"


def test_the_kubelet_runs_with_the_flags_that_kubeadm_left(powershell: PowerShell) -> None:
    command_line = powershell("(Get-CimInstance Win32_Service -Filter \"Name='kubelet'\").PathName")
    left = powershell(r"Get-Content -Raw -LiteralPath C:\var\lib\kubelet\kubeadm-flags.env")
    assert set(left.partition("=")[2].strip('"').split()) <= set(command_line.split())


def test_pods_run(host: Host) -> None:
    running = host.check_output("crictl ps --quiet").split()
    # flannel and kube-proxy.
    assert len(running) == 2


def test_nothing_is_left_of_the_upgrade(powershell: PowerShell) -> None:
    assert powershell(r"Test-Path -LiteralPath C:\Windows\winkube\upgrade") == "False"
    assert (
        powershell(r"Get-ChildItem -LiteralPath C:\k | ForEach-Object { $_.Name } | Where-Object { $_ -like '*.old' }")
        == ""
    )
