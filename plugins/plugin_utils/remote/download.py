# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Download a file from a node in pieces over Ansible's connection.

Each piece is one remote command that is repeated after a connection failure, so a failure costs only one piece.
Ansible's own fetch_file starts again from the beginning and ignores `become`. Over winrm, it also starts a process for
each half megabyte.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import typing as t

from ..wire.calls import query
from ..wire.messages import Call, Json, Observation
from .errors import NodeError
from .protocol import RemoteNode

PIECE = 4 * 1024 * 1024
"""Size of a piece in bytes. Each piece is in memory several times, as base64 and as JSON."""


def fetch(node: RemoteNode, path: str, size: int, sha256: str, target: t.BinaryIO) -> int:
    """Download a file from a node in pieces, and check its hash.

    Args:
        node: the node.
        path: Windows path of the file, which must not change during the download.
        size: size of the file in bytes.
        sha256: SHA-256 of the file in hexadecimal.
        target: the file to which the content is written.

    Returns:
        The number of pieces.

    Raises:
        NodeError: the file changed or was deleted during the download, or a remote command failed.
        AnsibleConnectionFailure: the node can no longer be reached.
    """
    digest, offset, pieces = hashlib.sha256(), 0, 0
    while offset < size:
        step = f"download {path}, {offset * 100 // size}%"
        # Keep megabytes of base64 out of the log.
        seen = node.observe((_piece(path, offset),), step=step, private=True)
        data = _data(seen, node.name, step)
        if len(data) > min(PIECE, size - offset):
            raise NodeError(f"{node.name}: {step}: expected at most {min(PIECE, size - offset)} bytes, got {len(data)}")
        if not data:
            raise NodeError(f"{node.name}: {step}: expected {size} bytes, got {offset}: the file became shorter")
        digest.update(data)
        target.write(data)
        offset += len(data)
        pieces += 1
    if digest.hexdigest() != sha256.lower():
        raise NodeError(
            f"{node.name}: download {path}: expected SHA-256 {sha256.lower()}, got {digest.hexdigest()}. "
            "The file changed during the download. Run the playbook again."
        )
    return pieces


def _piece(path: str, offset: int) -> Call:
    parameters: dict[str, Json] = {
        "paths": [path],
        "content": True,
        "encoding": "base64",
        "offset": offset,
        "limit": PIECE,
    }
    return query("piece", "@read-file", parameters, on_error="stop")


def _data(seen: Observation, name: str, step: str) -> bytes:
    result = seen.calls.get("piece")
    if result is None or not result.ok or not result.first or not result.first.get("exists"):
        raise NodeError(f"{name}: {step}: {result.error if result and result.error else 'the file no longer exists'}")
    try:
        return base64.b64decode(str(result.first.get("content") or ""), validate=True)
    except binascii.Error as error:
        raise NodeError(f"{name}: {step}: expected base64: {error}") from error
