# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""How verbs fail if .NET throws an exception, as docs/wire.md describes it."""

from __future__ import annotations

import pytest
from simulator_tests.batches import Call, observe

from simulator.machine.objects import CmdletError
from simulator.machine.session import Session
from wire_provider.net_failures import categorised

IN_USE = "The process cannot access the file 'C:\\x' because it is being used by another process."
IO = "System.IO.IOException"


@pytest.mark.parametrize(
    ("kind", "message", "verb", "category", "error_id"),
    [
        ("System.IO.FileNotFoundException", "", "@commit-file", "ObjectNotFound", "FileNotFoundException"),
        ("System.UnauthorizedAccessException", "", "@commit-file", "PermissionDenied", "UnauthorizedAccessException"),
        ("System.FormatException", "", "@write-file", "InvalidArgument", "FormatException"),
        ("System.IO.PathTooLongException", "", "@read-file", "InvalidArgument", "PathTooLongException"),
        (IO, "There is not enough space on the disk.", "@write-file", "WriteError", "IOException"),
        (IO, "The device is not ready.", "@read-file", "ReadError", "IOException"),
        (IO, IN_USE, "@read-file", "ResourceBusy", "FileInUse"),
        (IO, "Unable to remove the file to be replaced.", "@write-file", "ResourceBusy", "FileInUse"),
        ("System.InvalidOperationException", "", "@write-file", "NotSpecified", "InvalidOperationException"),
    ],
)
def test_dotnet_exceptions_have_a_category(kind: str, message: str, verb: str, category: str, error_id: str) -> None:
    thrown = CmdletError("NotSpecified", kind.rpartition(".")[2], message, kind)
    found = categorised(thrown, verb)
    assert (found.category, found.error_id, found.exception_type) == (category, error_id, kind)


def test_errors_found_by_a_verb_are_unchanged() -> None:
    own = CmdletError("InvalidData", "ChecksumMismatch", "wrong", IO)
    assert categorised(own, "@commit-file") is own


def test_verbs_report_the_same_errors(session: Session) -> None:
    parameters = {"path": "C:\\Windows", "sddl": "nonsense"}
    call = {"id": "a", "command": "@set-acl", "parameters": parameters, "on_error": "continue"}
    error = observe(session, call)["calls"]["a"]["error"]
    assert (error["category"], error["id"]) == ("InvalidArgument", "ArgumentException")


def test_a_file_is_not_its_own_destination(session: Session) -> None:
    files = session.machine.files
    files.make_directory("C:\\k")
    files.write_text("C:\\k\\f", "x")
    same = {"path": "C:\\k\\f", "destination": "C:/K/../k/F"}
    for verb in ("@commit-file", "@move-path"):
        call: Call = {"id": "a", "command": verb, "parameters": same, "on_error": "continue"}
        error = observe(session, call)["calls"]["a"]["error"]
        assert (error["category"], error["id"]) == ("InvalidArgument", "SameFile")
    copy: Call = {"id": "a", "command": "@copy-file", "parameters": {"files": [same]}}
    (done,) = observe(session, copy)["calls"]["a"]["output"]
    assert done["error"].endswith("are the same file")
    assert files.read_text("C:\\k\\f") == "x"
