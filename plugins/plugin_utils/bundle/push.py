# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Upload files of a bundle over Ansible's connection, for nodes that cannot reach the controller."""

from __future__ import annotations

import hashlib
import math
import typing as t

from ..engine.resource import Resource
from ..remote import upload
from ..remote.errors import NodeError
from ..remote.session import NodeSession
from ..resources.artifact import Artifact
from ..resources.container_image import ContainerImage
from ..windows.path_calls import make_directory
from ..wire.calls import query
from ..wire.messages import Batch, Call, Json, Observation
from . import use
from .index import BundleError, IndexEntry, mirror_path
from .verify import Bundle

_PIECES = "pieces"
_SPARE = 512 * 1024 * 1024
"""Free disk space in bytes that must remain on the node after the upload."""


def needed_entries(
    resources: t.Iterable[Resource], entries: t.Mapping[str, IndexEntry], windows: str
) -> list[IndexEntry]:
    """Return the files of a bundle that a node needs.

    Args:
        resources: the resources that the node lacks.
        entries: the entries of the bundle's index.
        windows: the node's version of Windows Server.

    Returns:
        The bundle's files for these resources, in the order of the resources and without duplicates.
    """
    files: dict[str, IndexEntry] = {}
    for resource in resources:
        if isinstance(resource, Artifact):
            own = (
                resource.upstream or next(iter(resource.urls), ""),
                resource.upstream_checksum or resource.checksum_url,
            )
            paths = [_path(url) for url in own if url]
        elif isinstance(resource, ContainerImage):
            paths = [
                entry.path
                for entry in entries.values()
                if (entry.kind, entry.name) == ("container-image", resource.name) and windows in entry.windows
            ]
        else:
            continue
        files |= {path: entries[path] for path in paths if path in entries}
    return list(files.values())


def _path(url: str) -> str:
    try:
        return mirror_path(url)
    except BundleError:
        return ""


class Push:
    """An upload of a bundle's files to a node.

    Args:
        session: the session with the node.
        bundle: a verified bundle.
    """

    def __init__(self, session: NodeSession, bundle: Bundle) -> None:
        self._session, self._node, self._bundle = session, session.node, bundle
        self._folder = use.PUSHED
        self.pushed: list[str] = []
        """The uploaded files, as paths below the bundle's folder."""

    def run(self, entries: t.Sequence[IndexEntry]) -> None:
        """Upload the missing files in pieces, and join the pieces on the node.

        Raises:
            NodeError: the node lacks disk space, or could not store or join the files.
            BundleError: a file cannot be uploaded.
            AnsibleConnectionFailure: the node cannot be reached.
        """
        targets = {entry.path: use.windows_path(self._folder, entry) for entry in entries}
        if not targets:
            return
        seen = self._node.observe(self._inspection_calls(entries, targets), step="read the uploaded files")
        present = {str(item.get("path")).lower(): item.get("sha256") for item in seen["there"].output}
        missing = [entry for entry in entries if present.get(targets[entry.path].lower()) != entry.sha256]
        self._check_free_space(missing, seen)
        sizes = {str(item.get("FullName")).lower(): int(item.get("Length") or 0) for item in seen["pieces"].output}
        calls: list[Call] = []
        for number, entry in enumerate(missing):
            self._session.report_progress(
                f"pushing {entry.path} ({number + 1}/{len(missing)}, {entry.size / 1e6:.1f} MB)"
            )
            part = self._part(entry)
            count = upload.push(self._node, str(self._bundle.file(entry.path)), part, sizes, f"push {entry.path}")
            calls += upload.join_calls(part, entry.sha256, count, number, targets[entry.path])
            self.pushed.append(entry.path)
        if calls:
            self._join(calls, missing)

    def _part(self, entry: IndexEntry) -> str:
        """Return the common prefix of the paths of a file's pieces.

        The prefix is short, because one command line names all pieces. It depends on the file's checksum, so that
        pieces of different content are never joined.
        """
        return f"{self._folder}\\{_PIECES}\\{hashlib.sha256(f'{entry.path} {entry.sha256}'.encode()).hexdigest()[:16]}"

    def _inspection_calls(self, entries: t.Sequence[IndexEntry], targets: t.Mapping[str, str]) -> tuple[Call, ...]:
        paths: list[Json] = [targets[entry.path] for entry in entries]
        pieces = f"{self._folder}\\{_PIECES}"
        return (
            make_directory(pieces, "folder"),
            query("there", "@read-file", {"paths": paths, "hash": True}),
            query("pieces", "Get-ChildItem", {"LiteralPath": pieces, "File": True}, select=("FullName", "Length")),
            query("room", "@free-space", {"path": self._folder}),
        )

    def _check_free_space(self, missing: t.Sequence[IndexEntry], seen: Observation) -> None:
        free = int((seen["room"].first or {}).get("free") or 0) if seen["room"].ok else None
        # All pieces are uploaded before the first file is joined, which needs the space of one more file. Later, the
        # joined files and their copies in the cache or the image store exist at the same time.
        required = 2 * sum(entry.size for entry in missing) + max((entry.size for entry in missing), default=0)
        if free is not None and missing and free < required + _SPARE:
            raise NodeError(
                f"{self._node.name}: expected at least {math.ceil((required + _SPARE) / 1e6)} MB of free disk space "
                f"for the bundle's files that the node lacks ({len(missing)}), got {free // 1_000_000} MB"
            )

    def _join(self, calls: t.Sequence[Call], missing: t.Sequence[IndexEntry]) -> None:
        answer = self._node.run(Batch(calls=tuple(calls)), step="join the uploaded files")
        if answer.stopped is None:
            return
        stopped = answer.stopped.id
        path = next(entry.path for number, entry in enumerate(missing) if stopped in upload.join_scope(number))
        error = answer.calls[stopped].error if stopped in answer.calls else None
        raise NodeError(f"{self._node.name}: {path} could not be joined from its pieces: {error or 'failed'}")
