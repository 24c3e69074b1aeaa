# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The commands `ctr images export` and `ctr images import`, for archives with an OCI layout.

An export also writes Docker's `manifest.json`. An imported image gets the name in its annotation
io.containerd.image.name. Without this annotation, the name consists of --base-name (by default `import-DATE`) and the
annotation org.opencontainers.image.ref.name. The image store gets the names before the images are unpacked.

Sources: containerd cmd/ctr/commands/images/{export,import}.go, core/images/archive/{exporter,importer,reference}.go.
"""

from __future__ import annotations

import io
import json
import tarfile
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import IO, Any

from simulator.kubernetes_node.containerd.ctr_images import build_of
from simulator.kubernetes_node.containerd.ctr_run import Command, CtrError, CtrRun
from simulator.kubernetes_node.images import oci
from simulator.kubernetes_node.images.puller import unpack
from simulator.kubernetes_node.images.store import ImageStore, StoredImage
from simulator.kubernetes_node.kubelet.settings import drive
from simulator.machine.files import DiskFullError
from simulator.machine.rights import check
from simulator.machine.rights.guard import AccessDeniedError

_NAME = "io.containerd.image.name"
_TAG = "org.opencontainers.image.ref.name"
_CHUNK = 1 << 20


def _export(run: CtrRun) -> str:
    path = run.argument(0, "please provide both an output filename and an image reference to export")
    store, build = run.server.store, build_of(run)
    digests: set[str] = set()
    entries, legacy = [], []
    for name in run.line.arguments[1:]:
        image = run.image(name)
        found = store.manifest(image, build, run.server.exact)
        if found is None:
            raise CtrError(f'failed to export "{name}": content not found')
        layers = [str(layer["digest"]) for layer in found[1].get("layers", [])]
        config = str(found[1]["config"]["digest"])
        for digest in (str(image.target["digest"]), found[0], config, *layers):
            if not store.has(digest):
                raise CtrError(f"failed to get reader: content digest {digest}: not found")
            digests.add(digest)
        annotations = {_NAME: name, _TAG: name.rpartition(":")[2]}
        entries.append({**image.target, "annotations": annotations})
        paths = [f"blobs/{digest.replace(':', '/')}" for digest in (config, *layers)]
        legacy.append({"Config": paths[0], "RepoTags": [name], "Layers": paths[1:]})
    documents = {"oci-layout": b'{"imageLayoutVersion":"1.0.0"}',
                 "index.json": oci.encode({"schemaVersion": 2, "manifests": entries})}  # fmt: skip
    if not run.line.on("skip-manifest-json"):
        documents["manifest.json"] = json.dumps(legacy).encode()
    _write(run, drive(path), documents, sorted(digests))
    return ""


def _write(run: CtrRun, path: str, documents: Mapping[str, bytes], digests: list[str]) -> None:
    """Write an image archive. If the disk does not have enough space for it, an empty file remains."""
    files, store = run.machine.files, run.server.store
    sizes = [files.real(store.blob_path(digest)).stat().st_size for digest in digests]
    files.write_bytes(path, b"")
    files.check_space(sum(sizes))
    with files.real(path).open("wb") as raw, tarfile.open(fileobj=raw, mode="w") as archive:
        for name, data in documents.items():
            archive.addfile(_header(name, len(data)), io.BytesIO(data))
        for digest, size in zip(digests, sizes, strict=True):
            with files.real(store.blob_path(digest)).open("rb") as blob:
                archive.addfile(_header(f"blobs/sha256/{digest.partition(':')[2]}", size), blob)


def _header(name: str, size: int) -> tarfile.TarInfo:
    header = tarfile.TarInfo(name)
    header.size = size
    return header


def _import(run: CtrRun) -> str:
    path = drive(run.argument(0, "please provide a file to import"))
    line, store, files = run.line, run.server.store, run.machine.files
    if line.on("discard-unpacked-layers") and line.on("no-unpack"):
        raise CtrError("--discard-unpacked-layers and --no-unpack are incompatible options")
    if not files.is_file(path):
        raise CtrError(f"open {path}: The system cannot find the file specified.")
    try:
        files.require(path, check.READ_DATA)
    except AccessDeniedError as error:
        raise CtrError(f"open {path}: Access is denied.") from error
    store.make_namespace(run.namespace)
    with store.lease():
        try:
            with files.real(path).open("rb") as raw, tarfile.open(fileobj=raw, mode="r:") as archive:
                documents = _blobs(run, store, archive)
        except DiskFullError as error:
            content = rf"{run.server.config.root}\io.containerd.content.v1.content\ingest"
            raise CtrError(f"write {content}: There is not enough space on the disk.") from error
        except tarfile.TarError as error:
            short = "unexpected end of data" in str(error)
            raise CtrError("unexpected EOF" if short else "unrecognized image format") from error
        if "index.json" not in documents and "manifest.json" not in documents:
            raise CtrError("unrecognized image format")
        images = _named(run, documents)
        for image in images:
            store.put(image, run.namespace)
        return "".join(_unpacked(run, image) for image in images)


def _blobs(run: CtrRun, store: ImageStore, archive: tarfile.TarFile) -> dict[str, bytes]:
    """Add the blobs of an image archive to the image store, and return the archive's JSON files by name."""
    documents: dict[str, bytes] = {}
    for member in archive:
        run.alive()
        content = archive.extractfile(member) if member.isfile() else None
        if content is None:
            continue
        if member.name in ("oci-layout", "index.json", "manifest.json"):
            documents[member.name] = content.read()
        elif member.name.startswith("blobs/sha256/"):
            digest = f"sha256:{member.name.rpartition('/')[2]}"
            with store.writing(digest):
                if not store.has(digest):
                    _blob(store, digest, content, member.size)
    return documents


def _blob(store: ImageStore, digest: str, content: IO[bytes], size: int) -> None:
    left = store.ingested(digest)
    content.seek(left if left <= size else 0)
    try:
        store.append(digest, _pieces(content))
        store.commit(digest)
    except ValueError as error:
        raise CtrError(f'failed to ingest "blobs/{digest.replace(":", "/")}": {error}') from error


def _pieces(content: IO[bytes]) -> Iterator[bytes]:
    while data := content.read(_CHUNK):
        yield data


def _named(run: CtrRun, documents: Mapping[str, bytes]) -> list[StoredImage]:
    """Return the images of an archive that receive a name when they are imported.

    Raises:
        CtrError: the archive's index is invalid or missing.
    """
    labels = {name: value for name, _, value in (item.partition("=") for item in run.line.flags.get("label", []))}
    try:
        entries: list[dict[str, Any]] = json.loads(documents.get("index.json", b"{}")).get("manifests", [])
    except ValueError as error:
        raise CtrError(f"failed to unmarshal index: {error}") from error
    if "index.json" not in documents:
        raise CtrError("the simulator does not model Docker archives without an OCI layout")
    base = run.line.text("base-name")
    found = []
    for entry in entries:
        annotations = entry.get("annotations") or {}
        tag = str(annotations.get(_TAG, ""))
        name = str(annotations.get(_NAME, "")) or (f"{base or _today()}:{tag}" if tag else "")
        if not name and run.line.on("digests"):
            name = f"{base or _today()}@{entry['digest']}"
        if name and (not base or name.startswith(base)):
            found.append(StoredImage(name, {key: entry[key] for key in ("mediaType", "digest", "size")}, labels))
    return found


def _today() -> str:
    return f"import-{datetime.now(UTC):%Y-%m-%d}"


def _unpacked(run: CtrRun, image: StoredImage) -> str:
    """Unpack an imported image unless --no-unpack is set, and return what ctr prints.

    Raises:
        CtrError: the image has no manifest for the platform.
        PullError: unpacking fails.
    """
    store = run.server.store
    found = store.manifest(image, build_of(run), run.server.exact)
    if run.line.on("no-unpack"):
        return ""
    if found is None:
        if run.line.on("all-platforms"):
            return ""
        raise CtrError(f"no match for platform in manifest {image.target['digest']}: not found")
    unpack(store, found[1], run.line.on("discard-unpacked-layers"))
    return f"unpacking {image.name} ({image.target['digest']})...done\n"


COMMANDS: Mapping[str, Command] = {"images export": _export, "images import": _import}
