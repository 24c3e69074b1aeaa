# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Bundles that are built and served in this process, from the simulator's artifact server and registry."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ansible_collections.winkube.node.plugins.plugin_utils.artifacts import locations
from ansible_collections.winkube.node.plugins.plugin_utils.bundle import content as bundle_content
from ansible_collections.winkube.node.plugins.plugin_utils.bundle import keys, verify
from ansible_collections.winkube.node.plugins.plugin_utils.bundle.build import Builder, BuildOptions, BuildResult
from ansible_collections.winkube.node.plugins.plugin_utils.bundle.fetch import Fetcher
from ansible_collections.winkube.node.plugins.plugin_utils.resources.load import load
from simulator.artifacts.server import ArtifactServer
from simulator.kubernetes_node.registry.server import SimulatedRegistry

WINDOWS = ("2022", "2025")
ARTIFACTS = {"crictl": "1.37.0", "cni-plugins": "1.9.0"}
PAUSE = "registry.k8s.io/pause:3.10.2"
CACHE = r"C:\ProgramData\winkube\cache"


@dataclasses.dataclass
class Controller:
    """A controller that builds a bundle.

    Args:
        folder: a folder for this controller; the bundle is `bundle` in it.
        server: the source of artifacts.
        registry: the source of container images.
    """

    folder: Path
    server: ArtifactServer
    registry: SimulatedRegistry
    pauses: list[float] = dataclasses.field(default_factory=list)

    @property
    def bundle(self) -> Path:
        """The folder of the bundle."""
        return self.folder / "bundle"

    @property
    def public(self) -> str:
        """The path of the public key."""
        return str(self.folder / "key.pub")

    def artifact(self, kind: str, version: str, **more: Any) -> dict[str, Any]:
        """Return an artifact as a role renders it, with the server as its mirror."""
        return locations.resource(
            kind, version, cache_dir=CACHE, **{"mirror": self.server.url, "upstream": False, **more}
        )

    def own(self, name: str, content: bytes, **more: Any) -> dict[str, Any]:
        """Return an artifact with a user's URL on the server, verified by its SHA-256."""
        self.server.put(f"files.example/{name}", content)
        url = f"{self.server.url}/files.example/{name}"
        given = {"sha256": hashlib.sha256(content).hexdigest(), "url": url, "upstream": True, "mirror": "", **more}
        return self.artifact(name.partition(".")[0], "1.0.0", **given)

    def image(self, name: str = PAUSE, **more: Any) -> dict[str, Any]:
        """Return a container image as a role renders it."""
        return {"type": "ContainerImage", "name": name, **more}

    def needed_content(self, resources: Sequence[dict[str, Any]], **registry: Any) -> bundle_content.BundleContent:
        """Return the contents that a bundle needs for these resources."""
        hosts = {item["name"].partition("/")[0] for item in resources if item["type"] == "ContainerImage"}
        about = {
            host: {"mirrors": [{"url": self.registry.url, **registry}], "server": self.registry.url} for host in hosts
        }
        return bundle_content.of_resources(load(resources), WINDOWS, about)

    def make(
        self, resources: Sequence[dict[str, Any]] | bundle_content.BundleContent, attempts: int = 3, **options: Any
    ) -> BuildResult:
        """Build the bundle, without a delay between attempts."""
        key, _ = keys.private_key(str(self.folder / "key"))
        requested = resources if isinstance(resources, bundle_content.BundleContent) else self.needed_content(resources)
        fetcher = Fetcher(attempts=attempts, sleep=self.pauses.append)
        return Builder(self.bundle, key, fetcher, BuildOptions(**options)).run(requested)

    def verified(self) -> verify.Bundle:
        """Return the verified bundle."""
        return verify.verify(str(self.bundle), self.public)

    def requests(self) -> int:
        """Return the number of requests to the artifact server and the registry."""
        return sum(self.server.status()["requests"].values()) + self.registry.counters["requests"]


def made_and_cut_off(folder: Path) -> Controller:
    """Return a controller with a bundle of two artifacts, a container image and an own file, whose sources are gone."""
    with ArtifactServer() as server, SimulatedRegistry() as registry:
        made = Controller(folder, server, registry)
        own = made.own("tool.zip", b"tool" * 1000)
        result = made.make([*(made.artifact(*pair) for pair in ARTIFACTS.items()), made.image(), own])
        assert result.failures == []
    return made
