# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Unpack the layers of a container image into a snapshot, which needs disk space in addition to the blobs.

The snapshot contains the simulated programs of an image, which HostProcess containers run. Everything else is
represented by one file of the same size, so that the disk can become full. The annotation named by
`SIZE` sets a layer's unpacked size, for images that should be large on the node but small in a test.
"""

from __future__ import annotations

import tarfile
import zlib
from collections.abc import Mapping, Sequence
from typing import Any

from simulator.machine.executables import HEAD_SIZE, identify
from simulator.machine.files import FileSystem

REST = "layers.vhdx"
"""The name of the file whose size represents everything that is not unpacked."""
SIZE = "simulated-windows/unpacked-size"


def unpack(files: FileSystem, folder: str, layers: Sequence[tuple[Mapping[str, Any], str]]) -> None:
    """Create the snapshot of an image from its layers.

    Args:
        folder: the path of the snapshot's folder, which must not exist yet.
        layers: for each layer, its descriptor and the path of its blob.

    Raises:
        ValueError: a layer is missing, or is not an archive.
        DiskFullError: the drive is full. After either error, no part of the snapshot remains.
    """
    total = sum(_size(files, layer, blob) for layer, blob in layers)
    files.check_space(total)
    files.make_directory(f"{folder}\\Files")
    programs = {path: data for layer, blob in layers for path, data in _programs(files, blob).items()}
    for path, data in programs.items():
        target = f"{folder}\\{path}".replace("/", "\\")
        files.make_directory(target.rpartition("\\")[0])
        files.write_bytes(target, data)
    with files.real(f"{folder}\\Files\\{REST}").open("wb") as file:
        # The file is sparse. The simulated disk counts its length.
        file.truncate(max(0, total - sum(len(data) for data in programs.values())))


def _programs(files: FileSystem, blob: str) -> dict[str, bytes]:
    """Return the simulated programs in a layer, by their paths (`Files/…`)."""
    found: dict[str, bytes] = {}
    try:
        with tarfile.open(files.real(blob), "r:*") as archive:
            for member in archive:
                if not member.isfile() or not member.name.startswith("Files/") or ".." in member.name:
                    continue
                stream = archive.extractfile(member)
                head = stream.read(HEAD_SIZE) if stream else b""
                if stream and identify(head):
                    found[member.name] = head + stream.read()
    except (tarfile.TarError, EOFError, zlib.error, OSError):
        return {}  # `_size` reports it, unless an annotation declares the size
    return found


def _size(files: FileSystem, layer: Mapping[str, Any], blob: str) -> int:
    declared = (layer.get("annotations") or {}).get(SIZE)
    if declared is not None:
        return int(declared)
    try:
        with tarfile.open(files.real(blob), "r:*") as archive:
            return sum(member.size for member in archive)
    except (tarfile.TarError, EOFError, zlib.error, OSError) as error:
        if isinstance(error, FileNotFoundError):
            raise ValueError(
                f"failed to get reader from content store: content digest {layer['digest']}: not found"
            ) from error
        message = "failed to get stream processor" if isinstance(error, tarfile.ReadError) else "unexpected EOF"
        raise ValueError(f"failed to extract layer {layer['digest']}: {message}: unknown") from error
