# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The commands `docker save` and `docker load`, for archives with `manifest.json`.

Since Docker 25.0, an archive that docker save writes is also an OCI layout. docker load finds images only through
`manifest.json`, so it fails if an archive is only an OCI layout. docker save writes the layers as uncompressed tar
files. Source: moby/moby image/tarexport/{load,save}.go.
"""

from __future__ import annotations

import gzip
import io
import json
import tarfile
from collections.abc import Iterable, Mapping
from typing import Any

from simulator.kubernetes_node.docker.images import DockerError, DockerImage, DockerImages, familiar, normal
from simulator.kubernetes_node.images import oci

_IMPORT = r"C:\ProgramData\docker\tmp\docker-import-000000000"
_NAME, _TAG = "io.containerd.image.name", "org.opencontainers.image.ref.name"
_TAR = "application/vnd.oci.image.layer.v1.tar"


def save(images: DockerImages, requested: Iterable[tuple[DockerImage, list[str]]], *, layout: bool) -> bytes:
    """Return an archive of images.

    Args:
        images: Docker's image store.
        requested: the images to save, each with its tags.
        layout: whether the archive is also an OCI layout.
    """
    members: dict[str, bytes] = {}
    legacy: list[dict[str, Any]] = []
    entries: list[dict[str, Any]] = []
    for image, tags in requested:
        config = images.config_bytes(image)
        layers = [_plain(data) for data in images.layers(image)]
        bare = image.id.removeprefix("sha256:")
        digests = [oci.digest_of(data).removeprefix("sha256:") for data in layers]
        names = [f"blobs/sha256/{digest}" if layout else f"{digest}/layer.tar" for digest in digests]
        place = f"blobs/sha256/{bare}" if layout else f"{bare}.json"
        members |= {place: config, **dict(zip(names, layers, strict=True))}
        legacy.append({"Config": place, "RepoTags": [familiar(tag) for tag in tags] or None, "Layers": names})
        described = [oci.descriptor(_TAR, data) for data in layers]
        document = {"schemaVersion": 2, "mediaType": oci.MANIFEST, "config": oci.descriptor(oci.CONFIG, config),
                    "layers": described}  # fmt: skip
        data = oci.encode(document)
        members[f"blobs/sha256/{oci.digest_of(data)[7:]}"] = data
        entries += [
            oci.descriptor(oci.MANIFEST, data, annotations={_NAME: tag, _TAG: tag.rpartition(":")[2]}) for tag in tags
        ] or [oci.descriptor(oci.MANIFEST, data)]
    if layout:
        members["index.json"] = oci.encode({"schemaVersion": 2, "mediaType": oci.INDEX, "manifests": entries})
        members["oci-layout"] = b'{"imageLayoutVersion": "1.0.0"}'
    members["manifest.json"] = json.dumps(legacy).encode()
    return _tar(members)


def _plain(data: bytes) -> bytes:
    return gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data


def _tar(members: Mapping[str, bytes]) -> bytes:
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w") as archive:
        for name, data in members.items():
            header = tarfile.TarInfo(name)
            header.size = len(data)
            archive.addfile(header, io.BytesIO(data))
    return raw.getvalue()


def load(images: DockerImages, archive: tarfile.TarFile) -> list[str]:
    """Add an archive's images to the store, and return docker's output.

    Raises:
        DockerError: the archive lacks `manifest.json` or a file that it names, or its contents are invalid.
        tarfile.TarError: the file is not an archive.
        ValueError: an image's configuration or a layer is invalid.
    """
    known = {member.name.removeprefix("./"): member for member in archive if member.isfile()}

    def member(name: str) -> bytes:
        content = archive.extractfile(known[name]) if name in known else None
        if content is None:
            path = name.replace("/", "\\")
            raise DockerError(f"open {_IMPORT}\\{path}: The system cannot find the file specified.")
        return content.read()

    try:
        entries: list[dict[str, Any]] = json.loads(member("manifest.json"))
    except ValueError as error:
        raise DockerError(f"invalid character in manifest.json: {error}") from error
    message: list[str] = []
    for entry in entries:
        config = member(str(entry["Config"]))
        document = json.loads(config)
        if document.get("os") != "windows":
            raise DockerError(f"cannot load {document.get('os')} image on windows")
        layers = list(entry.get("Layers") or [])
        expected = len((document.get("rootfs") or {}).get("diff_ids") or [])
        if len(layers) != expected:
            raise DockerError(f"invalid manifest, layers length mismatch: expected {len(layers)}, got {expected}")
        tags = [normal(tag) for tag in entry.get("RepoTags") or []]
        if not all(tags):
            raise DockerError(f"invalid tag {entry['RepoTags']}")
        identity = images.write(config, [member(str(name)) for name in layers], tags)
        message += [f"Loaded image: {familiar(tag)}" for tag in tags] or [f"Loaded image ID: {identity}"]
    return message
