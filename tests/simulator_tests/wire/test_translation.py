# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The changes of docs/wire.md since the cases were recorded, and the categories of errors in the simulator."""

from __future__ import annotations

import pytest
from wire_cases import recorded, translation
from wire_cases.on_simulator import FOLDER

from simulator.machine.objects import CmdletError
from wire_provider import net_failures

NAMESPACES = {"SecurityException": "System.Security."} | {
    f"{name}Exception": "System.IO." for name in ("FileNotFound", "DirectoryNotFound", "DriveNotFound", "PathTooLong")
}


def test_the_table_of_categories_is_that_of_the_wire() -> None:
    found = translation.categories()
    assert found["DirectoryNotFoundException"] == "ObjectNotFound"
    assert found["UnauthorizedAccessException"] == found["SecurityException"] == "PermissionDenied"
    assert found["FormatException"] == found["ArgumentNullException"] == "InvalidArgument"
    assert "IOException" not in found


@pytest.mark.parametrize("name", [*translation.categories(), "InvalidOperationException"])
def test_the_simulator_has_the_same_categories(name: str) -> None:
    kind = f"{NAMESPACES.get(name, 'System.')}{name}"
    raised = CmdletError("NotSpecified", name, "", kind)
    result = {"error": {"category": "NotSpecified", "id": name, "type": kind}}
    translated = translation.translated("@write-file", result, in_use=False)["error"]
    assert translated["category"] == net_failures.categorised(raised, "@write-file").category


@pytest.mark.parametrize(
    ("command", "in_use", "case", "category"),
    [
        ("@read-file", False, "", "ReadError"),
        ("@write-file", False, "", "WriteError"),
        ("@write-file", False, "C:\\fz\\NUL", "InvalidArgument"),
        ("@write-file", True, "", "ResourceBusy"),
    ],
)
def test_an_io_exception_depends_on_the_verb_and_the_case(command: str, in_use: bool, case: str, category: str) -> None:
    error = {"category": "NotSpecified", "id": "IOException", "type": "System.IO.IOException"}
    found = translation.translated(command, {"error": error}, in_use=in_use, case=case)
    assert found["error"]["category"] == category


def test_paths_of_odd_names_lie_in_the_folder_of_the_node() -> None:
    """The back end on Windows only empties its own folder before each case."""
    for case in recorded.read("names"):
        for text in _texts(case.batches) + _texts(case.observations):
            assert not text.casefold().replace("/", "\\").removeprefix("\\\\?\\").startswith(FOLDER.casefold()), text


def _texts(value: object) -> list[str]:
    if isinstance(value, str):
        return [value]
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [text for part in parts for text in _texts(part)]
