# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""win_file and win_regedit: what Windows and the modules reject."""

from __future__ import annotations

from typing import Any

import pytest
from simulator_tests.machine.module_runs import run_module

from simulator.machine.session import Session

KEY = "HKLM:\\SOFTWARE\\Demo"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"path": "C:\\a?b", "state": "directory"},
            "Get-AnsibleParam: Parameter 'path' has an invalid path 'C:\\a?b' specified.",
        ),
        ({"dest": "C:\\a:b", "state": "directory"}, "Parameter 'dest' has an invalid path"),
        ({"path": "C:\\no\\x", "state": "touch"}, "Could not find a part of the path 'C:\\no\\x'."),
        ({"path": "C:\\x", "state": "there"}, "Argument state needs to be one of absent,directory,file,touch but was"),
        ({"state": "absent"}, "Get-AnsibleParam: Missing required argument: path"),
        ({"path": "C:\\no"}, "path C:\\no will not be created"),
        ({"path": "C:\\Windows", "state": "file"}, "path C:\\Windows is not a file"),
    ],
)
def test_win_file_refuses(session: Session, options: dict[str, Any], message: str) -> None:
    found = run_module(session, "win_file", **options)
    assert found["failed"]
    assert message in found["msg"]
    assert "Traceback" not in found["msg"]


def test_win_file_touches_and_removes(session: Session) -> None:
    files = session.machine.files
    assert run_module(session, "win_file", path="C:\\t.txt", state="touch")["changed"]
    files.write_text("C:\\t.txt", "kept")
    assert run_module(session, "win_file", path="C:\\t.txt", state="touch")["changed"]
    assert files.read_text("C:\\t.txt") == "kept"
    assert run_module(session, "win_file", check_mode=True, path="C:\\t.txt", state="absent")["changed"]
    assert files.exists("C:\\t.txt")
    answers = [run_module(session, "win_file", path="C:\\t.txt", state="absent")["changed"] for _ in range(2)]
    assert answers == [True, False]


@pytest.mark.parametrize(
    ("kind", "given", "kept"),
    [
        ("dword", 4294967295, 4294967295),
        ("dword", -1, 4294967295),
        ("dword", "0x10", 16),
        ("dword", None, 0),
        ("qword", 2**64 - 1, 2**64 - 1),
        ("binary", "be,ef", b"\xbe\xef"),
        ("binary", "hex:be,ef", b"\xbe\xef"),
        ("binary", [190, 239], b"\xbe\xef"),
        ("binary", 5, b"\x05"),
        ("multistring", ["a", 1], ["a", "1"]),
        ("string", 5, "5"),
    ],
)
def test_win_regedit_keeps_values(session: Session, kind: str, given: object, kept: object) -> None:
    def run() -> bool:
        return bool(run_module(session, "win_regedit", path=KEY, name="v", type=kind, data=given)["changed"])

    assert [run(), run()] == [True, False]
    assert session.machine.registry.data(KEY, "v") == kept


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"type": "dword", "data": 4294967296}, "data cannot be larger than 0xffffffff when type is dword"),
        ({"type": "qword", "data": 2**64}, "data cannot be larger than 0xffffffffffffffff when type is qword"),
        ({"type": "dword", "data": 1.5}, "cannot be a decimal or float value with a remainder"),
        ({"type": "dword", "data": "five"}, "Unhandled exception while executing module: "),
        ({"type": "binary", "data": 256}, "cannot convert binary data '256' to byte array"),
        ({"path": "HKEY_LOCAL_MACHINE\\SOFTWARE"}, "is not a valid powershell path, see module documentation"),
        ({"type": "word"}, "value of type must be one of: none, binary, dword, expandstring, multistring"),
    ],
)
def test_win_regedit_refuses(session: Session, options: dict[str, Any], message: str) -> None:
    found = run_module(session, "win_regedit", **{"path": KEY, "name": "v", **options})
    assert found["failed"]
    assert message in found["msg"]
    assert session.machine.registry.get(KEY, "v") is None


def test_win_regedit_reports_what_changed(session: Session) -> None:
    run_module(session, "win_regedit", path=KEY, name="v", data="5", type="string")
    found = run_module(session, "win_regedit", path=KEY, name="v", data=6, type="dword")
    assert (found["changed"], found["data_changed"], found["data_type_changed"]) == (True, True, True)
    found = run_module(session, "win_regedit", key=KEY, entry="v", data=7, type="dword")
    assert (found["data_changed"], found["data_type_changed"]) == (True, False)
    assert run_module(session, "win_regedit", path=KEY, name="v", state="absent")["changed"]
    assert run_module(session, "win_regedit", path=KEY, state="absent")["changed"]
    assert not run_module(session, "win_regedit", path=KEY, state="absent")["changed"]
