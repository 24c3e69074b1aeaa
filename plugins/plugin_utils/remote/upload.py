# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Upload files from the controller in pieces, so that a connection failure costs only one piece."""

from __future__ import annotations

import dataclasses
import hashlib
import pathlib
import tempfile
import typing as t

from ..wire.calls import action
from ..wire.messages import Call, Json
from ..wire.scopes import Scope
from .protocol import RemoteNode

PIECE = 32 * 1024 * 1024
"""Size of a piece in bytes. The pieces of a very large file are larger, because one command line of cmd.exe (8191
characters) must name all of them."""
COMMIT = "commit"
"""ID of the call that verifies an uploaded file, without the prefix that `join_scope` returns for the file."""
_PIECES = 40
_BLOCK = 1024 * 1024


@dataclasses.dataclass(frozen=True, kw_only=True)
class Piece:
    """A piece of a file."""

    path: str
    """Windows path of the piece."""
    offset: int
    size: int


def sha256(local: str | pathlib.Path) -> str:
    """Return the SHA-256 of a file on the controller."""
    with pathlib.Path(local).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def pieces(target: str, size: int) -> tuple[Piece, ...]:
    """Return the pieces in which a file is uploaded.

    Args:
        target: Windows path of the complete file.
        size: size of the file in bytes.
    """
    length = max(PIECE, -(-size // _PIECES))
    return tuple(
        Piece(path=f"{target}.piece-{number:02}", offset=offset, size=min(length, size - offset))
        for number, offset in enumerate(range(0, max(size, 1), length))
    )


def push(node: RemoteNode, local: str, target: str, uploaded: t.Mapping[str, int], step: str) -> int:
    """Upload the pieces of a file that are not yet on the node.

    Args:
        node: the node.
        local: path on the controller.
        target: Windows path of the complete file; its folder exists.
        uploaded: maps the lower-case path of each piece on the node to the piece's size.
        step: name of the step, for messages.

    Returns:
        The number of pieces of the file.

    Raises:
        NodeError: as for `Node.put`.
        AnsibleConnectionFailure: as for `Node.put`.
    """
    file_pieces = pieces(target, pathlib.Path(local).stat().st_size)
    for piece in file_pieces:
        # A piece of the right size is complete; the hash of the whole file is checked at the end.
        if uploaded.get(piece.path.lower()) == piece.size:
            continue
        with tempfile.NamedTemporaryFile(prefix="winkube-push-") as part:
            _copy(local, piece, part)
            node.put(part.name, piece.path, step=step)
    return len(file_pieces)


def _copy(local: str, piece: Piece, part: t.IO[bytes]) -> None:
    """Copy a piece block by block, because reading the whole piece at once may need too much memory."""
    with pathlib.Path(local).open("rb") as file:
        file.seek(piece.offset)
        left = piece.size
        while left and (block := file.read(min(_BLOCK, left))):
            part.write(block)
            left -= len(block)
    part.flush()


def join_scope(index: int) -> Scope:
    """Return the prefix of the IDs of the calls that join the pieces of a file.

    Args:
        index: index of the file in its batch.
    """
    return Scope(f"join-{index}.")


def join_calls(target: str, digest: str, count: int, index: int, destination: str = "") -> tuple[Call, ...]:
    """Return the calls that join the pieces of a file and verify it, or an empty tuple if there are no pieces.

    Args:
        target: Windows path of the complete file.
        digest: SHA-256 of the complete file.
        count: number of the file's pieces on the node.
        index: index of the file in its batch.
        destination: final path; if empty, the file stays at `target`.
    """
    if not count:
        return ()
    scope = join_scope(index)
    names = [f"{target}.piece-{number:02}" for number in range(count)]
    whole = names[0]
    calls: list[Call] = []
    needs: tuple[str, ...] = ()
    if count > 1:
        whole = f"{target}.part"
        arguments = ("/d", "/c", "copy", "/b", "/y", "+".join(names), whole)
        calls.append(action(scope.id("copy"), "cmd.exe", arguments=arguments, timeout=1800, long=True))
        needs = (scope.id("copy"),)
    commit: dict[str, Json] = {"path": whole, "destination": destination or target, "sha256": digest}
    calls.append(action(scope.id(COMMIT), "@commit-file", commit, select=("sha256",), needs=needs))
    # If the pieces are wrong, a later attempt must not use them.
    drop: dict[str, Json] = {"Path": f"{target}.piece-*", "Force": True, "ErrorAction": "SilentlyContinue"}
    calls.append(action(scope.id("drop"), "Remove-Item", drop))
    return tuple(calls)
