# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The commands of `ctr content`, which manage blobs in containerd's content store and fetch blobs from registries.

For `content fetch`, ctr itself downloads the content with every version of containerd. The command adds the image's
name to the image store, but does not unpack the image.

Source: containerd cmd/ctr/commands/content/{content,fetch}.go.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from simulator.kubernetes_node.containerd.ctr_images import build_of
from simulator.kubernetes_node.containerd.ctr_run import Command, CtrError, CtrRun, columns, pairs, parse
from simulator.kubernetes_node.images.puller import PullOptions, pull


def _fetch(run: CtrRun) -> str:
    name = run.argument(0, "please provide an image reference to fetch")
    reference, server = parse(name), run.server
    if run.line.on("all-platforms"):
        raise CtrError("the simulator does not model ctr content fetch --all-platforms")
    options = PullOptions(
        build_of(run),
        server.exact,
        labels=pairs(run.line.flags.get("label", [])),
        namespace=run.namespace,
        metadata_only=run.line.on("metadata-only"),
        unpack=False,
    )
    server.store.make_namespace(run.namespace)
    pull(server.store, run.puller(own=True), run.places(reference, own=True), reference, options, run.alive)
    return f"{name}: resolved       |++++++++++++++++++++++++++++++++++++++|\nelapsed: 1.0 s\n"


def _fetch_object(run: CtrRun) -> str:
    reference = parse(run.argument(0, "please provide a reference"))
    places, puller = run.places(reference, own=True), run.puller(own=True)
    _, digest = puller.resolve(places, reference)
    return puller.fetch(places, reference, "manifests", digest)[1].decode("utf-8", "replace")


def _fetch_blob(run: CtrRun) -> str:
    reference = parse(run.argument(0, "please provide a reference"))
    if len(run.line.arguments) < 2:
        raise CtrError("must specify digests")
    places, puller = run.places(reference, own=True), run.puller(own=True)
    parts = [puller.fetch(places, reference, "blobs", digest)[1] for digest in run.line.arguments[1:]]
    return b"".join(parts).decode("utf-8", "replace")


def _list(run: CtrRun) -> str:
    store = run.server.store
    digests = store.content(run.namespace)
    if run.line.on("quiet"):
        return "".join(f"{digest}\n" for digest in digests)
    sizes = [run.machine.files.real(store.blob_path(digest)).stat().st_size for digest in digests]
    rows = [[digest, _human(size), "1 second", "-"] for digest, size in zip(digests, sizes, strict=True)]
    return columns([["DIGEST", "SIZE", "AGE", "LABELS"], *rows])


def _human(size: float) -> str:
    """Return a size in the format of go-units' HumanSize: `1.234kB`."""
    for unit in ("B", "kB", "MB", "GB"):
        if size < 1000 or unit == "GB":
            return f"{size:.4g}{unit}"
        size /= 1000
    return ""


def _get(run: CtrRun) -> str:
    digest = run.argument(0, "invalid checksum digest format")
    if not re.fullmatch(r"sha256:[0-9a-f]{64}", digest):
        raise CtrError("invalid checksum digest format")
    if not run.server.store.has(digest):
        raise CtrError(f"content digest {digest}: not found")
    return run.server.store.read(digest).decode("utf-8", "replace")


def _delete(run: CtrRun) -> str:
    message = ""
    for digest in run.line.arguments:
        path = run.server.store.blob_path(digest)
        if run.machine.files.is_file(path):
            run.machine.files.delete(path)
            message += f"{digest}\n"
    return message


def _active(run: CtrRun) -> str:
    return columns([["REF", "SIZE", "AGE", ""]])


COMMANDS: Mapping[str, Command] = {
    "content fetch": _fetch,
    "content fetch-object": _fetch_object,
    "content fetch-blob": _fetch_blob,
    "content list": _list,
    "content get": _get,
    "content delete": _delete,
    "content active": _active,
}
