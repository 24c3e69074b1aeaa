# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""25 artifacts and 12 container images in one convergence, like the role image_cache: the number of commands."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from integration.actions import connect, run_action
from integration.caching import CACHE, TOOL, archive, offer, requests
from integration.imaging import CERTS, Machines, mirrors, names
from integration.test_artifact_cache_module import LISTS
from integration.test_container_images import TWELVE

from ansible_collections.winkube.node.plugins.plugin_utils.artifacts import cache
from ansible_collections.winkube.node.plugins.plugin_utils.container_images import listing
from ansible_collections.winkube.node.plugins.plugin_utils.node_config import registries
from simulator.artifacts import ArtifactServer
from simulator.kubernetes_node.registry.server import SimulatedRegistry
from simulator.machine.machine import Machine

pytestmark = [pytest.mark.integration, pytest.mark.xdist_group("cache_budget")]


@pytest.fixture
def machine() -> Iterator[Machine]:
    with Machines(1) as machines:
        yield machines.next()


def test_a_whole_cache_needs_few_commands_and_two_if_complete(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ArtifactServer() as server, SimulatedRegistry() as registry, connect(machine) as connection:
        for version in LISTS["tool"]:
            offer(server, version, archive(version))
        files = cache.resources_for_versions(LISTS, cache_dir=CACHE, kinds=TOOL, mirror=server.url, upstream=False)
        hosts = registries.containerd_files(registries.read(mirrors(registry)), CERTS)
        images = listing.resources(TWELVE, {"hosts_dir": CERTS, "parallel": 4}, pinned=True)
        given: dict[str, Any] = {"resources": [*hosts, *files, *images]}

        # Machines that start from the image have a disk that is too small for the plan.
        small = run_action(connection, "node_state", {**given, "disk_limit_gib": 1})
        assert "not enough disk space on C: for the plan; nothing was changed" in small["msg"]
        assert not machine.files.is_directory(CACHE)

        first = run_action(connection, "node_state", given)
        assert not first.get("failed"), first["msg"]
        assert len([item for item in first["changes"] if item["type"] == "Artifact"]) == 25
        assert names(machine) == set(TWELVE)
        # Observe (with the sizes of the files), measure (those of the images), start, collect, and one more poll.
        assert first["remote_commands"] <= 5
        server.reset()
        registry.reset()

        second = run_action(connection, "node_state", given)
        assert not second["changed"]
        assert second["remote_commands"] <= 2
        assert (requests(server), registry.counters["requests"]) == (0, 0)
