# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""How verbs on files fail, by docs/wire.md: their categories, and what is tried again."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from simulator_tests.batches import observe
from simulator_tests.machine.conftest import MachineFactory

from simulator.machine.session import Session

pytestmark = pytest.mark.waits
A, B = "C:\\k\\a", "C:\\k\\b"


def run(session: Session, verb: str, **parameters: object) -> dict[str, Any]:
    call = {"id": "a", "command": verb, "parameters": parameters, "on_error": "continue"}
    result: dict[str, Any] = observe(session, call)["calls"]["a"]
    return result


def error(session: Session, verb: str, **parameters: object) -> tuple[str, str]:
    found = run(session, verb, **parameters)["error"]
    return found["category"], found["id"]


@pytest.fixture
def files(make_machine: MachineFactory) -> Session:
    """A session on a machine with two files."""
    machine = make_machine(time_scale=0.05)
    machine.files.make_directory("C:\\k")
    for path in (A, B):
        machine.files.write_text(path, path)
    return Session(machine, machine.processes.begin("powershell.exe", "Administrator"), "Administrator")


def test_categories(files: Session) -> None:
    assert error(files, "@write-file", path="Q:\\x", content="") == ("ObjectNotFound", "DirectoryNotFoundException")
    assert error(files, "@write-file", path="C:\\k", content="") == ("WriteError", "IOException")
    assert error(files, "@write-file", path="C:\\a?b", content="") == ("InvalidArgument", "IOException")
    assert error(files, "@write-file", path=A, content="!", encoding="base64") == ("InvalidArgument", "FormatException")
    assert error(files, "@commit-file", path="C:\\k", destination=B) == (
        "PermissionDenied",
        "UnauthorizedAccessException",
    )
    assert error(files, "@free-space", path="Q:\\") == ("ObjectNotFound", "DriveNotFoundException")
    assert error(files, "@read-file", paths=["C:\\" + "n" * 260]) == ("InvalidArgument", "PathTooLongException")


def test_what_others_have_open_is_tried_again_and_named(files: Session) -> None:
    store = files.machine.files
    with store.open.hold(B, "r", "rw"):
        assert error(files, "@commit-file", path=A, destination=B) == ("ResourceBusy", "FileInUse")
        assert store.read_text(B) == B
    hold = store.open.hold(B, "r", "rw")
    hold.__enter__()
    # Before ten of Windows' own seconds are over, which here are half a real one.
    timer = threading.Timer(0.1, hold.__exit__, (None, None, None))
    timer.start()
    assert run(files, "@commit-file", path=A, destination=B)["ok"]
    timer.join()
    assert store.read_text(B) == A
