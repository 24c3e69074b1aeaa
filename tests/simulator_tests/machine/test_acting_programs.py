# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Batch files, packages and modules run with the rights of the account that runs them."""

from __future__ import annotations

import pytest
from simulator_tests.machine.module_runs import run_module

from simulator.machine import accounts
from simulator.machine.machine import Machine
from simulator.machine.session import Session
from simulator.windows.software import installer_package
from simulator.windows.software.installer_package import InstallerPackage

CLOSED = "D:P(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)"


@pytest.fixture
def user(machine: Machine) -> Session:
    """Return a session of an account that is only in the group Users."""
    accounts.add(machine, "mallory", "User")
    return Session(machine, machine.processes.begin("powershell.exe", "mallory"), "mallory")


@pytest.mark.parametrize(("rights", "code", "stdout"), [("0x1200a9", 0, "read\r\n"), ("FX", 1, "")])
def test_a_batch_file_is_read_by_the_account_that_starts_it(
    machine: Machine, user: Session, rights: str, code: int, stdout: str
) -> None:
    machine.files.make_directory(r"C:\run")
    machine.files.write_text(r"C:\run\a.cmd", "@echo off\r\necho read\r\n")
    machine.files.set_sddl(r"C:\run", f"{CLOSED}(A;OICI;{rights};;;BU)")
    result = machine.programs.run(r"C:\run\a.cmd", user=user.user)
    assert (result.exit_code, result.stdout) == (code, stdout)


def test_administrators_alone_install_packages(machine: Machine, user: Session) -> None:
    program, file = r"C:\Program Files\a\a.exe", r"C:\ProgramData\a.msi"
    package = InstallerPackage("a", "1.0", "Nobody", programs={program: "whoami.exe"})
    machine.files.write_bytes(file, installer_package.make(package))

    def msiexec(action: str, what: str, account: str) -> int:
        return machine.programs.run("msiexec.exe", [action, what, "/qn"], user=account).exit_code

    assert msiexec("/i", file, user.user) == 1603
    assert not machine.files.exists(program)
    assert msiexec("/i", file, "Administrator") == 0
    assert msiexec("/x", package.product_code, user.user) == 1603
    assert machine.files.is_file(program)
    assert msiexec("/x", package.product_code, "Administrator") == 0
    machine.files.set_sddl(file, CLOSED)
    assert msiexec("/i", file, user.user) == 1619


def test_a_module_reports_that_access_is_denied(machine: Machine, user: Session) -> None:
    machine.files.make_directory(r"C:\closed")
    machine.files.set_sddl(r"C:\closed", CLOSED)
    answer = run_module(user, "win_file", path=r"C:\closed\x", state="directory")
    denied = r"Access to the path 'C:\closed\x' is denied."
    assert (answer["failed"], answer["msg"]) == (True, denied)
    answer = run_module(user, "win_regedit", path=r"HKLM:\SOFTWARE\x", state="present")
    assert (answer["failed"], answer["msg"]) == (True, "Requested registry access is not allowed.")
