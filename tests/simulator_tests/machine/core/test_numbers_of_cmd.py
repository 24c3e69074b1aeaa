# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""`set /a`, `fc /b`, `copy` and `move` of cmd.exe."""

from __future__ import annotations

from pathlib import Path

import pytest

from simulator.machine.machine import Machine
from simulator.machine.settings import MachineSettings


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    machine = Machine(MachineSettings.read({"name": "cmd", "address": "127.0.0.14"}), tmp_path / "machine")
    machine.power_on()
    return machine


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("1+2*3", "7"),
        ("(1+2)*3", "9"),
        # Signed integers of 32 bits; a shift to the right keeps the sign.
        ("192<<24", "-1073741824"),
        ("(192<<24)>>24", "-64"),
        ("((192<<24)>>24)&255", "192"),
        ("10|5&4", "14"),
        ("-7/2", "-3"),
        ("010", "8"),
        ("missing+1", "1"),
    ],
)
def test_numbers(machine: Machine, expression: str, value: str) -> None:
    machine.files.write_text(r"C:\t.cmd", f'@echo off\r\nset /a "x={expression}"\r\necho %x%\r\n')
    assert machine.programs.run("cmd.exe", ["/c", r"C:\t.cmd"]).stdout == f"{value}\r\n"


def test_names_stand_for_their_numbers(machine: Machine) -> None:
    machine.files.write_text(r"C:\t.cmd", '@echo off\r\nset a=5\r\nset /a "b=a+1, c=a*b"\r\necho %b% %c%\r\n')
    assert machine.programs.run("cmd.exe", ["/c", r"C:\t.cmd"]).stdout == "6 30\r\n"


@pytest.mark.parametrize(("other", "code"), [("a", 0), ("b", 1), (None, 2)])
def test_files_are_compared(machine: Machine, other: str | None, code: int) -> None:
    machine.files.write_text(r"C:\one", "a")
    if other is not None:
        machine.files.write_text(r"C:\two", other)
    assert machine.programs.run("cmd.exe", ["/c", r"fc /b C:\one C:\two"]).exit_code == code


def test_a_moved_file_replaces_another_and_keeps_its_access_list(machine: Machine) -> None:
    machine.files.write_text(r"C:\one", "1")
    machine.files.set_sddl(r"C:\one", "O:BAD:P(A;;FA;;;BA)")
    machine.files.write_text(r"C:\two", "2")
    result = machine.programs.run("cmd.exe", ["/c", r"move /y C:\one C:\two"])
    assert (result.exit_code, result.stdout) == (0, "        1 file(s) moved.\r\n")
    assert (machine.files.read_text(r"C:\two"), machine.files.exists(r"C:\one")) == ("1", False)
    assert machine.files.sddl(r"C:\two") == "O:BAG:SYD:PAI(A;;FA;;;BA)"


def test_a_file_is_moved_into_a_folder(machine: Machine) -> None:
    machine.files.write_text(r"C:\one", "1")
    machine.files.make_directory(r"C:\folder")
    assert machine.programs.run("cmd.exe", ["/c", r"move /y C:\one C:\folder"]).exit_code == 0
    assert machine.files.read_text(r"C:\folder\one") == "1"


@pytest.mark.parametrize("command", ["copy /y", "move /y"])
@pytest.mark.parametrize("paths", [r"C:\none C:\two", r"C:\one C:\none\two"])
def test_a_missing_file_or_folder_is_an_error(machine: Machine, command: str, paths: str) -> None:
    machine.files.write_text(r"C:\one", "1")
    result = machine.programs.run("cmd.exe", ["/c", f"{command} {paths}"])
    assert (result.exit_code, machine.files.exists(r"C:\one")) == (1, True)
    assert "The system cannot find the" in result.stderr


def test_move_may_ask_and_is_then_not_modelled(machine: Machine) -> None:
    machine.files.write_text(r"C:\one", "1")
    result = machine.programs.run("cmd.exe", ["/c", r"move C:\one C:\two"])
    assert "does not model this part of cmd.exe: move without /y" in result.stderr
