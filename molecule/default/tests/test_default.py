# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Tests, over WinRM, of the state of a node after site.yml. Each test runs once for each host in the inventory."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable
from typing import Any

import pytest
from testinfra.host import Host

PowerShell = Callable[[str], str]
CONTAINERD = r"C:\Program Files\containerd"
KUBELET = r"C:\k\kubelet.exe"
FIREWALL = "Get-NetFirewallRule -DisplayName 'Kubernetes kubelet (TCP 10250)'"


def test_it_is_a_supported_windows_with_its_name(host: Host, variables: dict[str, Any]) -> None:
    assert host.system_info.type == "windows"
    assert host.system_info.release.split()[0] in ("10.0.17763", "10.0.20348", "10.0.26100")
    assert host.check_output("hostname").lower() == variables["kubernetes_node_hostname"]


def test_containers_can_run(powershell: PowerShell) -> None:
    assert powershell("(Get-WindowsFeature -Name Containers).InstallState") == "Installed"


@pytest.mark.parametrize("service", ["containerd", "kubelet"])
def test_services_run_and_start_with_windows(powershell: PowerShell, service: str) -> None:
    assert powershell(f'$s = Get-Service -Name {service}; "$($s.Status) $($s.StartType)"') == "Running Automatic"


def test_they_listen(powershell: PowerShell) -> None:
    assert powershell(r"Test-Path -LiteralPath \\.\pipe\containerd-containerd") == "True"
    owner = "(Get-NetTCPConnection -State Listen -LocalPort 10250).OwningProcess"
    assert powershell(f"(Get-Process -Id {owner}).Name") == "kubelet"


def test_kubelet_starts_after_containerd(host: Host) -> None:
    lines = host.check_output("sc.exe qc kubelet").splitlines()
    assert [line.split(":", 1)[1].strip() for line in lines if "DEPENDENCIES" in line] == ["containerd"]


def test_kubelet_is_the_version_that_was_asked_for(powershell: PowerShell, variables: dict[str, Any]) -> None:
    assert powershell(f"Test-Path -LiteralPath '{KUBELET}' -PathType Leaf") == "True"
    assert powershell(f"& '{KUBELET}' --version") == f"Kubernetes v{variables['kube_version']}"


def test_kubelet_keeps_its_arguments_in_the_service(powershell: PowerShell) -> None:
    key = r"HKLM:\SYSTEM\CurrentControlSet\Services\kubelet"
    program, *arguments = powershell(f"(Get-ItemProperty -LiteralPath '{key}').ImagePath").split()
    # A kubelet that runs as a service itself writes no log file, so kube-log-runner.exe runs it and writes the log.
    assert program == r"C:\k\kube-log-runner.exe"
    assert KUBELET in arguments
    assert "--windows-service" in arguments
    # Which flags kubeadm writes depends on its version. It sets the node's name only if the host has a different name.
    left = powershell(r"Get-Content -Raw -LiteralPath C:\var\lib\kubelet\kubeadm-flags.env")
    assert set(left.partition("=")[2].strip('"').split()) <= set(arguments)


def test_containerd_runs_process_isolated_containers(powershell: PowerShell) -> None:
    assert powershell(rf"& '{CONTAINERD}\bin\containerd.exe' --version").startswith("containerd ")
    plugins = tomllib.loads(powershell(rf"Get-Content -Raw -LiteralPath '{CONTAINERD}\config.toml'"))["plugins"]
    assert plugins["io.containerd.cri.v1.images"]["snapshotter"] == "windows"
    runtime = plugins["io.containerd.cri.v1.runtime"]
    assert runtime["containerd"]["default_runtime_name"] == "runhcs-wcow-process"
    assert runtime["cni"] == {"bin_dirs": [r"C:\opt\cni\bin"], "conf_dir": r"C:\etc\cni\net.d"}


def test_the_runtime_answers_and_holds_the_pause_image(host: Host) -> None:
    # WinRM's processes inherit the machine's PATH, which is where crictl and ctr are found.
    conditions = json.loads(host.check_output("crictl info"))["status"]["conditions"]
    assert {condition["type"]: condition["status"] for condition in conditions} == {
        "RuntimeReady": True,
        "NetworkReady": True,
    }
    images = host.check_output("ctr -n k8s.io images ls -q").split()
    assert any(image.startswith("registry.k8s.io/pause:") for image in images)


def test_programs_are_on_the_path(powershell: PowerShell) -> None:
    path = powershell("[Environment]::GetEnvironmentVariable('Path', 'Machine')").split(";")
    for folder in (r"C:\k", rf"{CONTAINERD}\bin", rf"{CONTAINERD}\crictl"):
        assert path.count(folder) == 1, path
    assert r"C:\Windows\system32" in path


def test_the_firewall_lets_the_control_plane_in(powershell: PowerShell) -> None:
    rule = powershell(f'{FIREWALL} | ForEach-Object {{ "$($_.Enabled) $($_.Direction) $($_.Action)" }}')
    assert rule == "True Inbound Allow"
    ports = powershell(
        f'{FIREWALL} | Get-NetFirewallPortFilter | ForEach-Object {{ "$($_.Protocol) $($_.LocalPort)" }}'
    )
    assert ports == "TCP 10250"


def test_flannel_made_the_network(powershell: PowerShell) -> None:
    configuration = json.loads(powershell(r"Get-Content -Raw -LiteralPath C:\etc\cni\net.d\10-flannel.conf"))
    assert (configuration["type"], configuration["delegate"]["type"]) == ("flannel", "win-bridge")
    network = "Get-HnsNetwork | Where-Object { $_.Name -eq '%s' } | ForEach-Object { $_.Type }"
    assert powershell(network % configuration["name"]) == "L2Bridge"


def test_defender_leaves_containerd_alone(powershell: PowerShell) -> None:
    excluded = powershell("(Get-MpPreference).ExclusionPath").splitlines()
    assert {CONTAINERD, r"C:\ProgramData\containerd"} <= set(excluded)


def test_no_token_is_left(powershell: PowerShell) -> None:
    assert powershell(r"Test-Path -LiteralPath C:\etc\kubernetes\bootstrap-kubelet.conf") == "False"
