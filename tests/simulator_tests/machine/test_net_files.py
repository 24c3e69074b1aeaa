# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Files as .NET opens and moves them, and its errors; the recorded cases (tests/wire_cases) test the rest."""

from __future__ import annotations

from typing import Any

import pytest
from simulator_tests.batches import observe
from simulator_tests.machine.conftest import MachineFactory

from simulator.machine import net_files
from simulator.machine.machine import Machine
from simulator.machine.objects import CmdletError
from simulator.machine.session import Session
from simulator.machine.text import double_text, member_text, utf16_length, utf16_slice

FOLDER = "C:\\k\\" + "n" * 100
LONG = f"{FOLDER}\\{'x' * 160}"


def call(session: Session, command: str, **keys: Any) -> dict[str, Any]:
    result: dict[str, Any] = observe(session, {"id": "a", "command": command, "on_error": "continue", **keys})
    return result["calls"]["a"]  # type: ignore[no-any-return]


def test_a_handle_follows_its_file(machine: Machine) -> None:
    files = machine.files
    files.make_directory("C:\\k\\sub")
    for name in ("a", "b", "sub\\c"):
        files.write_text(f"C:\\k\\{name}", name)
    with files.open.hold("C:\\K\\A", "r", "rw"), files.open.hold("C:\\k\\sub\\c", "w", "rwd"):
        assert files.open.blocks("C:\\k\\a", "d")
        assert not files.open.blocks("C:\\k\\a", "w")
        assert files.open.blocks("C:\\k\\sub\\c", "r", "r"), "Get-FileHash shares reading only"
        assert files.open.blocks_below("C:\\k\\sub")
        files.move("C:\\k\\sub", "C:\\k\\other")
        assert not files.open.blocks_below("C:\\k\\sub")
        assert files.open.blocks("C:\\k\\other\\c", "r", "r")
        files.move("C:\\k\\b", "C:\\k\\a")
        assert not files.open.blocks("C:\\k\\a", "d"), "another file has that name now"
    assert not files.open.blocks("C:\\k\\other\\c", "r", "r")


def test_long_paths_are_powershells_own(make_machine: MachineFactory) -> None:
    for powershell, error_id in (("", "PathTooLongException"), ("7.6.5", "")):
        machine = make_machine(name=f"win-{powershell or 5}", powershell=powershell)
        machine.files.make_directory(FOLDER)
        machine.files.write_text(LONG, "x")
        assert net_files.exists(machine, LONG) is not bool(error_id)
        assert net_files.exists(machine, f"\\\\?\\{LONG}")
        if error_id:
            with pytest.raises(CmdletError) as raised:
                net_files.write(machine, LONG, b"y")
            assert (raised.value.category, raised.value.error_id) == ("NotSpecified", error_id)


def test_folders_of_windows_powershell_end_at_248_characters(make_machine: MachineFactory) -> None:
    folder = "C:\\" + "n" * 200 + "\\" + "x" * 44
    assert len(folder) == 248
    for powershell, is_refused in (("", True), ("7.6.5", False)):
        machine = make_machine(name=f"win-{powershell or 5}", powershell=powershell)
        net_files.create_directory(machine, folder[:-1])
        if not is_refused:
            net_files.create_directory(machine, folder)
            net_files.move(machine, folder, "C:\\short")
            continue
        with pytest.raises(CmdletError) as made:
            net_files.create_directory(machine, folder)
        with pytest.raises(CmdletError) as moved:
            net_files.move(machine, folder[:-1], folder)
        assert made.value.error_id == moved.value.error_id == "PathTooLongException"
        # An existing folder is not created again, so its length does not matter. The prefix removes the limit.
        machine.files.make_directory(folder)
        net_files.create_directory(machine, folder)
        net_files.create_directory(machine, f"\\\\?\\{folder}s")


def test_a_move_is_refused_while_a_file_is_open(machine: Machine) -> None:
    machine.files.make_directory("C:\\k")
    machine.files.write_text("C:\\k\\x", "x")
    used = "The process cannot access the file because it is being used by another process."
    with machine.files.open.hold("C:\\k\\x", "r", "r"):
        for path, message in (("C:\\k\\x", used), ("C:\\k", "Access to the path 'C:\\k' is denied.")):
            with pytest.raises(CmdletError) as refused:
                net_files.move(machine, path, "C:\\moved")
            assert (refused.value.error_id, refused.value.message) == ("IOException", message)


@pytest.mark.parametrize("name", ["CONIN$", "conout$", "COM\u00b9", "lpt\u00b3.txt", "nul"])
def test_names_of_devices(machine: Machine, name: str) -> None:
    machine.files.make_directory("C:\\k")
    with pytest.raises(CmdletError):
        net_files.write(machine, f"C:\\k\\{name}", b"x")
    net_files.write(machine, f"\\\\?\\C:\\k\\{name}", b"x")
    for allowed in ("com", "com0", "conin", "com\u2074"):
        net_files.write(machine, f"C:\\k\\{allowed}", b"x")


def test_an_unexpected_exception_is_an_error_of_the_call(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    def explode(*_: object) -> bool:
        raise RuntimeError("nobody foresaw it")

    monkeypatch.setattr(session.machine.files, "exists", explode)
    failed = call(session, "@read-file", parameters={"paths": ["C:\\k"]})
    assert failed["error"]["id"] == "SimulatorDoesNotModel"
    assert "nobody foresaw it" in failed["error"]["message"]


def test_texts_of_numbers_and_properties() -> None:
    numbers = {
        0.5: "0.5",
        1e15: "1E+15",
        -1.25e21: "-1.25E+21",
        1e14: "100000000000000",
        1e-5: "1E-05",
        1e-4: "0.0001",
        0.0: "0",
    }
    assert {number: double_text(number) for number in numbers} == numbers
    assert [member_text(value) for value in ([1], b"1", {"k": 1}, None, 5)] == [
        "System.Object[]",
        "System.Byte[]",
        "System.Collections.Hashtable",
        "",
        "5",
    ]
    assert (utf16_length("ab😀"), utf16_slice("ab😀cd", None, 3)) == (4, "ab\ufffd")


def test_shares_are_not_modelled(session: Session) -> None:
    for path in ("\\\\localhost\\c$\\x", "//server/share/x", "\\\\?\\UNC\\server\\share\\x"):
        for verb, parameters in (
            ("@write-file", {"path": path, "content": "x"}),
            ("@read-file", {"paths": [path]}),
            ("@move-path", {"path": path, "destination": "C:\\x"}),
        ):
            failed = call(session, verb, parameters=parameters)
            assert failed["error"]["id"] == "SimulatorDoesNotModel", (verb, path)
