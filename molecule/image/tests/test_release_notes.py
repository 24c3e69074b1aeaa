# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Tests, over WinRM, of a machine that was started from an image: one for each item of the image's release notes.

WINKUBE_RELEASE_NOTES is the JSON file of the release. docs/verifying_an_image.md shows how to run these tests on a real
machine. Fixtures read the machine with one command for each section.
"""

from __future__ import annotations

import json
import ntpath
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from testinfra.host import Host

PowerShell = Callable[[str], str]
COPY = r"C:\ProgramData\winkube\release-notes.json"
FIRST_BOOT = r"C:\Windows\winkube\first-boot"
CURRENT_VERSION = r"HKLM:\SOFTWARE\Microsoft\Windows NT\CurrentVersion"
SETUP = r"HKLM:\SOFTWARE\Microsoft\Windows\CurrentVersion\Setup\State"
UPDATES = r"HKLM:\SOFTWARE\Microsoft\Windows\CurrentVersion\WindowsUpdate"
BUILD_ONLY = ("cloudbase-init",)
"""Services that are disabled during the build only, so the release notes do not have their start mode."""
HOST_KEYS = r"C:\ProgramData\ssh\ssh_host_*.pub"
PERSONAL, REMOTE_DESKTOP = r"Cert:\LocalMachine\My", r"Cert:\LocalMachine\Remote Desktop"


def release_notes() -> Mapping[str, Any]:
    """Return the release notes."""
    name = os.environ.get("WINKUBE_RELEASE_NOTES")
    if not name:
        raise pytest.UsageError("WINKUBE_RELEASE_NOTES: expected the JSON file of a release, got nothing")
    document: Mapping[str, Any] = json.loads(Path(name).read_text(encoding="utf-8"))
    return document


NOTES = release_notes()
CONTAINER_IMAGES = [(name, image["digest"]) for image in NOTES["container_images"] for name in image["names"]]
IDENTITY: Mapping[str, Any] = NOTES.get("identity") or {}


def each(section: str, key: str) -> pytest.MarkDecorator:
    """Return a mark that runs a test for each item of a section of the release notes."""
    return pytest.mark.parametrize("item", NOTES[section], ids=[str(one[key]) for one in NOTES[section]])


def table(text: str) -> dict[str, str]:
    """Return lines of the form `NAME|VALUE` as a mapping. Windows' names have no case."""
    pairs = (line.split("|", 1) for line in text.splitlines() if "|" in line)
    return {name.casefold(): value for name, value in pairs}


@pytest.fixture(scope="module")
def features(powershell: PowerShell) -> list[str]:
    return powershell("Get-WindowsFeature | Where-Object { $_.Installed } | ForEach-Object { $_.Name }").splitlines()


@pytest.fixture(scope="module")
def updates(powershell: PowerShell) -> list[str]:
    packages = "Get-WindowsPackage -Online | Where-Object { $_.PackageState -eq 'Installed' }"
    return powershell(
        f"Get-HotFix | ForEach-Object {{ $_.HotFixID }}; {packages} | ForEach-Object {{ $_.PackageName }}"
    ).splitlines()


@pytest.fixture(scope="module")
def services(powershell: PowerShell) -> dict[str, str]:
    return table(powershell('Get-Service | ForEach-Object { "$($_.Name)|$($_.StartType), $($_.Status)" }'))


@pytest.fixture(scope="module")
def registry(powershell: PowerShell) -> Callable[[str], dict[str, str]]:
    """A function that returns the values of a key, which it reads once."""
    known: dict[str, dict[str, str]] = {}

    def read(key: str) -> dict[str, str]:
        if key not in known:
            values = '$k.Property | ForEach-Object { "$_|$($k.GetValue($_))" }'
            known[key] = table(
                powershell(f"if (Test-Path -LiteralPath '{key}') {{ $k = Get-Item -LiteralPath '{key}'; {values} }}")
            )
        return known[key]

    return read


@pytest.fixture(scope="module")
def hashes(powershell: PowerShell) -> dict[str, str]:
    """The SHA-256 of all files in the cache."""
    paths = [artifact["path"] for artifact in NOTES["artifacts"]]
    cache = ntpath.commonpath(paths)
    lines = powershell(
        f"Get-ChildItem -LiteralPath '{cache}' -Recurse -File -Force | Get-FileHash -Algorithm SHA256 "
        '| ForEach-Object { "$($_.Path)|$($_.Hash)" }'
    )
    return table(lines.lower())


@pytest.fixture(scope="module")
def container_images(host: Host, variables: dict[str, Any]) -> dict[str, str]:
    """The digests of the container images by name."""
    if NOTES["runtime"] == "docker":
        form = "{{.Repository}}:{{.Tag}}|{{.Digest}}"
        return table(host.check_output(f'docker images --digests --no-trunc --format "{form}"'))
    folder = variables.get("container_runtime_install_dir", r"C:\Program Files\containerd")
    lines = host.check_output(f'"{folder}\\bin\\ctr.exe" -n k8s.io images list').splitlines()[1:]
    return {line.split()[0].casefold(): line.split()[2] for line in lines}


@pytest.fixture(scope="module")
def windows(powershell: PowerShell) -> dict[str, str]:
    names = ("ProductName", "EditionID", "InstallationType", "DisplayVersion")
    values = "; ".join(f'"{name}|$($v.{name})"' for name in names)
    build = '"build|$($v.CurrentBuildNumber).$($v.UBR)"'
    return table(powershell(f"$v = Get-ItemProperty -LiteralPath '{CURRENT_VERSION}'; {values}; {build}"))


@pytest.mark.parametrize("key", ["release", "host"])
def test_the_machine_was_started_from_this_image(powershell: PowerShell, key: str) -> None:
    assert powershell(f"(Get-Content -Raw -LiteralPath '{COPY}' | ConvertFrom-Json).{key}") == NOTES[key]


def test_the_first_boot_is_complete(powershell: PowerShell) -> None:
    assert powershell(f"(Get-ItemProperty -LiteralPath '{SETUP}').ImageState") == "IMAGE_STATE_COMPLETE"
    assert powershell(f"Test-Path -LiteralPath '{FIRST_BOOT}'") == "False"


@pytest.mark.parametrize(
    ("key", "name"),
    [
        ("product", "productname"),
        ("build", "build"),
        ("edition", "editionid"),
        ("installation", "installationtype"),
        ("display_version", "displayversion"),
    ],
)
def test_the_version_of_windows(windows: dict[str, str], key: str, name: str) -> None:
    assert windows[name] == NOTES["windows"][key]


def test_test_signing(host: Host) -> None:
    lines = [line.casefold().split() for line in host.check_output("bcdedit /enum {current}").splitlines()]
    assert any(line[:2] == ["testsigning", "yes"] for line in lines) is NOTES["windows"]["test_signing"]


@each("features", "name")
def test_a_feature_is_installed(features: list[str], item: Mapping[str, Any]) -> None:
    assert item["name"] in features


@each("updates", "id")
def test_an_update_is_installed(updates: list[str], item: Mapping[str, Any]) -> None:
    assert item["id"] in updates


@each("services", "name")
def test_a_service_starts_as_in_the_image(services: dict[str, str], item: Mapping[str, Any]) -> None:
    mode, dummy, state = services[item["name"].casefold()].partition(", ")
    assert mode == item["start_mode"] or item["name"] in BUILD_ONLY
    # Windows starts and stops services with the start mode Manual on demand.
    if (item["start_mode"], item["state"]) == ("Automatic", "Running"):
        assert state == "Running"


@each("registry_fixes", "value_name")
def test_a_registry_fix(registry: Callable[[str], dict[str, str]], item: Mapping[str, Any]) -> None:
    expected = None if item["actual"] is None else str(item["actual"])
    assert registry(item["path"]).get(item["value_name"].casefold()) == expected


@each("artifacts", "path")
def test_a_cached_artifact(hashes: dict[str, str], item: Mapping[str, Any]) -> None:
    assert hashes.get(item["path"].lower()) == item["sha256"]


@pytest.mark.parametrize(("name", "digest"), CONTAINER_IMAGES, ids=[name for name, _ in CONTAINER_IMAGES])
def test_a_container_image(container_images: dict[str, str], name: str, digest: str) -> None:
    assert name.casefold() in container_images
    # Docker knows no digest of images that it has built.
    assert container_images[name.casefold()] == digest or not digest


def test_the_disk(powershell: PowerShell, variables: dict[str, Any]) -> None:
    disk = "Get-CimInstance Win32_LogicalDisk -Filter \"DeviceID='C:'\""
    size, free = map(int, powershell(f'$d = {disk}; "$($d.Size) $($d.FreeSpace)"').split())
    # The release notes do not contain the size if it could not be read.
    assert size >= (NOTES["disk"]["total"] or 0)
    # 0 accepts a full drive. The playbook's default is the same, and it rounds, too.
    limit = int(variables.get("verify_image_max_fill_percent", 90)) or 100
    assert round(100 * (size - free) / size) <= limit
    left = "(Get-PartitionSupportedSize -DriveLetter C).SizeMax - (Get-Partition -DriveLetter C).Size"
    assert int(powershell(left)) <= 1 << 20


@pytest.mark.parametrize(
    ("key", "script"),
    [
        ("computer_name", "$env:COMPUTERNAME"),
        ("sid", "Get-LocalUser | ForEach-Object { $_.SID.Value -replace '-[0-9]+$', '' }"),
        ("certificates", f"Get-ChildItem -LiteralPath '{PERSONAL}' | ForEach-Object {{ $_.Thumbprint }}"),
        ("remote_desktop", f"Get-ChildItem -Path '{REMOTE_DESKTOP}*' | ForEach-Object {{ $_.Thumbprint }}"),
        ("host_keys", f"Get-ChildItem -Path '{HOST_KEYS}' | Get-FileHash | ForEach-Object {{ $_.Hash }}"),
        ("update_client", f"(Get-ItemProperty -LiteralPath '{UPDATES}').SusClientId"),
    ],
)
def test_the_machine_shares_nothing_with_the_build_machine(powershell: PowerShell, key: str, script: str) -> None:
    noted = IDENTITY.get(key) or ()
    if not noted:
        pytest.skip("the build machine had none")
    shared = {one.casefold() for one in ([noted] if isinstance(noted, str) else noted)}
    assert shared.isdisjoint(powershell(script).casefold().split())


def test_the_https_listener_has_a_certificate_of_this_machine(powershell: PowerShell) -> None:
    listeners = "Get-WSManInstance -ResourceURI winrm/config/Listener -Enumerate"
    used = powershell(
        f"{listeners} | Where-Object {{ $_.Transport -eq 'HTTPS' }} | ForEach-Object {{ $_.CertificateThumbprint }}"
    ).split()
    own = powershell(f"Get-ChildItem -LiteralPath '{PERSONAL}' | ForEach-Object {{ $_.Thumbprint }}").split()
    assert set(used) <= set(own)
    assert set(used).isdisjoint(IDENTITY.get("certificates") or ())
