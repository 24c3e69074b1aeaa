# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A file of a node brought to the controller, in pieces over Ansible's connection.

Each piece is one remote command that is simply sent again after a broken connection, so that a connection that breaks
now and then costs a piece and not the file. Ansible's own fetch_file begins anew, works outside of `become`, and on
winrm starts a process for each half megabyte.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import typing as t

from ..wire.messages import Call, Json, Observation
from .errors import NodeError
from .protocol import RemoteNode

PIECE = 4 * 1024 * 1024
"""Bytes of one remote command: it is in memory several times, as base64 and as JSON."""


def fetch(node: RemoteNode, path: str, size: int, sha256: str, target: t.BinaryIO) -> int:
    """Brings a file.

    Args:
        node: where it is.
        path: its Windows path; nobody writes to it meanwhile.
        size: of it, in bytes.
        sha256: of it, in hexadecimal.
        target: is written to, at its beginning.

    Returns:
        How many pieces it took.

    Raises:
        NodeError: what came is not the file.
        AnsibleConnectionFailure: the node cannot be reached any longer.
    """
    digest, offset, pieces = hashlib.sha256(), 0, 0
    while offset < size:
        step = f"bring {path}, {offset * 100 // size} %"
        # Nobody wants megabytes of base64 in a log.
        seen = node.observe((_piece(path, offset),), step=step, private=True)
        data = _data(seen, node.name, step)
        if len(data) > min(PIECE, size - offset):
            raise NodeError(f"{node.name}: {step}: expected {min(PIECE, size - offset)} bytes at most, got {len(data)}")
        if not data:
            raise NodeError(f"{node.name}: {step}: the file ended after {offset} of {size} bytes")
        digest.update(data)
        target.write(data)
        offset += len(data)
        pieces += 1
    if offset != size or digest.hexdigest() != sha256.lower():
        raise NodeError(f"{node.name}: bring {path}: its SHA-256 is {digest.hexdigest()}, wanted {sha256.lower()}")
    return pieces


def _piece(path: str, offset: int) -> Call:
    parameters: dict[str, Json] = {
        "paths": [path],
        "content": True,
        "encoding": "base64",
        "offset": offset,
        "limit": PIECE,
    }
    return Call(id="piece", command="@read-file", parameters=parameters)


def _data(seen: Observation, name: str, step: str) -> bytes:
    result = seen.calls.get("piece")
    if result is None or not result.ok or not result.first or not result.first.get("exists"):
        raise NodeError(f"{name}: {step}: {result.error if result and result.error else 'the file is gone'}")
    try:
        return base64.b64decode(str(result.first.get("content") or ""), validate=True)
    except binascii.Error as error:
        raise NodeError(f"{name}: {step}: what came is no base64: {error}") from error
