# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Write a container image as an archive. All archives of the same content are identical."""

from __future__ import annotations

import io
import pathlib
import tarfile
import typing as t

from . import images
from .images import Manifest
from .registry import Image


def write(
    target: pathlib.Path, name: str, image: Image, manifests: t.Sequence[Manifest], blobs: t.Mapping[str, pathlib.Path]
) -> None:
    """Write the archive of a container image.

    Args:
        target: the file to write.
        name: the full reference of the image.
        image: the image as the registry describes it.
        manifests: the manifests to include, the best match first.
        blobs: maps digests to the paths of the downloaded configurations and layers.
    """
    documents = images.layout_files(name, image.top, manifests[0])
    digests = {image.top.digest, *(one.own.digest for one in manifests)}
    documents |= {images.blob_path(digest): image.documents[digest] for digest in digests}
    with tarfile.open(target, "w", format=tarfile.GNU_FORMAT) as archive:
        for member, data in sorted(documents.items()):
            archive.addfile(_header(member, len(data)), io.BytesIO(data))
        for digest, blob in sorted(blobs.items()):
            with blob.open("rb") as file:
                archive.addfile(_header(images.blob_path(digest), blob.stat().st_size), file)


def _header(name: str, size: int) -> tarfile.TarInfo:
    """Return a tar header without a time or owner, so that equal content gives equal archives."""
    header = tarfile.TarInfo(name)
    header.mode, header.size = 0o644, size
    return header
