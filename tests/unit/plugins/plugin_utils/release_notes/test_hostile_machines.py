# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A machine that returns values of any type and size: release notes end with an error, or in valid documents."""

from __future__ import annotations

import datetime
import json
import random
import re
import typing as t
from collections.abc import Iterator
from pathlib import Path

import pytest
import sbom_schema
from integration.imaging import install, put
from unit.altered_node import ODD, Altered, Recording, places, replaced

from ansible_collections.winkube.node.plugins.plugin_utils.release_notes import contents, documents, observation
from ansible_collections.winkube.node.plugins.plugin_utils.remote.errors import NodeError
from ansible_collections.winkube.node.plugins.plugin_utils.remote.session import NodeSession
from ansible_collections.winkube.node.plugins.plugin_utils.values.errors import ResourceError
from ansible_collections.winkube.node.plugins.plugin_utils.wire.typed_values import MISREAD
from simulator.machine.machine import Machine
from simulator.machine.settings import MachineSettings

CACHE = "C:\\ProgramData\\winkube\\cache"
WRITTEN = datetime.datetime(2026, 11, 26, tzinfo=datetime.UTC)
SOURCES = observation.ContentSources.of({"runtime": "containerd", "ctr": None, "docker": None, "cache_dir": CACHE})


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    """Yield a machine with containerd and a cached artifact."""
    entry = {"name": "node-1", "address": "127.0.0.11", "windows": "2022", "features": ["Containers"]}
    machine = Machine(MachineSettings.read(entry), Path(tmp_path_factory.mktemp("machine")))
    machine.power_on()
    install(machine, "2.3.7")
    path = f"{CACHE}\\nssm\\2.24\\nssm-2.24.zip"
    put(machine, path, b"x")
    put(machine, f"{path}.manifest.json", json.dumps({"kind": "nssm", "source": "https://nssm.cc/a.zip"}).encode())
    yield machine
    machine.power.power_off()


def outcome(node: t.Any) -> dict[str, str] | str:
    """Return the documents, or the error."""
    try:
        seen, windows = NodeSession(node).observe(observation.calls(SOURCES), step="read")
        names = {"release": "20261126.1a2b3c4d", "host": "node-1", "time": "2026-11-26T01:02:03Z"}
        noted = contents.with_texts(observation.read(seen, windows, SOURCES, **names), str)
        return documents.texts(noted, written=WRITTEN, with_sbom=True)
    except (NodeError, ResourceError, observation.ContentsUnreadable, *MISREAD) as error:
        # The action reports each of these as one message.
        return f"node-1: {error!r}"


def test_values_of_any_type_end_in_an_error_or_in_valid_documents(machine: Machine) -> None:
    recording = Recording(machine)
    honest = outcome(recording)
    assert isinstance(honest, dict)
    choice = random.Random(17)
    by_call: dict[str, list[tuple[t.Any, ...]]] = {}
    for path in places(recording.wires):
        if len(path) > 2:
            by_call.setdefault(path[2], []).append(path)
    # Each call counts alike, though most of the values are features and registry fixes.
    tried = [path for paths in by_call.values() for path in choice.sample(paths, min(6, len(paths)))]
    ends = {"documents": 0, "error": 0}
    for path in tried:
        value = choice.choice(ODD)
        end = outcome(Altered(replaced(recording.wires, path, value)))
        ends["documents" if isinstance(end, dict) else "error"] += 1
        if isinstance(end, dict):
            assert sbom_schema.objection(end["sbom"]) is None, (path, value)
            assert contents.from_json(end["json"], "notes").release == "20261126.1a2b3c4d"
            assert not re.search(r"\x1b", "".join(end.values())), (path, value)
    assert min(ends.values()) > 10, ends
