# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Images and their content as containerd keeps them: blobs as files below its root, names and labels in its
metadata."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from simulator.kubernetes_node import oci
from simulator.machine.files import Files

K8S = "k8s.io"


@dataclass
class Image:
    """A name in the store.

    Parameters:
        target: the descriptor that it means.
        labels: of the image.
    """

    name: str
    target: dict[str, Any]
    labels: dict[str, str] = field(default_factory=dict)
    created: str = ""


class ImageStore:
    """The content store and the image names of one containerd.

    Parameters:
        files: of the machine.
        root: containerd's root folder; what is below it is all that a restart or an image of the machine keeps.
    """

    def __init__(self, files: Files, root: str) -> None:
        self._files = files
        self._root = root.rstrip("\\")
        self._lock = threading.RLock()
        for folder in (r"io.containerd.content.v1.content\blobs\sha256", "io.containerd.metadata.v1.bolt",
                       r"io.containerd.snapshotter.v1.windows\snapshots"):  # fmt: skip
            files.make_directory(f"{self._root}\\{folder}")
        self._database = f"{self._root}\\io.containerd.metadata.v1.bolt\\meta.db"

    def blob_path(self, digest: str) -> str:
        """Return where a blob lies."""
        return f"{self._root}\\io.containerd.content.v1.content\\blobs\\sha256\\{digest.partition(':')[2]}"

    def has(self, digest: str) -> bool:
        """Return whether a blob is there."""
        return self._files.is_file(self.blob_path(digest))

    def read(self, digest: str) -> bytes:
        """Return a blob. Raises FileNotFoundError."""
        return self._files.read_bytes(self.blob_path(digest))

    def write(self, digest: str, data: bytes) -> None:
        """Keep a blob. Raises ValueError if it is not what its digest says; DiskFullError."""
        found = oci.digest_of(data)
        if found != digest:
            raise ValueError(f"unexpected commit digest {found}, expected {digest}: failed precondition")
        self._files.write_bytes(self.blob_path(digest), data)

    def document(self, digest: str) -> dict[str, Any]:
        """Return a JSON blob."""
        found: dict[str, Any] = json.loads(self.read(digest))
        return found

    def namespaces(self) -> list[str]:
        """Return the namespaces."""
        return sorted(self._load())

    def make_namespace(self, name: str) -> None:
        """Make a namespace if it is not there."""
        with self._lock:
            data = self._load()
            if name not in data:
                data[name] = {}
                self._save(data)

    def images(self, namespace: str = K8S) -> list[Image]:
        """Return the images of a namespace, by name."""
        return [Image(name, **about) for name, about in sorted(self._load().get(namespace, {}).items())]

    def get(self, name: str, namespace: str = K8S) -> Image | None:
        """Return an image by its name."""
        about = self._load().get(namespace, {}).get(name)
        return Image(name, **about) if about else None

    def put(self, image: Image, namespace: str = K8S) -> None:
        """Write an image's name."""
        with self._lock:
            data = self._load()
            created = image.created or datetime.now(UTC).isoformat(timespec="seconds")
            about = {"target": image.target, "labels": image.labels, "created": created}
            data.setdefault(namespace, {})[image.name] = about
            self._save(data)

    def delete(self, name: str, namespace: str = K8S) -> bool:
        """Remove a name, and the blobs that nothing refers to any more. Returns whether it was there."""
        with self._lock:
            data = self._load()
            if data.get(namespace, {}).pop(name, None) is None:
                return False
            self._save(data)
            self._collect(data)
            return True

    def manifest(self, image: Image, build: int, exact: bool) -> tuple[str, dict[str, Any]] | None:
        """Return (digest, manifest) of an image for a Windows build, or None if that is not in the store."""
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

    def platforms(self, image: Image) -> list[dict[str, Any]]:
        """Return the platforms of an image whose manifests its index names (Linux's too, as ctr shows them)."""
        document = self.document(str(image.target["digest"]))
        if "manifests" in document:
            return [entry["platform"] for entry in document["manifests"] if "platform" in entry]
        config = self.document(document["config"]["digest"])
        return [{key: config[key] for key in ("os", "architecture", "os.version") if key in config}]

    def size(self, image: Image, build: int, exact: bool) -> int:
        """Return the bytes of an image for a build: manifest, configuration and layers."""
        found = self.manifest(image, build, exact)
        if found is None:
            return 0
        digest, document = found
        parts = [document["config"], *document.get("layers", [])]
        return len(self.read(digest)) + sum(int(part["size"]) for part in parts)

    def unpack(self, document: Mapping[str, Any], discard_layers: bool) -> None:
        """Make the snapshot of a manifest; its layers may go afterwards (discard_unpacked_layers)."""
        chain = str(document["config"]["digest"]).partition(":")[2][:12]
        folder = f"{self._root}\\io.containerd.snapshotter.v1.windows\\snapshots\\{chain}\\Files"
        self._files.make_directory(folder)
        if discard_layers:
            for layer in document.get("layers", []):
                if self.has(layer["digest"]):
                    self._files.delete(self.blob_path(layer["digest"]))

    def unpacked(self, document: Mapping[str, Any]) -> bool:
        """Return whether a manifest's snapshot is there."""
        chain = str(document["config"]["digest"]).partition(":")[2][:12]
        return self._files.is_directory(f"{self._root}\\io.containerd.snapshotter.v1.windows\\snapshots\\{chain}")

    def _collect(self, data: Mapping[str, Any]) -> None:
        kept: set[str] = set()
        targets = [about["target"]["digest"] for names in data.values() for about in names.values()]
        while targets:
            digest = str(targets.pop())
            if digest in kept or not self.has(digest):
                continue
            kept.add(digest)
            document = self._json(digest)
            parts = [*document.get("manifests", []), *document.get("layers", [])]
            targets += [part["digest"] for part in [*parts, document.get("config", {})] if "digest" in part]
        folder = f"{self._root}\\io.containerd.content.v1.content\\blobs\\sha256"
        for entry in self._files.listing(folder):
            if f"sha256:{entry.name}" not in kept:
                self._files.delete(entry.path)

    def _json(self, digest: str) -> dict[str, Any]:
        data = self.read(digest)
        if not data.startswith(b"{"):
            return {}
        found: dict[str, Any] = json.loads(data)
        # The configuration of an image has a `config` of another kind.
        return found if "schemaVersion" in found else {}

    def _load(self) -> dict[str, Any]:
        with self._lock:
            if not self._files.is_file(self._database):
                return {}
            found: dict[str, Any] = json.loads(self._files.read_bytes(self._database))
            return found

    def _save(self, data: Mapping[str, Any]) -> None:
        self._files.write_bytes(self._database, json.dumps(data, sort_keys=True).encode())
