# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Upload files of the controller in pieces, so that a connection failure costs only one piece."""

from __future__ import annotations

import dataclasses
import hashlib
import pathlib
import tempfile
import typing as t

from ..wire.messages import Call, Json
from .protocol import RemoteNode

PIECE = 32 * 1024 * 1024
"""Bytes of a piece; larger where a file would have too many for one command line of cmd.exe (8191 characters)."""
_PIECES = 40
_BLOCK = 1024 * 1024


@dataclasses.dataclass(frozen=True, kw_only=True)
class Piece:
    """A part of a file."""

    path: str
    """Windows path."""
    offset: int
    size: int


def sha256(local: str) -> str:
    """The hash of a file on the controller."""
    with pathlib.Path(local).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def pieces(target: str, size: int) -> tuple[Piece, ...]:
    """The pieces of a file.

    Args:
        target: Windows path of the whole.
        size: its size in bytes.
    """
    length = max(PIECE, -(-size // _PIECES))
    return tuple(
        Piece(path=f"{target}.piece-{number:02}", offset=offset, size=min(length, size - offset))
        for number, offset in enumerate(range(0, max(size, 1), length))
    )


def push(node: RemoteNode, local: str, target: str, there: t.Mapping[str, int], step: str) -> int:
    """Writes what is not on the node yet.

    Args:
        node: where to.
        local: path on the controller.
        target: Windows path of the whole; its folder exists.
        there: sizes of the pieces on the node, by path in lower case.
        step: for messages.

    Returns:
        How many pieces the file has.

    Raises:
        NodeError, AnsibleConnectionFailure: as `Node.put`.
    """
    wanted = pieces(target, pathlib.Path(local).stat().st_size)
    for piece in wanted:
        # Written whole or with a smaller size; the whole file's hash has the last word.
        if there.get(piece.path.lower()) == piece.size:
            continue
        with tempfile.NamedTemporaryFile(prefix="winkube-push-") as part:
            _copy(local, piece, part)
            node.put(part.name, piece.path, step=step)
    return len(wanted)


def _copy(local: str, piece: Piece, part: t.IO[bytes]) -> None:
    """Copies a piece block by block: a piece of a large file is large itself."""
    with pathlib.Path(local).open("rb") as file:
        file.seek(piece.offset)
        left = piece.size
        while left and (block := file.read(min(_BLOCK, left))):
            part.write(block)
            left -= len(block)
    part.flush()


def join_calls(target: str, digest: str, count: int, index: int, destination: str = "") -> tuple[Call, ...]:
    """Puts a pushed file together and verifies it; nothing where no pieces were pushed.

    Args:
        target: Windows path of the whole.
        digest: its SHA-256.
        count: how many pieces lie beside it.
        index: of the file among those of its batch.
        destination: where it goes at last; empty: it stays at `target`.
    """
    if not count:
        return ()
    names = [f"{target}.piece-{number:02}" for number in range(count)]
    whole = names[0]
    found: list[Call] = []
    needs: tuple[str, ...] = ()
    if count > 1:
        whole = f"{target}.part"
        words = ("/d", "/c", "copy", "/b", "/y", "+".join(names), whole)
        found.append(Call(id=f"join-{index}.copy", command="cmd.exe", arguments=words, timeout=1800, long=True))
        needs = (f"join-{index}.copy",)
    commit: dict[str, Json] = {"path": whole, "destination": destination or target, "sha256": digest}
    found.append(
        Call(id=f"join-{index}.commit", command="@commit-file", parameters=commit, select=("sha256",), needs=needs)
    )
    # Wrong ones are of no use to a later attempt either.
    drop: dict[str, Json] = {"Path": f"{target}.piece-*", "Force": True, "ErrorAction": "SilentlyContinue"}
    found.append(Call(id=f"join-{index}.drop", command="Remove-Item", parameters=drop, select=()))
    return tuple(found)
