# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Tests, over WinRM, of the pod network of each node. Each test runs once for each host in the inventory."""

from __future__ import annotations

import ipaddress
import json
from collections.abc import Callable
from typing import Any

import pytest
import yaml
from testinfra.host import Host

PowerShell = Callable[[str], str]
CONFIGURATIONS = r"C:\etc\cni\net.d"
PROXY = r"C:\k\kube-proxy\config.yaml"
# By plugin: CNI configuration, HNS network, network services.
EXPECTED = {
    "flannel": ("10-flannel.conf", "flannel.4096", ["flanneld", "kube-proxy"]),
    "calico": ("10-calico.conflist", "Calico", []),
}


@pytest.fixture
def plugin(variables: dict[str, Any]) -> str:
    """The pod network of the host."""
    return str(variables["cni_plugin"])


def test_the_runtime_has_a_network(host: Host) -> None:
    conditions = json.loads(host.check_output("crictl info"))["status"]["conditions"]
    assert {condition["type"]: condition["status"] for condition in conditions}["NetworkReady"] is True


def test_the_overlay_network_exists(powershell: PowerShell, plugin: str) -> None:
    network = EXPECTED[plugin][1]
    found = powershell(f"Get-HnsNetwork | Where-Object {{ $_.Name -eq '{network}' }} | ForEach-Object {{ $_.Type }}")
    assert found == "Overlay"


def test_only_this_network_has_a_cni_configuration(powershell: PowerShell, plugin: str) -> None:
    names = powershell(f"Get-ChildItem -LiteralPath '{CONFIGURATIONS}' | ForEach-Object {{ $_.Name }}").splitlines()
    assert [name for name in names if name.endswith((".conf", ".conflist", ".json"))] == [EXPECTED[plugin][0]]


def test_kube_proxy_uses_the_network_and_an_address_in_it(powershell: PowerShell, plugin: str) -> None:
    network = EXPECTED[plugin][1]
    winkernel = yaml.safe_load(powershell(f"Get-Content -Raw -LiteralPath '{PROXY}'"))["winkernel"]
    assert winkernel["networkName"] == network
    subnet = powershell(
        f"Get-HnsNetwork | Where-Object {{ $_.Name -eq '{network}' }} | ForEach-Object {{ $_.Subnets }} "
        "| ForEach-Object { $_.AddressPrefix }"
    )
    assert ipaddress.ip_address(winkernel["sourceVip"]) in ipaddress.ip_network(subnet)


def test_services_run_where_the_network_runs_as_services(powershell: PowerShell, plugin: str) -> None:
    for service in ("flanneld", "kube-proxy"):
        found = powershell(f"Get-Service | Where-Object {{ $_.Name -eq '{service}' }} | ForEach-Object {{ $_.Status }}")
        assert found == ("Running" if service in EXPECTED[plugin][2] else ""), service
