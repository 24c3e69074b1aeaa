# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""An executable that runs can be renamed, but not written or deleted (https://superuser.com/q/488127)."""

from __future__ import annotations

import io
import zipfile
from typing import Any

import pytest
from simulator_tests.batches import observe

from simulator.machine.executables import identify, make
from simulator.machine.session import Session

APP, NEW = r"C:\k\app.exe", r"C:\new\app.exe"


@pytest.fixture
def running(session: Session) -> Session:
    """Start a service with the executable, and write another version and its archive to other paths."""
    files = session.machine.files
    for folder in ("C:\\k", "C:\\new"):
        files.make_directory(folder)
    files.write_bytes(APP, make("svchost", "1"))
    files.write_bytes(NEW, make("svchost", "2"))
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("app.exe", make("svchost", "2"))
    files.write_bytes("C:\\app.zip", packed.getvalue())
    session.machine.services.create("app", APP, Start=3)
    session.machine.services.start("app")
    return session


def call(session: Session, command: str, **more: Any) -> dict[str, Any]:
    result: dict[str, Any] = observe(session, {"id": "a", "command": command, "on_error": "continue", **more})["calls"]
    return dict(result["a"])


def version(session: Session, path: str = APP) -> str:
    found = identify(session.machine.files.read_bytes(path))
    assert found is not None
    return found[1]


ATTEMPTS: dict[str, tuple[str, dict[str, Any], str]] = {
    "write": ("@write-file", {"parameters": {"path": APP, "content": "2"}}, "Unable to remove the file to be replaced"),
    "commit": ("@commit-file", {"parameters": {"path": NEW, "destination": APP}}, "Unable to remove the file"),
    "curl": ("curl.exe", {"arguments": ["-sS", "-o", APP, "file:///C:/new/app.exe"]}, "(23)"),
    "tar": ("tar.exe", {"arguments": ["-xf", "C:\\app.zip", "-C", "C:\\k"]}, "Permission denied"),
    "copy": ("Copy-Item", {"parameters": {"Path": NEW, "Destination": APP, "Force": True}}, "used by another process"),
    "remove": ("Remove-Item", {"parameters": {"Path": APP, "Force": True}}, "is denied"),
    "folder": ("@move-path", {"parameters": {"path": "C:\\new", "destination": "C:\\k"}}, "is denied"),
}


@pytest.mark.parametrize(("command", "more", "message"), ATTEMPTS.values(), ids=ATTEMPTS)
def test_a_running_executable_is_not_replaced_in_place(
    running: Session, command: str, more: dict[str, Any], message: str
) -> None:
    refused = call(running, command, **more)
    assert not refused["ok"]
    assert message in f"{refused['error']['message']} {refused.get('stderr')}"
    assert version(running) == "1"

    running.machine.services.stop("app")
    assert call(running, command, **more)["ok"]


def test_a_running_executable_is_renamed_and_keeps_running(running: Session) -> None:
    files = running.machine.files
    moved = call(running, "@move-path", parameters={"path": NEW, "destination": APP})
    (renamed,) = [entry.path for entry in files.listing("C:\\k") if entry.name.endswith(".old")]
    assert renamed in " ".join(moved["warnings"])
    assert (version(running), version(running, renamed)) == ("2", "1")
    service = running.machine.services.get("app")
    assert service is not None
    assert service.state == "Running"

    # Another file can get the old name. The renamed executable still cannot be deleted.
    assert call(running, "@write-file", parameters={"path": APP, "content": "3"})["ok"]
    remove = {"parameters": {"LiteralPath": renamed, "Force": True}}
    assert "is denied" in call(running, "Remove-Item", **remove)["error"]["message"]
    running.machine.services.stop("app")
    assert call(running, "Remove-Item", **remove)["ok"]


def test_an_executable_that_does_not_run_is_simply_replaced(running: Session) -> None:
    running.machine.services.stop("app")
    assert "warnings" not in call(running, "@move-path", parameters={"path": NEW, "destination": APP})
    assert version(running) == "2"
    assert [entry.name for entry in running.machine.files.listing("C:\\k")] == ["app.exe"]
