# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Files that a user put on a server before its first run are not used, even if they confirm each other."""

from __future__ import annotations

import hashlib
import typing as t
from collections.abc import Iterator
from pathlib import Path

import pytest
from integration.caching import CACHE, TOOL, archive, machine_of, offer
from unit.direct_node import DirectNode
from unit.users import USER, own, plant

from ansible_collections.winkube.node.plugins.plugin_utils.artifacts import cache, locations
from ansible_collections.winkube.node.plugins.plugin_utils.engine.converge import Convergence
from ansible_collections.winkube.node.plugins.plugin_utils.engine.outcome import ConvergenceOutcome
from ansible_collections.winkube.node.plugins.plugin_utils.remote.session import NodeSession
from ansible_collections.winkube.node.plugins.plugin_utils.resources import directory
from ansible_collections.winkube.node.plugins.plugin_utils.resources.load import load
from simulator.artifacts import ArtifactServer

pytestmark = [pytest.mark.integration, pytest.mark.xdist_group("untrusted_content")]

FOLDER = rf"{CACHE}\tool\1.0.0"
GOOD, TROJAN = archive("1.0.0"), archive("trojan")
GUARD = [*directory.closed([r"C:\ProgramData\winkube"], shallow=True), *directory.closed([CACHE], content="writable")]


@pytest.fixture(scope="module")
def server() -> Iterator[ArtifactServer]:
    with ArtifactServer() as server:
        offer(server, "1.0.0", GOOD)
        yield server


@pytest.fixture
def node(tmp_path: Path) -> Iterator[DirectNode]:
    yield from machine_of(tmp_path, "2022")


def run(node: DirectNode, resources: list[dict[str, t.Any]]) -> ConvergenceOutcome:
    node.remote_commands = 0
    outcome = Convergence(NodeSession(node), load(resources)).run()
    assert outcome.failures == []
    return outcome


def test_files_of_a_user_in_the_cache_are_not_trusted(node: DirectNode, server: ArtifactServer) -> None:
    files, checksum = node.machine.files, hashlib.sha256(TROJAN).hexdigest()
    plant(files, rf"{FOLDER}\tool.tar.gz", TROJAN)
    plant(files, rf"{FOLDER}\tool.tar.gz.checksum", checksum.encode())
    options = {"cache_dir": CACHE, "kinds": TOOL, "mirror": server.url, "upstream": False}
    resources = [*GUARD, *cache.resources_for_versions({"tool": ["1.0.0"]}, **options)]
    outcome = run(node, resources)
    assert files.read_bytes(rf"{FOLDER}\tool.tar.gz") == GOOD
    (warning,) = [text for text in outcome.warnings if "not trusted" in text]
    assert USER in warning
    for path in (r"C:\ProgramData\winkube", CACHE, rf"{FOLDER}\tool.tar.gz", rf"{FOLDER}\tool.tar.gz.checksum"):
        assert files.who_may_write(path) == set(), path
    again = run(node, resources)
    assert (again.changes, again.remote_commands) == ([], 1)


def test_a_record_of_unpacked_files_does_not_make_them_trusted(node: DirectNode, server: ArtifactServer) -> None:
    r"""A user who created C:\k first can write everything there: a program, and the record of its hash."""
    files = node.machine.files
    artifact = locations.resource("tool", "1.0.0", cache_dir=CACHE, kinds=TOOL, mirror=server.url, upstream=False)
    programs = [*GUARD, *directory.closed([r"C:\k"], users="read"), artifact]
    programs.append({"type": "Archive", "name": r"C:\k", "path": artifact["path"], "check": ["tool.exe"]})
    run(node, programs)
    honest = files.read_bytes(r"C:\k\tool.exe")
    files.write_bytes(r"C:\k\tool.exe", b"trojan")
    for entry in files.walk(r"C:\k"):
        if (
            not entry.is_directory
            and files.read_bytes(entry.path).strip() == hashlib.sha256(honest).hexdigest().encode()
        ):
            files.write_text(entry.path, hashlib.sha256(b"trojan").hexdigest())
    own(files, r"C:\k", *(entry.path for entry in files.walk(r"C:\k")))
    outcome = run(node, programs)
    assert files.read_bytes(r"C:\k\tool.exe") == honest
    assert [text for text in outcome.warnings if r"C:\k\tool.exe" in text]
    assert files.who_may_write(r"C:\k\tool.exe") == set()
    assert run(node, programs).changes == []
