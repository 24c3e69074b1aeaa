# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Rules of the registry, with reg.exe, New-Item and batches."""

from __future__ import annotations

import pytest
from simulator_tests.batches import observe

from simulator.machine.machine import Machine
from simulator.machine.objects import ProgramResult
from simulator.machine.session import Session

KEY = r"HKLM\SOFTWARE\Example"


def reg(machine: Machine, *arguments: str) -> ProgramResult:
    return machine.programs.run("reg.exe", list(arguments))


@pytest.mark.parametrize("path", [r"HKLM:\NEWROOT", r"HKLM:\NEWROOT\Below", r"Registry::HKEY_USERS\NEWROOT"])
def test_no_key_is_created_directly_below_a_hive(session: Session, path: str) -> None:
    parameters = {"Path": path, "Force": True}
    result = observe(session, {"id": "a", "command": "New-Item", "parameters": parameters})["calls"]["a"]
    assert result["error"]["message"] == "The parameter is incorrect."
    assert result["error"]["type"] == "System.IO.IOException"
    assert not session.machine.registry.key_exists(path)


def test_reg_creates_no_key_directly_below_a_hive(machine: Machine) -> None:
    result = reg(machine, "add", r"HKLM\NEWROOT", "/f")
    assert (result.exit_code, result.stderr) == (1, "ERROR: The parameter is incorrect.\r\n")
    assert reg(machine, "add", r"HKCU\NEWROOT", "/f").exit_code == 0, "other hives have no such rule"


def test_keys_are_created_below_existing_ones(session: Session) -> None:
    parameters = {"Path": r"HKLM:\SOFTWARE\Example\Below", "Force": True}
    assert observe(session, {"id": "a", "command": "New-Item", "parameters": parameters})["calls"]["a"]["ok"]


def test_batches_read_by_drives_alone(session: Session) -> None:
    parameters = {"values": [{"path": r"HKEY_LOCAL_MACHINE\SOFTWARE", "name": "x"}]}
    result = observe(session, {"id": "a", "command": "@read-registry", "parameters": parameters})["calls"]["a"]
    assert result["error"]["id"] == "DriveNotFound"


@pytest.mark.parametrize("data", ["4294967296", "-1", "0xg", "1_000", "text"])
def test_a_dword_is_a_number_of_32_bits(machine: Machine, data: str) -> None:
    assert reg(machine, "add", KEY, "/v", "a", "/t", "REG_DWORD", "/d", data, "/f").exit_code == 1
    assert not machine.registry.key_exists(KEY)


def test_numbers_that_fit_are_taken(machine: Machine) -> None:
    for data, number in (("0xFFFFFFFF", 2**32 - 1), ("010", 10)):
        assert reg(machine, "add", KEY, "/v", "a", "/t", "REG_DWORD", "/d", data, "/f").exit_code == 0
        assert machine.registry.data(KEY, "a") == number
    assert reg(machine, "add", KEY, "/v", "b", "/t", "REG_QWORD", "/d", "4294967296", "/f").exit_code == 0


@pytest.mark.parametrize(
    "arguments",
    [
        ("add",),
        ("add", KEY, "/v"),
        ("add", KEY, "/v", "a", "/v", "b"),
        ("add", KEY, "/v", "a", "/ve"),
        ("delete", KEY, "/va", "/v", "a", "/f"),
        ("add", KEY, "/v", "a", "/t", "REG_TEXT"),
        ("add", KEY, "/x"),
        ("qery", KEY),
    ],
)
def test_wrong_lines_are_refused(machine: Machine, arguments: tuple[str, ...]) -> None:
    result = reg(machine, *arguments)
    assert result.exit_code == 1
    assert result.stderr.startswith("ERROR: Invalid syntax.")


def test_an_existing_value_is_replaced_only_with_f(machine: Machine) -> None:
    machine.registry.set(KEY, "", "old")
    refused = reg(machine, "add", KEY, "/ve", "/d", "new")
    assert (refused.exit_code, refused.stdout.partition("?")[0]) == (1, "Value  exists, overwrite(Yes/No)")
    assert reg(machine, "add", KEY, "/ve", "/d", "new", "/f").exit_code == 0
    assert machine.registry.data(KEY, "") == "new"
    assert reg(machine, "add", KEY, "/d", "newer", "/f").exit_code == 0
    assert machine.registry.data(KEY, "") == "newer", "/d without /v is about the default value"
