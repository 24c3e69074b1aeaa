# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Downloads that fail on a simulated machine: the number of requests, the remaining files, and the messages."""

from __future__ import annotations

import hashlib
import typing as t
from collections.abc import Iterator
from pathlib import Path

import pytest
from unit.direct_node import DirectNode

from ansible_collections.winkube.node.plugins.plugin_utils.engine.converge import Convergence
from ansible_collections.winkube.node.plugins.plugin_utils.engine.outcome import ConvergenceOutcome
from ansible_collections.winkube.node.plugins.plugin_utils.remote.session import NodeSession
from ansible_collections.winkube.node.plugins.plugin_utils.resources.load import load
from simulator.artifacts import ArtifactServer
from simulator.artifacts.archives import zip_archive
from simulator.machine.machine import Machine
from simulator.machine.settings import MachineSettings

PATH = "C:\\cache\\tool.zip"
GOOD = zip_archive({"tool.exe": b"MZ"})
EVIL = zip_archive({"tool.exe": b"MZ", "../../evil.exe": b"MZ"})


@pytest.fixture
def node(tmp_path: Path) -> Iterator[DirectNode]:
    entry = {"name": "node-1", "address": "127.0.0.11", "windows": "2022", "time_scale": 0.01, "first_delay": 0.02}
    machine = Machine(MachineSettings.read(entry), tmp_path / "machine")
    machine.power_on()
    yield DirectNode(machine)
    machine.power.power_off()


@pytest.fixture
def mirrors() -> Iterator[tuple[ArtifactServer, ArtifactServer]]:
    with ArtifactServer() as first, ArtifactServer() as second:
        yield first, second


def artifact(data: bytes, *servers: ArtifactServer) -> dict[str, t.Any]:
    urls = [f"{server.url}/files.example/tool.zip" for server in servers]
    sha256 = hashlib.sha256(data).hexdigest()
    return {"type": "Artifact", "name": "tool 1", "path": PATH, "urls": urls, "sha256": sha256}


ARCHIVE = {"type": "Archive", "name": "C:\\tool", "path": PATH, "members": ["tool.exe"]}


def run(node: DirectNode, *items: dict[str, t.Any]) -> ConvergenceOutcome:
    return Convergence(NodeSession(node), load(items)).run()


def asked(server: ArtifactServer) -> int:
    return int(server.status()["total"])


@pytest.mark.parametrize(("part", "times"), [(False, 1), (True, 2)])
def test_a_mirror_without_the_file_is_asked_once(
    node: DirectNode, mirrors: tuple[ArtifactServer, ArtifactServer], part: bool, times: int
) -> None:
    first, second = mirrors
    second.put("files.example/tool.zip", GOOD)
    if part:
        # A resumed download is requested first, and then the whole file, because curl reports 416 like 404.
        node.machine.files.make_directory("C:\\cache")
        node.machine.files.write_bytes(f"{PATH}.part", GOOD[:20])
    assert run(node, artifact(GOOD, first, second)).failures == []
    # One request for the size of each, before anything is downloaded.
    assert (asked(first), asked(second)) == (1 + times, 1 + 1)


def test_a_refused_archive_leaves_no_files(node: DirectNode, mirrors: tuple[ArtifactServer, ArtifactServer]) -> None:
    for server in mirrors:
        server.put("files.example/tool.zip", EVIL)
    outcome = run(node, artifact(EVIL, *mirrors))
    assert "names that lead outside its target folder" in outcome.failures[0]
    assert not node.machine.files.exists(f"{PATH}.part")
    assert [asked(server) for server in mirrors] == [1 + 1, 1], "its size is asked of the first only"


def test_a_broken_download_is_kept_for_the_next_run(
    node: DirectNode, mirrors: tuple[ArtifactServer, ArtifactServer]
) -> None:
    first, _ = mirrors
    first.put("files.example/tool.zip", GOOD)
    first.fault("cut", "*", at=5)
    assert run(node, artifact(GOOD, first)).failures
    assert node.machine.files.exists(f"{PATH}.part")


def test_one_cause_is_reported_once(node: DirectNode, mirrors: tuple[ArtifactServer, ArtifactServer]) -> None:
    outcome = run(node, artifact(GOOD, *mirrors), ARCHIVE)
    assert len(outcome.failures) == 1
    assert "Artifact tool 1: " in outcome.failures[0]
    assert outcome.changes == []
    for server in mirrors:
        server.put("files.example/tool.zip", GOOD)
    assert run(node, artifact(GOOD, *mirrors), ARCHIVE).failures == []


def test_a_missing_archive_fails_only_its_own_resource(node: DirectNode) -> None:
    (failure,) = run(node, ARCHIVE).failures
    assert "Archive C:\\tool: unpack: " in failure


def test_a_damaged_archive_fails_only_its_own_resource(
    node: DirectNode, mirrors: tuple[ArtifactServer, ArtifactServer]
) -> None:
    first, _ = mirrors
    first.put("files.example/tool.zip", GOOD)
    assert run(node, artifact(GOOD, first)).failures == []
    other = {**ARCHIVE, "members": ["missing.exe"]}
    (failure,) = run(node, artifact(GOOD, first), other).failures
    assert "Archive C:\\tool: " in failure
