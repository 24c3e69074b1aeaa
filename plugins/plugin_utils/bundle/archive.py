# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Writes a container image's archive: blob by blob, none of them whole in memory, the same bytes for the same image."""

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
    """Writes an archive.

    Args:
        target: the file.
        name: the image's whole reference.
        image: what the registry says of it.
        manifests: what of it goes in, the best first.
        blobs: configurations and layers by digest.
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
    """A header that depends on the content only."""
    header = tarfile.TarInfo(name)
    header.mode, header.size = 0o644, size
    return header
