# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
r"""kubernetes-sigs/image-builder's Windows playbook, from end to end, on a simulated server.

WINKUBE_IMAGE_BUILDER is the path of its folder images/capi/ansible/windows:

    git clone https://github.com/kubernetes-sigs/image-builder && git -C image-builder checkout ae63061
    WINKUBE_IMAGE_BUILDER=$PWD/image-builder/images/capi/ansible/windows \
        python -m pytest -n 0 -s tests/integration/test_image_builder.py

Its variables are what its Packer templates pass for Azure, as extra variables; what it downloads comes from the
simulated publishers, through a proxy whose authority the server trusts. Each test prints the number of tasks that were
ok, changed and skipped, the number of remote commands that the server answered, and the duration in seconds.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from integration.conftest import SiteFactory
from integration.playbooks import PlayRun, Site, link_variables

from simulator.artifacts.certificates import PrivateCA
from simulator.artifacts.server import ArtifactServer
from simulator.machine import accounts, certificate_store
from simulator.machine.ansible_actions import Elevations
from simulator.machine.machine import Machine
from simulator.windows.networking import port_ranges
from simulator.windows.networking.firewall_rules import Firewall
from simulator.windows.networking.web_request import INTERNET_SETTINGS
from simulator.windows.security.defender import Preferences
from simulator.windows.software.features import is_installed

FOLDER = os.environ.get("WINKUBE_IMAGE_BUILDER", "")
KUBERNETES, CONTAINERD, CLOUDBASE = "1.37.1", "2.1.5", "1.1.6"
_GITHUB = "https://github.com"
_PLUGINS = "cloudbaseinit.plugins.common.mtu.MTUPlugin"
# packer/config/windows/*.json and packer/azure/packer-windows.json, with their user variables replaced.
VARIABLES: dict[str, Any] = {
    "packer_builder_type": "azure-arm",
    "distribution_version": "2022",
    "runtime": "containerd",
    "containerd_version": CONTAINERD,
    "containerd_url": f"{_GITHUB}/containerd/containerd/releases/download/v{CONTAINERD}/"
    f"containerd-{CONTAINERD}-windows-amd64.tar.gz",
    "containerd_sha256": f"{_GITHUB}/containerd/containerd/releases/download/v{CONTAINERD}/"
    f"containerd-{CONTAINERD}-windows-amd64.tar.gz.sha256sum",
    "containerd_additional_settings": "",
    "kubernetes_semver": f"v{KUBERNETES}",
    "kubernetes_base_url": f"https://dl.k8s.io/release/v{KUBERNETES}/bin/windows/amd64",
    "kubernetes_install_path": "c:\\k",
    "windows_service_manager": "windows_service",
    "cloudbase_init_url": f"{_GITHUB}/cloudbase/cloudbase-init/releases/download/{CLOUDBASE}/"
    f"CloudbaseInitSetup_{CLOUDBASE.replace('.', '_')}_x64.msi",
    "cloudbase_plugins": _PLUGINS,
    "cloudbase_plugins_unattend": _PLUGINS,
    "cloudbase_metadata_services": "cloudbaseinit.metadata.services.azureservice.AzureService",
    "cloudbase_metadata_services_unattend": "cloudbaseinit.metadata.services.base.EmptyMetadataService",
    "cloudbase_logging_serial_port": "COM2,115200,N,8",
    "cloudbase_real_time_clock_utc": "false",
    "netbios_host_name_compatibility": "true",
    "nssm_url": "https://upstreamartifacts.azureedge.net/nssm/nssm.exe",
    "gmsa_keyvault_url": "",
    "ssh_source_url": f"{_GITHUB}/PowerShell/Win32-OpenSSH/releases/download/v9.8.1.0p1-Preview/OpenSSH-Win64.zip",
    "prepull": "true",
    "debug_tools": "true",
    "additional_debug_files": "",
    "load_additional_components": "false",
    "disable_hypervisor": "true",
    "windows_updates_kbs": "",
    "windows_updates_categories": "",
    "image_builder_version": "v0.1.50",
    "image_builder_commit": "ae63061",
}

pytestmark = pytest.mark.skipif(
    not FOLDER, reason="WINKUBE_IMAGE_BUILDER names no copy of image-builder's images/capi/ansible/windows"
)


def behind_a_proxy(machine: Machine, server: ArtifactServer, authority: PrivateCA) -> None:
    """Set the proxy in Internet Options and trust its authority, like a server in a company."""
    values = {"ProxyEnable": 1, "ProxyServer": f"{server.address}:{server.port}", "ProxyOverride": "<local>"}
    machine.registry.write(INTERNET_SETTINGS, values)
    root = x509.load_pem_x509_certificate(authority.pem)
    certificate_store.add(machine, "Root", root)


@pytest.fixture(scope="module")
def publishers() -> Iterator[tuple[ArtifactServer, PrivateCA]]:
    """Yield the proxy to the simulated publishers, and its authority."""
    authority = PrivateCA()
    with ArtifactServer(authority=authority) as server:
        yield server, authority


@pytest.fixture(scope="module")
def site(start_site: SiteFactory, publishers: tuple[ArtifactServer, PrivateCA]) -> Site:
    """Return a site with a server that is accessed like Packer does."""
    return build_server(start_site, publishers, "2022")


def build_server(start: SiteFactory, publishers: tuple[ArtifactServer, PrivateCA], windows: str) -> Site:
    """Start a server behind the proxy."""
    site = start({"name": "image", "windows": windows}, **link_variables("winrm", "https", "basic"))
    behind_a_proxy(site.machine("image"), *publishers)
    return site


def play(site: Site, **variables: Any) -> PlayRun:
    """Run the playbook with the variables of its Packer templates."""
    started = time.monotonic()
    run = site.run(str(Path(FOLDER, "node_windows.yml")), variables=VARIABLES | variables, timeout=1500)
    seconds = time.monotonic() - started
    sent = site.counters("image")["remote_commands"]
    print(f"\nimage-builder: {json.dumps(run.recap['image'])}, {sent} remote commands, {seconds:.0f} s")
    return run


@pytest.fixture(scope="module")
def run(site: Site) -> PlayRun:
    """Return the first run of the playbook."""
    return play(site)


def ended_well(run: PlayRun) -> bool:
    """Return whether nothing failed, not even with ignored errors."""
    return not any(run.expect().recap["image"][name] for name in ("failed", "ignored", "rescued", "unreachable"))


def test_image_builders_playbook_runs_from_end_to_end(run: PlayRun) -> None:
    assert ended_well(run)
    assert run.recap["image"]["changed"] >= 60, "it does its work and is not skipped"


def test_services(site: Site, run: PlayRun) -> None:
    machine = site.machine("image")
    found = {name: machine.services.get(name) for name in ("kubelet", "containerd", "sshd", "cloudbase-init", "WinRM")}
    states = {name: (each.start_mode, each.state) for name, each in found.items() if each}
    assert states == {
        "kubelet": ("Automatic", "Stopped"),
        "containerd": ("Automatic", "Running"),
        "sshd": ("Automatic", "Running"),
        # In SetSetupComplete.cmd, SetupComplete.cmd starts it after Windows' setup.
        "cloudbase-init": ("Manual", "Stopped"),
        "WinRM": ("Automatic", "Running"),
    }
    kubelet, winrm = found["kubelet"], found["WinRM"]
    assert kubelet is not None
    assert kubelet.dependencies == ["containerd"]
    assert kubelet.argv[0] == r"c:\k\kube-log-runner.exe"
    assert winrm is not None
    assert winrm.delayed
    assert machine.files.is_file(r"C:\Windows\Setup\Scripts\SetupComplete.cmd")


def test_files(site: Site, run: PlayRun) -> None:
    files = site.machine("image").files
    for path in (
        *(rf"C:\k\{name}.exe" for name in ("kubeadm", "kubectl", "kubelet", "kube-log-runner")),
        *(rf"C:\Program Files\containerd\{name}" for name in ("containerd.exe", "ctr.exe", "config.toml")),
        *(rf"C:\Program Files\OpenSSH\{name}" for name in ("sshd.exe", "ssh-agent.exe")),
        r"C:\Program Files\Cloudbase Solutions\Cloudbase-Init\conf\cloudbase-init.conf",
        r"C:\Program Files\Microsoft SDKs\Azure\CLI2\wbin\az.cmd",
        r"C:\var\lib\kubelet\credential-provider\acr-credential-provider.exe",
        r"C:\k\debug\collectlogs.ps1",
    ):
        assert files.is_file(path), path
    assert not files.exists(r"C:\azure-cli.msi")
    assert "IMAGE_BUILDER_COMMIT=ae63061" in files.read_text(r"C:\image-builder-release.txt")
    assert "PasswordAuthentication no" in files.read_text(r"C:\ProgramData\ssh\sshd_config")
    assert "BU" not in files.who_may_read(r"C:\Program Files\OpenSSH"), "Users may not use OpenSSH's programs"


def test_settings(site: Site, run: PlayRun) -> None:
    machine = site.machine("image")
    data = machine.registry.data
    assert data(r"HKLM:\SOFTWARE\Policies\Microsoft\Windows\WindowsUpdate\AU", "NoAutoUpdate") == 1
    assert data(r"HKLM:\SYSTEM\CurrentControlSet\Services\hns\State", "EnableCompartmentNamespace") == 1
    assert data(r"HKLM:\SYSTEM\CurrentControlSet\Policies\Microsoft\FeatureManagement\Overrides", "1114842764") == 0
    path = machine.environment()["Path"].casefold().split(";")
    assert path[-2:] == [r"c:\program files\containerd", r"c:\k"]
    assert port_ranges.dynamic(machine, "tcp") == (34000, 31536)
    assert all(is_installed(machine, name) for name in ("Containers", "Hyper-V", "Hyper-V-PowerShell"))
    exclusions = machine.part(Preferences).lists["ExclusionProcess"]
    assert exclusions == [rf"C:\Program Files\containerd\{name}.exe" for name in ("containerd", "ctr")]
    assert machine.part(Elevations).runs == ["SYSTEM", "System", "SYSTEM"]


def test_firewall_and_accounts(site: Site, run: PlayRun) -> None:
    machine = site.machine("image")
    rules = {rule.display_name: rule for rule in machine.part(Firewall).rules.values()}
    assert (rules["kubelet"].local_port, rules["kubelet"].action) == (("10250",), "Allow")
    assert rules["sshd"].local_port == ("22",)
    group = accounts.find(machine, "WireServerAccess", "Group")
    assert group is not None
    members = [accounts.name_of(machine, member) for member in accounts.member_sids(machine, group)]
    assert members == [f"{machine.name}\\cloudbase-init"]
    block = rules["Block-Outbound-168.63.129.16-port-80-for-cve-2021-27075"]
    assert (block.direction, block.action, block.remote_address) == ("Outbound", "Block", ("168.63.129.16",))
    assert f"(D;;CC;;;{accounts.sid(machine, group)})" in block.local_user


def test_with_windows_own_openssh_and_nssm_on_2025(
    start_site: SiteFactory, publishers: tuple[ArtifactServer, PrivateCA]
) -> None:
    site = build_server(start_site, publishers, "2025")
    changed = {"distribution_version": "2025", "ssh_source_url": "", "windows_service_manager": "nssm"}
    assert ended_well(play(site, **changed))
    machine = site.machine("image")
    kubelet, sshd = machine.services.get("kubelet"), machine.services.get("sshd")
    assert kubelet is not None
    assert (kubelet.argv[0], kubelet.start_mode, kubelet.dependencies) == (
        r"c:\k\nssm.exe",
        "Automatic",
        ["containerd"],
    )
    parameters = r"HKLM:\SYSTEM\CurrentControlSet\Services\kubelet\Parameters"
    assert machine.registry.data(parameters, "AppRotateBytes") == 10485760
    assert str(machine.registry.data(parameters, "AppParameters")).endswith(r"c:\k\StartKubelet.ps1")
    assert sshd is not None
    assert (sshd.argv[0], sshd.state) == (r"C:\Windows\System32\OpenSSH\sshd.exe", "Running")
