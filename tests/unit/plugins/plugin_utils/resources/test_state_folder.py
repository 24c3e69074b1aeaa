# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Folders with the state of programs, which are emptied or removed."""

from __future__ import annotations

import typing as t
from collections.abc import Iterator
from pathlib import Path

import pytest
from unit.direct_node import DirectNode
from unit.resource_answers import answer, failure, must, one, planned

from ansible_collections.winkube.node.plugins.plugin_utils.engine.converge import Convergence
from ansible_collections.winkube.node.plugins.plugin_utils.engine.outcome import ConvergenceOutcome
from ansible_collections.winkube.node.plugins.plugin_utils.remote.session import NodeSession
from ansible_collections.winkube.node.plugins.plugin_utils.values.errors import ResourceError
from ansible_collections.winkube.node.plugins.plugin_utils.windows.sddl import ADMINISTRATORS_ONLY, READABLE, SHARED
from simulator.machine.machine import Machine
from simulator.machine.settings import MachineSettings

KUBELET = r"C:\var\lib\kubelet"
FOLDERS = {"pki": ADMINISTRATORS_ONLY, "pods": SHARED}
GONE = failure("ObjectNotFound", "PathNotFound,Microsoft.PowerShell.Commands.GetChildItemCommand")


def folder(**more: t.Any) -> t.Any:
    return one(type="StateFolder", name=KUBELET, **more)


def emptied() -> t.Any:
    return folder(acl=READABLE, folders=FOLDERS)


def seen(kind: str = "directory", **content: t.Any) -> dict[str, t.Any]:
    """Return the answers about a folder of this type with this content."""
    return {"folder": answer({"path": KUBELET, "exists": bool(kind), "type": kind or None}), **content}


def names(*listed: str) -> t.Any:
    return answer(*({"Name": name} for name in listed))


def test_a_missing_or_empty_folder_needs_no_change() -> None:
    assert planned(folder(state="absent"), **seen("")) is None
    assert planned(folder(), **seen(**{"content-0": names()})) is None
    clean = {"content-0": names("PKI", "pods"), "content-1": names(), "content-2": names()}
    assert planned(emptied(), **seen(**clean)) is None


def test_an_absent_folder_is_removed_with_its_links() -> None:
    change = must(folder(state="absent"), **seen())
    assert [call.command for call in change.calls] == ["cmd.exe", "@read-file"]
    assert change.calls[0].arguments == ("/d", "/c", "rd", "/s", "/q", f"\\\\?\\{KUBELET}")


def test_a_folder_with_content_is_made_again() -> None:
    content = {"content-0": names("pki", "pods", "config.yaml"), "content-1": names("key"), "content-2": names()}
    change = must(emptied(), **seen(**content))
    assert change.before["content"] == ["config.yaml", r"pki\key"]
    assert change.why == r"contains config.yaml, pki\key"
    assert [call.id for call in change.calls] == ["remove", "make", "folder-0", "folder-1"]


def test_a_missing_subfolder_is_made_again() -> None:
    change = must(emptied(), **seen(**{"content-0": names("pki"), "content-1": names(), "content-2": GONE}))
    assert change.why == "pods is missing"


def test_a_missing_folder_is_created() -> None:
    change = must(emptied(), **seen("", **{"content-0": GONE, "content-1": GONE, "content-2": GONE}))
    assert [call.id for call in change.calls] == ["make", "folder-0", "folder-1"]
    assert must(folder(), **seen("", **{"content-0": GONE})).calls[-1].command == "New-Item"


def test_a_file_at_the_path_is_removed() -> None:
    assert [call.command for call in must(folder(state="absent"), **seen("file")).calls] == ["Remove-Item"]
    change = must(emptied(), **seen("file", **{"content-0": names("kubelet"), "content-1": GONE, "content-2": GONE}))
    assert change.why == "type is file, expected directory"
    assert [call.id for call in change.calls] == ["remove", "make", "folder-0", "folder-1"]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({"name": "C:\\"}, "expected the path of a folder"),
        ({"name": "C:\\a%PATH%"}, "expected the path of a folder"),
        ({"name": 'C:\\a" & calc & "'}, "expected the path of a folder"),
        ({"name": "relative"}, "expected the path of a folder"),
        # `rd` would remove C:\kube, too.
        ({"name": "C:\\kube,old"}, "expected the path of a folder"),
        ({"name": "C:\\kube;old"}, "expected the path of a folder"),
        ({"name": "C:\\kube=old"}, "expected the path of a folder"),
        ({"name": "C:\\kube\nold"}, "expected the path of a folder"),
        ({"name": "C:\\kube\\..\\..\\other"}, "expected the path of a folder"),
        ({"name": "C:\\kube. \\old"}, "expected the path of a folder"),
        ({"name": "C:\\PROGRA~1"}, "expected the path of a folder"),
        ({"name": "C:\\\\kube"}, "expected the path of a folder"),
        ({"name": "c:\\WINDOWS\\"}, "expected a folder that is not one of Windows' own"),
        ({"name": "C:\\Windows\\System32"}, "expected a folder that is not one of Windows' own"),
        ({"name": "D:\\Program Files (x86)"}, "expected a folder that is not one of Windows' own"),
        ({"name": "C:\\ProgramData"}, "expected a folder that is not one of Windows' own"),
        ({"folders": {"..": SHARED}}, "expected the name of a direct subfolder"),
        ({"folders": {"a\\b": SHARED}}, "expected the name of a direct subfolder"),
        ({"folders": {"a": "everyone"}}, "expected SDDL"),
        ({"acl": "nobody"}, "expected SDDL"),
        ({"state": "absent", "acl": SHARED}, "expected 'empty', because acl or folders is set"),
    ],
)
def test_bad_input_is_refused(values: dict[str, t.Any], expected: str) -> None:
    with pytest.raises(ResourceError, match=expected):
        one(**{"type": "StateFolder", "name": KUBELET, **values})


def test_a_list_that_failed_is_no_empty_folder() -> None:
    with pytest.raises(ResourceError, match="expected a folder that can be listed"):
        planned(folder(), **seen(**{"content-0": failure("PermissionDenied", "DirUnauthorizedAccessError")}))


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    settings = {"name": "node-1", "address": "127.0.0.11", "windows": "2022", "first_delay": 0.02}
    machine = Machine(MachineSettings.read(settings), tmp_path / "m")
    machine.power_on()
    yield machine
    machine.power.power_off()


def converge(machine: Machine, *resources: t.Any) -> ConvergenceOutcome:
    return Convergence(NodeSession(t.cast("t.Any", DirectNode(machine))), resources).run()


def test_links_are_removed_and_their_targets_stay(machine: Machine) -> None:
    files = machine.files
    files.make_directory(r"C:\data")
    files.write_text(r"C:\data\kept.txt", "kept")
    volume = rf"{KUBELET}\pods\1\volumes"
    files.make_directory(volume)
    files.real(rf"{volume}\..data").symlink_to(files.real(r"C:\data"))
    # Remove-Item of Windows PowerShell fails here.
    outcome = converge(machine, one(type="Directory", name=KUBELET, state="absent"))
    assert "There is a mismatch between the tag specified in the request" in outcome.failures[0]
    outcome = converge(machine, emptied())
    assert outcome.failures == []
    assert files.read_text(r"C:\data\kept.txt") == "kept"
    assert [entry.name for entry in files.listing(KUBELET)] == ["pki", "pods"]
    assert files.listing(rf"{KUBELET}\pods") == []
    assert converge(machine, emptied()).changes == []


def test_a_file_at_the_path_is_replaced_by_a_folder(machine: Machine) -> None:
    machine.files.make_directory("C:\\var\\lib")
    machine.files.write_text(KUBELET, "x")
    assert converge(machine, folder()).failures == []
    assert machine.files.listing(KUBELET) == []
    assert converge(machine, folder()).changes == []


def test_a_file_in_use_is_reported(machine: Machine) -> None:
    machine.files.make_directory(KUBELET)
    machine.files.write_text(rf"{KUBELET}\log.txt", "x")
    with machine.files.open.hold(rf"{KUBELET}\log.txt", "w", "r"):
        outcome = converge(machine, emptied())
    assert "A program still uses files in C:\\var\\lib\\kubelet" in outcome.failures[0]
