# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Storing versions on a machine that does not let itself be written, or that has nothing to store.

tests/integration/test_cached_versions.py stores versions on simulated machines.
"""

from __future__ import annotations

import json
import re
import typing as t

import pytest
from unit.action_run import Answering

from ansible_collections.winkube.node.plugins.plugin_utils.lifecycle import version_script, version_storage
from ansible_collections.winkube.node.plugins.plugin_utils.lifecycle.version_storage import VersionStorage
from ansible_collections.winkube.node.plugins.plugin_utils.remote.errors import NodeError
from ansible_collections.winkube.node.plugins.plugin_utils.remote.session import NodeSession
from ansible_collections.winkube.node.plugins.plugin_utils.windows import windows_info
from ansible_collections.winkube.node.plugins.plugin_utils.wire.calls import action
from ansible_collections.winkube.node.plugins.plugin_utils.wire.messages import (
    CallError,
    CallResult,
    Observation,
    Stopped,
)

BROKEN = CallResult(ok=False, error=CallError(category="WriteError", id="IOException", type="", message="disk full"))


class Empty(Answering):
    """A machine without the folder, whose disk is full."""

    def observe(self, calls: t.Sequence[t.Any], *, step: str = "", private: bool = False) -> Observation:
        results = {}
        for call in calls:
            paths = call.parameters.get("paths", [])
            missing = tuple({"path": path, "exists": False, "type": None} for path in paths)
            results[call.id] = CallResult(ok=True, output=missing)
        current = {
            "CurrentBuild": "20348",
            "UBR": 1,
            "InstallationType": "Server",
            "ProductName": "Windows Server 2022 Datacenter",
        }
        _fill(results, current)
        return Observation(state="finished", calls=results, boot="")

    def run(self, batch: t.Any, *, step: str = "", private: bool = False, may_reboot: bool = False) -> Observation:
        first = batch.calls[0].id
        return Observation(state="finished", calls={first: BROKEN}, stopped=Stopped(id=first, reason="error"), boot="")


def _fill(results: dict[str, CallResult], current: t.Mapping[str, t.Any]) -> None:
    values = windows_info.call().parameters["values"]
    entries = t.cast("t.Sequence[t.Mapping[str, str]]", values)
    results[windows_info.CALL_ID] = CallResult(
        ok=True,
        output=tuple(
            {
                **entry,
                "exists": entry.get("name") in current,
                "key_exists": False,
                "value": current.get(entry.get("name", "")),
            }
            for entry in entries
        ),
    )


def test_a_file_that_cannot_be_written_is_named() -> None:
    storage = VersionStorage(NodeSession(t.cast("t.Any", Empty())), [], [], [])
    assert storage.observe().versions == ()
    assert storage.changes
    with pytest.raises(NodeError, match=r"cached versions: Directory C:.*cached-versions: disk full"):
        storage.write()


class Full(Empty):
    """A machine that notes what it has to write."""

    def __init__(self) -> None:
        super().__init__()
        self.batches: list[t.Any] = []

    def run(self, batch: t.Any, *, step: str = "", private: bool = False, may_reboot: bool = False) -> Observation:
        self.batches.append(batch)
        return Observation(state="finished", calls={call.id: CallResult(ok=True) for call in batch.calls}, boot="")


@pytest.mark.parametrize(("limit", "most"), [(1_000_000, 1), (70_000, 5)])
def test_large_files_are_written_in_several_batches(monkeypatch: pytest.MonkeyPatch, limit: int, most: int) -> None:
    monkeypatch.setattr(version_storage, "MAX_BATCH_BYTES", limit)
    machine = Full()
    storage = VersionStorage(NodeSession(t.cast("t.Any", machine)), [], [], [])
    storage.observe()
    assert storage.write([action("clean", "Remove-Item")])
    assert (len(machine.batches) > 1) is (most > 1)
    assert len(machine.batches) <= most
    assert all(len(json.dumps(batch.to_wire())) <= limit for batch in machine.batches)
    calls = [call for batch in machine.batches for call in batch.calls]
    written = [call.parameters["path"] for call in calls if call.command == "@write-file"]
    assert written == [one.name for one in version_script.resources([])][1:]
    assert calls[-1].id == "clean"


def test_the_index_comes_last() -> None:
    names = [one.name for one in version_script.resources([])]
    assert names[0] == version_script.FOLDER
    assert names[1] == version_script.SCRIPT
    assert names[-1] == version_script.INDEX
    assert f"{version_script.FOLDER}\\_CallVerbs.psm1" in names


def test_the_folder_contains_all_modules_that_its_programs_require() -> None:
    texts = version_script.programs()
    required = {
        f"{name.removeprefix('..module_utils.')}.psm1"
        for text in texts.values()
        for name in re.findall(r"^#AnsibleRequires -\w+ (\S+)", text, re.MULTILINE)
    }
    assert required == {name for name in texts if name.endswith(".psm1")}
    # Ansible has this module itself, and only a part requires it.
    assert "Function Argv-ToString(" in texts["Ansible.ModuleUtils.ArgvParser.psm1"]
