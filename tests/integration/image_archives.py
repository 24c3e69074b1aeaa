# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Archives of container images, in the form of `ctr images export`."""

from __future__ import annotations

import io
import json
import tarfile
from collections.abc import Mapping
from typing import Any

from simulator.kubernetes_node.images.upstream import Blobs


def archive(blobs: Blobs, images: Mapping[str, str]) -> bytes:
    """Return an OCI archive of images (https://github.com/opencontainers/image-spec, image-layout.md).

    Args:
        blobs: the content of a registry.
        images: the names in the registry by the names in the archive.
    """
    entries: list[dict[str, Any]] = []
    content: dict[str, bytes] = {}
    for name, source in images.items():
        digest = blobs.tags[source]
        media_type, data = blobs.content[digest]
        annotations = {"io.containerd.image.name": name, "org.opencontainers.image.ref.name": name.rpartition(":")[2]}
        target = {"mediaType": media_type, "digest": digest, "size": len(data), "annotations": annotations}
        entries.append(target)
        _collect(blobs, digest, content)
    index = {"schemaVersion": 2, "manifests": entries}
    files = {"oci-layout": b'{"imageLayoutVersion":"1.0.0"}', "index.json": json.dumps(index).encode()}
    files |= {f"blobs/{digest.replace(':', '/')}": data for digest, data in content.items()}
    written = io.BytesIO()
    with tarfile.open(fileobj=written, mode="w") as tar:
        for path, data in files.items():
            header = tarfile.TarInfo(path)
            header.size = len(data)
            tar.addfile(header, io.BytesIO(data))
    return written.getvalue()


def _collect(blobs: Blobs, digest: str, content: dict[str, bytes]) -> None:
    """Add a blob, and the blobs that it refers to."""
    media_type, data = blobs.content[digest]
    content[digest] = data
    if not media_type.endswith("+json") or "config" in media_type:
        return
    document = json.loads(data)
    parts = [*document.get("manifests", ()), *document.get("layers", ())]
    for part in [*parts, *([document["config"]] if "config" in document else [])]:
        _collect(blobs, part["digest"], content)
