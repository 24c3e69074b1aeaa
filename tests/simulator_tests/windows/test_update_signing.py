# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Test signing, signatures, files of updates."""

from __future__ import annotations

from typing import Any

import pytest
from simulator_tests.windows.updates import (
    DECEMBER,
    FILE,
    put,
    status,
    wusa,
)

from simulator.windows.updates import update_catalogue, update_package
from simulator.windows.updates.update_catalogue import Update


class TestTestSigning:
    def fix(self) -> Update:
        return Update("KB5999001", test_signed=True)

    def test_a_private_fix_loads_only_with_test_signing(self, server: Any) -> None:
        machine = server(secure_boot=False)
        put(machine, self.fix())
        assert wusa(machine) == 3010
        machine.power.reset()
        assert status(machine)["not_loaded"] == ["KB5999001"]
        assert machine.programs.run("bcdedit.exe", ["/set", "testsigning", "on"]).exit_code == 0
        assert status(machine)["test_signing"] == {"set": True, "active": False}
        assert status(machine)["not_loaded"] == ["KB5999001"], "it needs a reboot to take effect"
        machine.power.reset()
        assert status(machine)["not_loaded"] == []
        control = r"HKLM:\SYSTEM\CurrentControlSet\Control"
        assert "TESTSIGNING" in str(machine.registry.data(control, "SystemStartOptions"))
        listing = machine.programs.run("bcdedit.exe", ["/enum"]).stdout.splitlines()
        assert "testsigning             Yes" in listing

    def test_the_warning_can_be_turned_off(self, server: Any) -> None:
        machine = server(secure_boot=False)
        for arguments in (["-set", "TESTSIGNING", "ON"], ["/set", "{current}", "testsigning", "off"]):
            assert machine.programs.run("bcdedit.exe", arguments).exit_code == 0
        machine.power.reset()
        assert status(machine)["test_signing"] == {"set": False, "active": False}

    def test_secure_boot_forbids_test_signing(self, server: Any, shell: Any) -> None:
        machine = shell.machine = server()
        result = machine.programs.run("bcdedit.exe", ["/set", "testsigning", "on"])
        assert (result.exit_code, "protected by Secure Boot policy" in result.stderr) == (1, True)
        state = r"HKLM:\SYSTEM\CurrentControlSet\Control\SecureBoot\State"
        assert machine.registry.data(state, "UEFISecureBootEnabled") == 1
        assert not server(secure_boot="none").registry.key_exists(state)


class TestSignatures:
    @pytest.mark.parametrize(
        ("update", "signer", "expected"),
        [
            (Update("KB5999001"), "microsoft", "Valid"),
            (Update("KB5999001", test_signed=True), "microsoft", "UnknownError"),
            (Update("KB5999001"), "private", "UnknownError"),
            (Update("KB5999001"), None, "NotSigned"),
        ],
    )
    def test_states(self, server: Any, shell: Any, update: Update, signer: str | None, expected: str) -> None:
        machine = shell.machine = server()
        put(machine, update, signer=signer)
        found = shell.one("Get-AuthenticodeSignature", LiteralPath=FILE)
        assert str(found["Status"]) == expected
        certificate = found["SignerCertificate"]
        assert (certificate is None) == (signer is None)
        if certificate is not None:
            assert certificate["Thumbprint"] in {item.thumbprint for item in update_package.SIGNERS.values()}
            assert str(certificate["Subject"]).startswith("CN=")

    def test_a_byte_that_changed(self, server: Any, shell: Any) -> None:
        machine = shell.machine = server()
        put(machine, Update("KB5999001"))
        machine.files.write_bytes(FILE, machine.files.read_bytes(FILE)[:-1] + b"!")
        found = shell.one("Get-AuthenticodeSignature", FilePath=FILE)
        assert str(found["Status"]) == "HashMismatch"

    def test_windows_own_files_and_no_files(self, server: Any, shell: Any) -> None:
        shell.machine = server()
        own = shell.one("Get-AuthenticodeSignature", FilePath=r"C:\Windows\System32\wusa.exe")
        assert (str(own["Status"]), own["IsOSBinary"]) == ("Valid", True)
        error = shell.error("Get-AuthenticodeSignature", FilePath=r"C:\none.msu")
        assert error.error_id.startswith("SignatureCommandsBaseFileNotFound")


def test_a_package_is_the_same_bytes_each_time() -> None:
    update = update_catalogue.find(DECEMBER)
    assert update is not None
    assert update_package.make(update) == update_package.make(update)
    assert len(update_package.make(update, size=100_000)) in range(99_000, 101_000)


def test_the_catalogue_knows_what_replaces_what() -> None:
    for build in (17763, 20348, 26100):
        updates = update_catalogue.for_build(build)
        cumulative = [update for update in updates if update.chain == update_catalogue.CUMULATIVE]
        assert [update.ubr for update in cumulative] == sorted(update.ubr for update in cumulative)
        newest = [update for update in update_catalogue.newest(updates) if update.ubr]
        assert newest == [cumulative[-1]]
    with pytest.raises(ValueError, match="got colour"):
        update_catalogue.read({"kb": "KB1", "colour": "red"})
