# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The artifact cache of a simulated server, driven by the engine itself, and small files for an artifact server."""

from __future__ import annotations

import hashlib
import json
import typing as t
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

from unit.direct_node import DirectNode

from ansible_collections.winkube.node.plugins.plugin_utils.artifacts import cache as artifacts_cache
from ansible_collections.winkube.node.plugins.plugin_utils.artifacts.cache import CacheEntry
from ansible_collections.winkube.node.plugins.plugin_utils.downloads import curl
from ansible_collections.winkube.node.plugins.plugin_utils.engine.answers import Answers
from ansible_collections.winkube.node.plugins.plugin_utils.engine.converge import Convergence
from ansible_collections.winkube.node.plugins.plugin_utils.engine.outcome import ConvergenceOutcome
from ansible_collections.winkube.node.plugins.plugin_utils.remote.errors import NodeError
from ansible_collections.winkube.node.plugins.plugin_utils.remote.session import NodeSession
from ansible_collections.winkube.node.plugins.plugin_utils.resources.load import load
from simulator.artifacts import ArtifactServer
from simulator.artifacts.archives import tar_gz
from simulator.machine.machine import Machine
from simulator.machine.settings import MachineSettings

CACHE = "C:\\ProgramData\\winkube\\cache"
TOOL = {"tool": {"url": "https://files.example/tool/{version}/tool.tar.gz", "checksum_suffix": ".sha256"}}
"""A custom kind of artifact, with files as small as a test needs."""
SECRET = "s3cret-signature"


def machine_of(folder: Path, windows: str) -> Iterator[DirectNode]:
    """Yield a machine. Downloads are repeated after a moment: the servers of the tests need no time to recover."""
    entry = {"name": "node-1", "address": "127.0.0.11", "windows": windows, "time_scale": 0.001}
    machine = Machine(MachineSettings.read(entry), folder / "machine")
    machine.power_on()
    with mock.patch.object(curl, "_BETWEEN", 0.05):
        yield DirectNode(machine)
    machine.power.power_off()


class Run(t.NamedTuple):
    """The result of one run of artifact_cache."""

    outcome: ConvergenceOutcome
    table: list[CacheEntry]
    commands: int

    def shown(self) -> str:
        """Return everything in the result that a user may see."""
        return json.dumps(self.outcome.to_result(diff=True)) + repr(self.table)

    def status(self) -> dict[str, str]:
        return {f"{entry.kind} {entry.version}": entry.status for entry in self.table}


def cache(node: DirectNode, lists: dict[str, t.Any], server: ArtifactServer | None = None, **options: t.Any) -> Run:
    """Run once, by default with the server as the only source."""
    if server is not None:
        options = {"mirror": server.url, "upstream": False, **options}
    check_mode = options.pop("check_mode", False)
    resources = load(artifacts_cache.resources_for_versions(lists, cache_dir=CACHE, **options))
    before = node.remote_commands
    answers = Answers()
    work = Convergence(NodeSession(node), resources, check_mode=check_mode, answers=answers)
    try:
        outcome = work.run()
    except NodeError as error:
        work.outcome.failures.append(str(error))
        outcome = work.outcome
    version = outcome.windows.version if outcome.windows else None
    return Run(outcome, artifacts_cache.table(resources, answers, version), node.remote_commands - before)


def offer(server: ArtifactServer, version: str, content: bytes, kind: str = "tool") -> str:
    """Add a version of the custom kind to the server, and return its path."""
    path = f"files.example/{kind}/{version}/{kind}.tar.gz"
    server.put(path, content)
    server.put(f"{path}.sha256", hashlib.sha256(content).hexdigest().encode())
    return path


def archive(version: str, size: int = 1000) -> bytes:
    return tar_gz({"tool.exe": hashlib.sha256(version.encode()).digest() * (size // 32)})


def files(node: DirectNode) -> list[str]:
    """Return the paths of all files in the cache, relative to it."""
    root = node.machine.files.real(CACHE)
    return sorted(str(path.relative_to(root)).replace("/", "\\") for path in root.rglob("*") if path.is_file())


def content(node: DirectNode, path: str) -> bytes:
    return node.machine.files.read_bytes(path)


def requests(server: ArtifactServer) -> int:
    return sum(server.status()["requests"].values())
