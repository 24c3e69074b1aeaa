# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Tests, over WinRM, of a machine after its reset. Each test runs once for each host in the inventory."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from testinfra.host import Host

PowerShell = Callable[[str], str]


def test_the_kubelet_waits_for_a_join(powershell: PowerShell) -> None:
    assert powershell("(Get-Service -Name kubelet).Status") == "Stopped"
    assert powershell("(Get-Service -Name containerd).Status") == "Running"


@pytest.mark.parametrize(
    "path",
    [
        r"C:\etc\kubernetes\kubelet.conf",
        r"C:\etc\kubernetes\pki\ca.crt",
        r"C:\var\lib\kubelet\config.yaml",
        r"C:\var\lib\kubelet\kubeadm-flags.env",
        r"C:\var\lib\kubelet\pki\kubelet-client-current.pem",
        r"C:\etc\cni\net.d\10-flannel.conf",
    ],
)
def test_files_of_the_cluster_are_gone(powershell: PowerShell, path: str) -> None:
    assert powershell(f"Test-Path -LiteralPath '{path}'") == "False"


def test_no_pod_and_no_network_is_left(host: Host, powershell: PowerShell) -> None:
    assert host.check_output("crictl pods --quiet") == ""
    assert powershell("Get-HnsNetwork | ForEach-Object { $_.Name }") == ""


def test_the_programs_are_still_there(powershell: PowerShell) -> None:
    assert powershell(r"Test-Path -LiteralPath C:\k\kubelet.exe") == "True"
    assert powershell(r"Test-Path -LiteralPath C:\k\kubeadm.exe") == "True"
