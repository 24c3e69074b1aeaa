# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""How verbs on files fail, according to docs/wire.md: categories of errors, and what is retried."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from simulator_tests.batches import observe
from simulator_tests.machine.conftest import MachineFactory

from simulator.machine.machine import ENVIRONMENT
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
    """Return a session on a machine with two files."""
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


def test_a_file_in_use_is_retried_and_its_process_named(files: Session) -> None:
    store = files.machine.files
    with store.open.hold(B, "r", "rw"):
        assert error(files, "@commit-file", path=A, destination=B) == ("ResourceBusy", "FileInUse")
        assert store.read_text(B) == B
    hold = store.open.hold(B, "r", "rw")
    hold.__enter__()
    # The file is closed within the ten seconds of Windows' time that retries take, which are half a second here.
    timer = threading.Timer(0.1, hold.__exit__, (None, None, None))
    timer.start()
    assert run(files, "@commit-file", path=A, destination=B)["ok"]
    timer.join()
    assert store.read_text(B) == A


def test_a_wrong_checksum_is_one_although_the_file_is_held(files: Session) -> None:
    with files.machine.files.open.hold(A, "r", "rw"):
        found = run(files, "@commit-file", path=A, destination=B, sha256="0" * 64)["error"]
    assert (found["category"], found["id"]) == ("InvalidData", "ChecksumMismatch")
    assert found["message"].endswith("; the file could not be deleted")
    found = run(files, "@commit-file", path=A, destination=B, sha256="0" * 64)["error"]
    assert found["message"].endswith("; the file was deleted")


def test_a_process_that_blocks_moving_a_folder_is_named(files: Session) -> None:
    machine = files.machine
    machine.files.make_directory("C:\\f")
    machine.files.write_text("C:\\f\\log", "x")
    with machine.files.open.hold("C:\\f\\log", "w", "rwd", "kubelet.exe"):
        error = run(files, "@move-path", path="C:\\f", destination="C:\\g")["error"]
    assert (error["category"], error["id"]) == ("ResourceBusy", "FileInUse")
    assert "held open by kubelet.exe" in error["message"]
    image = machine.processes.begin("pause.exe", "SYSTEM", image="C:\\f\\pause.exe")
    runs = run(files, "@move-path", path="C:\\f", destination="C:\\g")["error"]
    assert (runs["category"], runs["id"]) == ("ResourceBusy", "FileInUse")
    assert "held open by pause.exe" in runs["message"]
    machine.processes.end(image)
    assert run(files, "@move-path", path="C:\\f", destination="C:\\g")["ok"]


def test_a_folder_without_rights_is_denied(files: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: str, destination: str) -> None:
        raise PermissionError

    monkeypatch.setattr(files.machine.files, "move", refuse)
    denied = error(files, "@move-path", path="C:\\k", destination="C:\\g")
    # Only Directory.Move throws an IOException for error 5.
    assert denied == ("PermissionDenied", "IOException")


def test_a_renamed_file_is_deleted_as_soon_as_possible(files: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    store = files.machine.files
    move, holds = store.move, []

    def scan(path: str, destination: str) -> None:
        move(path, destination)
        if destination.endswith(".old"):
            holds.append(store.open.hold(destination, "r", "rw"))
            holds[-1].__enter__()
            threading.Timer(0.1, holds[-1].__exit__, (None, None, None)).start()

    monkeypatch.setattr(store, "move", scan)
    found = run(files, "@move-path", path=A, destination=B)
    assert found["ok"]
    assert "warnings" not in found
    assert len(holds) == 1
    assert [entry.name for entry in store.listing("C:\\k")] == ["b"]


def test_a_replacement_is_opened_without_sharing(files: Session) -> None:
    store = files.machine.files
    with store.open.hold(A, "r", "rwd"):
        assert error(files, "@commit-file", path=A, destination=B) == ("ResourceBusy", "FileInUse")
        assert run(files, "@commit-file", path=A, destination="C:\\k\\new")["ok"], "File.Move needs deletion only"


@pytest.mark.parametrize(
    ("kind", "value", "stored"),
    [
        ("expandSTRING", "x", ("x", "ExpandString")),
        ("2", "x", ("x", "ExpandString")),
        (1, "x", ("x", "String")),
        (0, "x", ("x", "String")),
        ("Unknown", "x", ("x", "String")),
        ("dword", "-1", (0xFFFFFFFF, "DWord")),
        ("QWord", "7", (7, "QWord")),
    ],
)
def test_any_kind_of_the_registry_is_taken(
    files: Session, kind: object, value: str, stored: tuple[object, str]
) -> None:
    assert run(files, "@set-environment", name="FZ", value=value, kind=kind)["ok"]
    found = files.machine.registry.get(ENVIRONMENT, "FZ")
    assert found is not None
    assert (found.data, found.kind) == stored


def test_kinds_that_a_text_does_not_fit(files: Session) -> None:
    for kind, value in (("Binary", "x"), ("MultiString", "x"), ("DWord", "x"), ("DWord", "2147483648"), ("None", "x")):
        assert error(files, "@set-environment", name="FZ", value=value, kind=kind) == (
            "InvalidArgument",
            "ArgumentException",
        )
    found = error(files, "@set-environment", name="FZ", value="x", kind="REG_SZ")
    assert found == ("NotSpecified", "MethodException")
    assert files.machine.registry.get(ENVIRONMENT, "FZ") is None
