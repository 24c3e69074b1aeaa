# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""8 files of 20 MB from a server with 4 MB per second for each connection: one file alone, and all in one run.

A lower rate would measure the server, and a higher one the hashing by simulated machines on a busy controller.
"""

from __future__ import annotations

import hashlib
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

from unit.direct_node import DirectNode

from ansible_collections.winkube.node.plugins.plugin_utils.artifacts import cache
from ansible_collections.winkube.node.plugins.plugin_utils.engine.converge import Convergence
from ansible_collections.winkube.node.plugins.plugin_utils.remote.session import NodeSession
from ansible_collections.winkube.node.plugins.plugin_utils.resources.load import load
from simulator.artifacts import ArtifactServer
from simulator.machine.machine import Machine
from simulator.machine.settings import MachineSettings

SIZE = 20_000_000
RATE = 4_000_000
COUNT = 8
KINDS = {"tool": {"url": "https://files.example/{version}/tool.bin", "checksum_suffix": ".sha256"}}


def measure() -> Mapping[str, float]:
    """Return the seconds for one file and for all files, and the number of concurrent downloads."""
    with tempfile.TemporaryDirectory() as folder, ArtifactServer(rate=RATE) as server:
        for version in range(COUNT + 1):
            content = bytes([version]) * SIZE
            server.put(f"files.example/{version}/tool.bin", content)
            server.put(f"files.example/{version}/tool.bin.sha256", hashlib.sha256(content).hexdigest().encode())
        machine = Machine(MachineSettings.read({"name": "BENCH", "address": "127.0.0.12"}), Path(folder, "machine"))
        machine.power_on()
        try:
            alone = _seconds(machine, server, [COUNT])
            together = _seconds(machine, server, range(COUNT))
        finally:
            machine.power.power_off()
        at_once = server.status()["most_at_once"]
    return {
        "seconds_alone": alone,
        "seconds_together": together,
        "ratio": together / alone,
        "downloads_at_once": float(at_once),
    }


def _seconds(machine: Machine, server: ArtifactServer, versions: range | list[int]) -> float:
    requested = cache.resources_for_versions(
        {"tool": [str(version) for version in versions]},
        cache_dir="C:\\cache",
        kinds=KINDS,
        mirror=server.url,
        upstream=False,
    )
    began = time.monotonic()
    outcome = Convergence(NodeSession(DirectNode(machine)), load(requested)).run()
    if outcome.failures:
        raise RuntimeError("\n".join(outcome.failures))
    return time.monotonic() - began
