# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Tests, over WinRM, of what is left in HNS. Each test runs once for each host in the inventory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

PowerShell = Callable[[str], str]


def listed(powershell: PowerShell, command: str, name: str) -> list[str]:
    return powershell(f"{command} | ForEach-Object {{ $_.{name} }}").splitlines()


@pytest.fixture
def cleared(variables: dict[str, Any]) -> bool:
    """Whether the scenario reset this host."""
    return str(variables["ansible_host"]).endswith(".25")


def test_the_networks(powershell: PowerShell, cleared: bool) -> None:
    assert listed(powershell, "Get-HnsNetwork", "Name") == ([] if cleared else ["cbr0"])


def test_pods_that_run_have_their_endpoints_and_nobody_else(powershell: PowerShell, cleared: bool) -> None:
    names = listed(powershell, "Get-HnsEndpoint", "Name")
    running = powershell("crictl pods --quiet").split()
    assert len(running) == (0 if cleared else 2)
    assert sorted(name for name in names if name.endswith("_cbr0")) == sorted(f"{pod}_cbr0" for pod in running)
    assert bool(names) is not cleared


def test_services_run(powershell: PowerShell, cleared: bool) -> None:
    for service in ("containerd", "hns", *(() if cleared else ("kubelet", "kube-proxy"))):
        assert powershell(f"(Get-Service -Name {service}).Status") == "Running", service
    if cleared:
        assert powershell("(Get-Service -Name kubelet).Status") == "Stopped"


def test_no_cleanup_is_under_way(powershell: PowerShell) -> None:
    assert powershell(r"Test-Path -LiteralPath C:\ProgramData\winkube\hns\cleanup.json") == "False"


def test_the_static_address_is_back(powershell: PowerShell, variables: dict[str, Any], cleared: bool) -> None:
    address = variables["ansible_host"]
    origin = powershell(f"(Get-NetIPAddress -IPAddress {address}).PrefixOrigin")
    assert origin == ("Manual" if cleared else "Dhcp")
