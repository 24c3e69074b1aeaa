# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
r"""containerd's store of images and their content.

Blobs are files below containerd's root folder. Names and labels of images are in containerd's metadata.

A blob that is being downloaded is an ingest (`content\ingest\KEY\data`, where KEY is the SHA-256 of its reference). If
the download fails, the next download continues with the ingest unless garbage collection has deleted it (containerd
plugins/content/local).
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from simulator.kubernetes_node.images import oci, unpacking
from simulator.machine.files import FileSystem

K8S = "k8s.io"


@dataclass
class StoredImage:
    """A named image in the store.

    Args:
        target: the descriptor that the name refers to.
        labels: the labels of the image.
    """

    name: str
    target: dict[str, Any]
    labels: dict[str, str] = field(default_factory=dict)
    created: str = ""


class ImageStore:
    """The content store and the image names of one containerd instance.

    Args:
        files: the machine's files.
        root: containerd's root folder. Only the content of this folder survives a restart and is included in an image
            of the machine.
    """

    def __init__(self, files: FileSystem, root: str) -> None:
        self._files = files
        self._root = root.rstrip("\\")
        self._lock = threading.RLock()
        self._leases = 0
        # The digests and snapshots that are being written, each by one thread at a time.
        self._writing: Counter[str] = Counter()
        self._written = threading.Condition()
        for folder in (r"io.containerd.content.v1.content\blobs\sha256", "io.containerd.metadata.v1.bolt",
                       r"io.containerd.content.v1.content\ingest",
                       r"io.containerd.snapshotter.v1.windows\snapshots"):  # fmt: skip
            files.make_directory(f"{self._root}\\{folder}")
        self._database = f"{self._root}\\io.containerd.metadata.v1.bolt\\meta.db"

    def blob_path(self, digest: str) -> str:
        """Return the path of a blob."""
        return f"{self._root}\\io.containerd.content.v1.content\\blobs\\sha256\\{digest.partition(':')[2]}"

    def ingest_path(self, digest: str) -> str:
        """Return the path of the file to which a blob is downloaded."""
        key = hashlib.sha256(f"layer-{digest}".encode()).hexdigest()
        return f"{self._root}\\io.containerd.content.v1.content\\ingest\\{key}\\data"

    @contextlib.contextmanager
    def lease(self) -> Iterator[None]:
        """Protect the content that is written within the `with` block from garbage collection."""
        with self._lock:
            self._leases += 1
        try:
            yield
        finally:
            with self._lock:
                self._leases -= 1

    @contextlib.contextmanager
    def writing(self, what: str) -> Iterator[None]:
        """Reserve a blob or snapshot for the `with` block, after any other thread has finished writing it."""
        with self._written:
            self._written.wait_for(lambda: not self._writing[what])
            self._writing[what] += 1
        try:
            yield
        finally:
            with self._written:
                self._writing[what] -= 1
                self._written.notify_all()

    def ingested(self, digest: str) -> int:
        """Return the size of a blob's ingest from an earlier download, or 0 if there is no ingest."""
        path = self.ingest_path(digest)
        return self._files.real(path).stat().st_size if self._files.is_file(path) else 0

    def append(self, digest: str, pieces: Iterator[bytes]) -> None:
        """Append pieces of data to a blob's ingest.

        Raises:
            DiskFullError: the drive is full. The pieces that were written remain.
        """
        path = self.ingest_path(digest)
        self._files.make_directory(path.rpartition("\\")[0])
        with self._files.real(path).open("ab") as file:
            for piece in pieces:
                self._files.append(file, piece)

    def commit(self, digest: str) -> None:
        """Turn an ingest into a blob. If the digest of its content is wrong, delete the ingest and raise ValueError."""
        path = self.ingest_path(digest)
        found = hashlib.sha256()
        with self._files.real(path).open("rb") as file:
            while data := file.read(1 << 20):
                found.update(data)
        if f"sha256:{found.hexdigest()}" != digest:
            self._files.delete(path.rpartition("\\")[0])
            raise ValueError(
                f"unexpected commit digest sha256:{found.hexdigest()}, expected {digest}: failed precondition"
            )
        self._files.move(path, self.blob_path(digest))
        self._files.delete(path.rpartition("\\")[0])

    def has(self, digest: str) -> bool:
        """Return whether a blob exists."""
        return self._files.is_file(self.blob_path(digest))

    def read(self, digest: str) -> bytes:
        """Return a blob's content.

        Raises:
            FileNotFoundError: the store does not contain the blob.
        """
        return self._files.read_bytes(self.blob_path(digest))

    def write(self, digest: str, data: bytes) -> None:
        """Write a blob.

        Raises:
            ValueError: the digest does not match the data.
            DiskFullError: the drive is full.
        """
        found = oci.digest_of(data)
        if found != digest:
            raise ValueError(f"unexpected commit digest {found}, expected {digest}: failed precondition")
        self._files.write_bytes(self.blob_path(digest), data)

    def document(self, digest: str) -> dict[str, Any]:
        """Return the parsed content of a JSON blob."""
        found: dict[str, Any] = json.loads(self.read(digest))
        return found

    def namespaces(self) -> list[str]:
        """Return the names of containerd's namespaces."""
        return sorted(self._load())

    def make_namespace(self, name: str) -> None:
        """Create a containerd namespace if it does not exist."""
        with self._lock:
            data = self._load()
            if name not in data:
                data[name] = {}
                self._save(data)

    def remove_namespace(self, name: str) -> bool:
        """Remove a containerd namespace, and return whether it existed.

        Raises:
            ValueError: the namespace still has images.
        """
        with self._lock:
            data = self._load()
            if name not in data:
                return False
            if data[name]:
                raise ValueError(f'namespace "{name}" must be empty, but it still has images: failed precondition')
            del data[name]
            self._save(data)
            return True

    def images(self, namespace: str = K8S) -> list[StoredImage]:
        """Return the images of a containerd namespace, sorted by name."""
        return [StoredImage(name, **about) for name, about in sorted(self._load().get(namespace, {}).items())]

    def get(self, name: str, namespace: str = K8S) -> StoredImage | None:
        """Return the image with this name, or None if it does not exist."""
        about = self._load().get(namespace, {}).get(name)
        return StoredImage(name, **about) if about else None

    def put(self, image: StoredImage, namespace: str = K8S) -> None:
        """Store an image's record (target, labels, creation time) under its name, replacing any existing record."""
        with self._lock:
            data = self._load()
            created = image.created or datetime.now(UTC).isoformat(timespec="seconds")
            about = {"target": image.target, "labels": image.labels, "created": created}
            data.setdefault(namespace, {})[image.name] = about
            self._save(data)

    def delete(self, name: str, namespace: str = K8S, *, collect: bool = True) -> bool:
        """Remove an image name, and return whether it existed.

        Args:
            collect: whether to delete unreferenced content (including ingests) immediately. Otherwise, a later
                garbage collection deletes it: the removal of a name alone does not start a collection, because
                deletion_threshold is 0 (containerd core/metadata/plugin).
        """
        with self._lock:
            data = self._load()
            if data.get(namespace, {}).pop(name, None) is None:
                return False
            self._save(data)
            if collect:
                self._collect(data)
            return True

    def manifest(self, image: StoredImage, build: int, exact: bool) -> tuple[str, dict[str, Any]] | None:
        """Return the digest and content of an image's manifest for a Windows build, or None if the store has none.

        If the image has no index, its only manifest is returned for every build.
        """
        digest = str(image.target["digest"])
        if not self.has(digest):
            return None
        document = self.document(digest)
        if "manifests" in document:
            present = [entry for entry in document["manifests"] if self.has(entry["digest"])]
            entry = oci.best(present, build, exact)
            if entry is None:
                return None
            digest = entry["digest"]
            document = self.document(digest)
        return digest, document

    def platforms(self, image: StoredImage) -> list[dict[str, Any]]:
        """Return the platforms of all manifests of an image, including those for Linux, as ctr lists them."""
        document = self.document(str(image.target["digest"]))
        if "manifests" in document:
            return [entry["platform"] for entry in document["manifests"] if "platform" in entry]
        config = self.document(document["config"]["digest"])
        return [{key: config[key] for key in ("os", "architecture", "os.version") if key in config}]

    def size(self, image: StoredImage, build: int, exact: bool) -> int:
        """Return the size of an image for a Windows build, or 0 if the store has no manifest for the build.

        The size is that of the manifest, the configuration and the layers.
        """
        found = self.manifest(image, build, exact)
        if found is None:
            return 0
        digest, document = found
        parts = [document["config"], *document.get("layers", [])]
        return len(self.read(digest)) + sum(int(part["size"]) for part in parts)

    def unpack(self, document: Mapping[str, Any], discard_layers: bool) -> None:
        """Create the snapshot for a manifest.

        With `discard_layers` (containerd's discard_unpacked_layers setting), delete the layers afterwards.

        Raises:
            ValueError: a layer is missing, or is not an archive.
            DiskFullError: the drive is full. No part of the snapshot remains.
        """
        folder = self._snapshot(document)
        with self.writing(folder):
            if not self._files.is_directory(folder):
                unpacking.unpack(self._files, folder, [(layer, self.blob_path(layer["digest"]))
                                                       for layer in document.get("layers", [])])  # fmt: skip
        if discard_layers:
            for layer in document.get("layers", []):
                with self._lock:
                    if self.has(layer["digest"]):
                        self._files.delete(self.blob_path(layer["digest"]))

    def unpacked(self, document: Mapping[str, Any]) -> bool:
        """Return whether the snapshot for a manifest exists."""
        return self._files.is_directory(self._snapshot(document))

    def unpacked_size(self, document: Mapping[str, Any]) -> int:
        """Return the size of the snapshot for a manifest, or 0 if there is no snapshot."""
        folder = f"{self._snapshot(document)}\\Files"
        if not self._files.is_directory(folder):
            return 0
        return sum(path.stat().st_size for path in self._files.real(folder).rglob("*") if path.is_file())

    def root(self, document: Mapping[str, Any]) -> str:
        """Return the folder with the unpacked files of the image that a manifest describes."""
        return f"{self._snapshot(document)}\\Files"

    def _snapshot(self, document: Mapping[str, Any]) -> str:
        chain = str(document["config"]["digest"]).partition(":")[2][:12]
        return f"{self._root}\\io.containerd.snapshotter.v1.windows\\snapshots\\{chain}"

    def content(self, namespace: str) -> list[str]:
        """Return the digests of the existing blobs to which the images in a containerd namespace refer."""
        return sorted(self._reachable(about["target"]["digest"] for about in self._load().get(namespace, {}).values()))

    def _reachable(self, targets: Iterable[object]) -> set[str]:
        kept: set[str] = set()
        left = [str(target) for target in targets]
        while left:
            digest = left.pop()
            if digest in kept or not self.has(digest):
                continue
            kept.add(digest)
            document = self._json(digest)
            parts = [*document.get("manifests", []), *document.get("layers", [])]
            left += [str(part["digest"]) for part in [*parts, document.get("config", {})] if "digest" in part]
        return kept

    def _collect(self, data: Mapping[str, Any]) -> None:
        """Delete unreferenced blobs, ingests and snapshots. Do nothing while a lease protects new content."""
        if self._leases:
            return
        kept = self._reachable(about["target"]["digest"] for names in data.values() for about in names.values())
        base = f"{self._root}\\io.containerd.content.v1.content"
        for entry in self._files.listing(f"{base}\\blobs\\sha256"):
            if f"sha256:{entry.name}" not in kept:
                self._files.delete(entry.path)
        for entry in self._files.listing(f"{base}\\ingest"):
            self._files.delete(entry.path)
        chains = {digest.partition(":")[2][:12] for digest in kept}
        for entry in self._files.listing(f"{self._root}\\io.containerd.snapshotter.v1.windows\\snapshots"):
            if entry.name not in chains:
                self._files.delete(entry.path)

    def _json(self, digest: str) -> dict[str, Any]:
        with self._files.real(self.blob_path(digest)).open("rb") as file:
            data = file.read(1)
            # Layers are large, and never documents.
            data = data + file.read() if data == b"{" else b""
        if not data:
            return {}
        found: dict[str, Any] = json.loads(data)
        # The `config` in the configuration of an image is not a descriptor.
        return found if "schemaVersion" in found else {}

    def _load(self) -> dict[str, Any]:
        with self._lock:
            if not self._files.is_file(self._database):
                return {}
            found: dict[str, Any] = json.loads(self._files.read_bytes(self._database))
            return found

    def _save(self, data: Mapping[str, Any]) -> None:
        self._files.write_bytes(self._database, json.dumps(data, sort_keys=True).encode())
