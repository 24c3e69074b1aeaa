# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Small container images with the names, tags and Windows builds of real images. Their contents are invented.

registry.k8s.io/pause is built for 1809 and ltsc2022, and 3.10.2 also for ltsc2025 (kubernetes/kubernetes
`build/pause/Makefile`). registry.k8s.io/e2e-test-images/agnhost is built for 1809 and ltsc2022, and since 2.62.0 also
for ltsc2025 (`test/images/agnhost/BASEIMAGE`, kubernetes/kubernetes#136727). The builds of the base images are taken
from Microsoft's artifact registry. windows-host-process-containers-base-image has only one platform, Windows without
an `os.version` (https://github.com/microsoft/windows-host-process-containers-base-image).
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from simulator.artifacts.archives import tar_gz
from simulator.kubernetes_node.images import addon_images, calico_images, oci
from simulator.machine.executables import make

BUILDS: Mapping[str, str] = {"2019": "10.0.17763.6532", "2022": "10.0.20348.2849", "2025": "10.0.26100.2314"}
_OLD, _NEW = ("2019", "2022"), ("2019", "2022", "2025")
KB = 1024


@dataclass
class Blobs:
    """The contents of a registry: blobs by digest with their media types, and digests by name (`host/path:tag`)."""

    content: dict[str, tuple[str, bytes]] = field(default_factory=dict)
    tags: dict[str, str] = field(default_factory=dict)

    def put(self, media_type: str, data: bytes, **more: Any) -> dict[str, Any]:
        """Add a blob, and return its descriptor."""
        described = oci.descriptor(media_type, data, **more)
        self.content[described["digest"]] = (media_type, data)
        return described

    def document(self, name: str) -> dict[str, Any]:
        """Return the index or manifest to which an image name refers."""
        found: dict[str, Any] = json.loads(self.content[self.tags[name]][1])
        return found

    def add(self, name: str, builds: Sequence[str | None], *, linux: bool = False, size: int = 4 * KB,
            programs: Mapping[str, str] | None = None, version: str = "",
            config: Mapping[str, Any] | None = None) -> None:  # fmt: skip
        """Add an image to the registry.

        Args:
            name: the name, `host/path:tag`.
            builds: Windows releases (`2019`, `2022`, `2025`) or full versions (`10.0.x.y`); None is Windows without a
                    version. If None is the only build and `linux` is false, no index is created.
            linux: whether to add entries for Linux.
            size: the size of the image's layer in bytes, without the programs.
            programs: maps the path of each executable in the image to the name of the program.
            version: the version of the executables; by default the tag.
            config: the container configuration for Windows: `Entrypoint`, `Cmd`, `WorkingDir`.
        """
        entries: list[dict[str, Any]] = []
        version = version or name.rpartition(":")[2]
        members = {f"Files/{path}": make(program, version) for path, program in (programs or {}).items()}
        if linux:
            platforms = [{"os": "linux", "architecture": machine} for machine in ("amd64", "arm64")]
            entries += [self._manifest(name, platform, size, {}, {}) for platform in platforms]
        for build in builds:
            platform = {"architecture": "amd64", "os": "windows"}
            if build:
                platform["os.version"] = BUILDS.get(build, build)
            entries.append(self._manifest(name, platform, size, members, config or {}))
        if list(builds) == [None] and not linux:
            self.tags[name] = entries[0]["digest"]
            return
        index = {"schemaVersion": 2, "mediaType": oci.INDEX, "manifests": entries}
        self.tags[name] = self.put(oci.INDEX, oci.encode(index))["digest"]

    def _manifest(self, name: str, platform: dict[str, str], size: int, programs: Mapping[str, bytes],
                  settings: Mapping[str, Any]) -> dict[str, Any]:  # fmt: skip
        seed = f"{name} {sorted(platform.items())}"
        members = {**programs, "Files/License.txt": random.Random(seed).randbytes(size)}
        layer = self.put(oci.LAYER, tar_gz(members))
        config = {
            **platform,
            "config": dict(settings),
            "rootfs": {"type": "layers", "diff_ids": [oci.digest_of(seed.encode())]},
        }
        document = {
            "schemaVersion": 2,
            "mediaType": oci.MANIFEST,
            "config": self.put(oci.CONFIG, oci.encode(config)),
            "layers": [layer],
        }
        return self.put(oci.MANIFEST, oci.encode(document), platform=platform)


def fill(blobs: Blobs) -> Blobs:
    """Add all images of this module to a simulated registry. Each process creates the images only once."""
    known = _upstream()
    blobs.content |= known.content
    blobs.tags |= known.tags
    return blobs


@cache
def _upstream() -> Blobs:
    blobs = Blobs()
    for tag in ("3.6", "3.7", "3.8", "3.9", "3.10", "3.10.1", "3.10.2"):
        builds = _NEW if tag == "3.10.2" else _OLD
        for path in ("registry.k8s.io/pause", "mcr.microsoft.com/oss/kubernetes/pause"):
            blobs.add(f"{path}:{tag}", builds, linux=True, programs={"pause.exe": "pause"})
    for tag in ("v0.1.0", "v1.0.0"):
        for path in ("oss/kubernetes", "oss/v2/kubernetes"):
            blobs.add(f"mcr.microsoft.com/{path}/windows-host-process-containers-base-image:{tag}", [None], size=KB)
    for repository, size in (("nanoserver", 16 * KB), ("servercore", 64 * KB), ("server", 96 * KB)):
        for tag, build in _base_tags(repository):
            blobs.add(f"mcr.microsoft.com/windows/{repository}:{tag}", [build], size=size)
    for tag in ("windowsservercore-ltsc2019", "windowsservercore-ltsc2022", "windowsservercore-ltsc2025"):
        blobs.add(f"mcr.microsoft.com/windows/servercore/iis:{tag}", [tag[-4:]], size=64 * KB)
    blobs.add("registry.k8s.io/e2e-test-images/agnhost:2.53", _OLD, linux=True, size=8 * KB)
    blobs.add("registry.k8s.io/e2e-test-images/agnhost:2.63.0", _NEW, linux=True, size=8 * KB)
    calico_images.add(blobs)
    addon_images.add(blobs)
    blobs.add("docker.io/rancher/mirrored-flannelcni-flannel:v0.25.7", [], linux=True)
    for component in ("kube-proxy", "coredns/coredns"):
        blobs.add(f"registry.k8s.io/{component}:v1.37.1", [], linux=True)
    return blobs


def _base_tags(repository: str) -> Iterable[tuple[str, str]]:
    if repository != "server":
        yield "1809", "2019"
        yield "ltsc2019", "2019"
    yield "ltsc2022", "2022"
    yield "ltsc2025", "2025"
