# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The computer's name, restarts, updates, disks, certificates, small programs."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest

from simulator.artifacts.certificates import PrivateCA
from simulator.machine import certificate_store


def test_a_name_changes_at_the_boot(shell: Any) -> None:
    machine, old = shell.machine, shell.machine.name
    shell.all("Rename-Computer", NewName="worker-7", Force=True)
    assert (machine.name, machine.power.pending_reasons()) == (old, ["computer name"])
    machine.power.reset()
    assert (machine.name, machine.host_name, machine.power.pending_reasons()) == ("WORKER-7", "worker-7", [])


def test_requested_properties_of_the_computer(shell: Any) -> None:
    (found,) = shell.all("Get-ComputerInfo", Property=["csname", "OsBuild*", "Nothing"])
    assert list(found.properties) == ["CsName", "OsBuildNumber", "Nothing"]
    assert (found["CsName"], found["Nothing"]) == (shell.machine.name, None)


def test_netbios_keeps_15_characters(shell: Any) -> None:
    assert shell.error("Rename-Computer", NewName="a-name-that-is-longer").category == "InvalidOperation"
    shell.all("Rename-Computer", NewName="a-name-that-is-longer", Force=True)
    shell.machine.power.reset()
    assert (shell.machine.name, shell.machine.host_name) == ("A-NAME-THAT-IS-", "a-name-that-is-longer")


@pytest.mark.parametrize("name", ["12345", "has space", "dot.ted", "-x", "under_score", "x" * 64])
def test_names_that_cannot_be(shell: Any, name: str) -> None:
    assert shell.error("Rename-Computer", NewName=name, Force=True).error_id.startswith("InvalidNewName,")


def test_the_same_name_is_an_error(shell: Any) -> None:
    assert shell.error("Rename-Computer", NewName=shell.machine.host_name).error_id.startswith("NewNameIsOldName,")


def test_updates_and_secure_boot(make_machine: Any, shell: Any) -> None:
    shell.machine = make_machine(updates=["KB1", "KB2"], secure_boot=False)
    assert [item["HotFixID"] for item in shell.all("Get-HotFix")] == ["KB1", "KB2"]
    assert shell.error("Get-HotFix", Id="KB9").error_id.startswith("GetHotFixNoEntriesFound,")
    packages = [str(item["PackageName"]) for item in shell.all("Get-WindowsPackage", Online=True)]
    assert [name.rpartition("~")[2] for name in packages if name.startswith("Package_for_RollupFix~")] == [
        "20348.2849.1.0"
    ]
    assert shell.program("bcdedit.exe", "/set", "testsigning", "on").exit_code == 0


def test_secure_boot_forbids_test_signing(shell: Any) -> None:
    result = shell.program("bcdedit.exe", "/set", "{current}", "testsigning", "on")
    assert (result.exit_code, "protected by Secure Boot policy" in result.stderr) == (1, True)


def test_a_partition_grows_into_what_is_free(make_machine: Any, shell: Any) -> None:
    shell.machine = make_machine(unallocated_gb=20)
    before = shell.one("Get-Partition", DriveLetter="C")["Size"]
    most = shell.one("Get-PartitionSupportedSize", DriveLetter="C")["SizeMax"]
    assert most - before == 20 << 30
    assert (
        shell.error("Resize-Partition", DriveLetter="C", Size=most + 1).error_id == "StorageWMI 4097,Resize-Partition"
    )
    shell.all("Resize-Partition", DriveLetter="C", Size=most)
    assert shell.one("Get-Partition", DriveLetter="C")["Size"] == most
    assert shell.one("Get-PartitionSupportedSize", DriveLetter="C")["SizeMax"] == most
    assert shell.error("Get-Partition", DriveLetter="Q").category == "ObjectNotFound"


def test_certificates_are_imported_into_the_machines_store(shell: Any) -> None:
    shell.machine.files.write_bytes(r"C:\ca.crt", PrivateCA().pem)
    shell.one("Import-Certificate", FilePath=r"C:\ca.crt", CertStoreLocation=r"Cert:\LocalMachine\Root")
    (found,) = certificate_store.certificates(shell.machine, "Root")
    mark = certificate_store.thumbprint(found)
    assert shell.program("certutil.exe", "-delstore", "Root", mark).exit_code == 0
    assert shell.program("certutil.exe", "-f", "-addstore", "Root", r"C:\ca.crt").exit_code == 0
    assert [certificate_store.thumbprint(item) for item in certificate_store.certificates(shell.machine, "Root")] == [
        mark
    ]
    shell.machine.files.write_text(r"C:\no.crt", "no")
    assert shell.program("certutil.exe", "-addstore", "Root", r"C:\no.crt").exit_code != 0


def test_hashes(shell: Any) -> None:
    shell.machine.files.write_bytes(r"C:\x", b"abc")
    out = shell.program("certutil.exe", "-hashfile", r"C:\x", "SHA256").stdout
    assert out.splitlines()[1] == hashlib.sha256(b"abc").hexdigest()
    assert shell.program("certutil.exe", "-hashfile", r"C:\none", "SHA256").exit_code == -2147024894


def test_power_schemes(shell: Any) -> None:
    assert shell.program("powercfg.exe", "/setactive", "8c5e7fda-e8bf-4a96-9a85-a6e23a8c635c").exit_code == 0
    assert "High performance" in shell.program("powercfg.exe", "/getactivescheme").stdout
    assert shell.program("powercfg.exe", "/setactive", "none").exit_code == 1


def test_access_lists(shell: Any) -> None:
    shell.machine.files.write_text(r"C:\x", "")
    arguments = (r"C:\x", "/inheritance:r", "/grant:r", "Administrators:F", "SYSTEM:(OI)(CI)F")
    assert shell.program("icacls.exe", *arguments).exit_code == 0
    assert set(shell.machine.files.sddl(r"C:\x").partition("D:")[2].strip("PAI").split(")")) == {
        "(A;;FA;;;BA",
        "(A;OICI;FA;;;SY",
        "",
    }
    assert shell.program("icacls.exe", r"C:\x", "/grant", "nobody:F").exit_code == 1332


def test_event_logs(shell: Any) -> None:
    shell.machine.services.events.append("The kubelet service terminated unexpectedly.")
    found = shell.all("Get-WinEvent", LogName="System", MaxEvents=1)
    assert [item["Message"] for item in found] == ["The kubelet service terminated unexpectedly."]
    assert shell.program("wevtutil.exe", "cl", "System").exit_code == 0
    assert shell.error("Get-WinEvent", LogName="System").error_id.startswith("NoMatchingEventsFound,")
    assert shell.program("wevtutil.exe", "cl", "None").exit_code == 15007
