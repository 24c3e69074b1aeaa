# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""containerd's image store, in the namespace that the kubelet uses.

Pulls use CRI (`crictl pull`), because containerd then reads certs.d, uses the proxies of its service and drops unpacked
layers (discard_unpacked_layers). `ctr images pull` reads certs.d only with --hosts-dir and ignores
discard_unpacked_layers, which would make golden images 1.5 times as large (containerd docs/hosts.md;
cmd/ctr/commands/images/pull.go). ctr does what CRI does not offer: it lists, checks, tags, labels, imports and removes
images.
"""

from __future__ import annotations

import dataclasses
import json
import re
import typing as t

from ..values.image_reference import DIGEST
from ..wire.calls import action, query
from ..wire.messages import Call, CallResult, Results
from .store import LISTING, Store, StoredImage, TransferOptions, size_of

PINNED = "io.cri-containerd.pinned=pinned"
"""Label that protects an image from the kubelet's garbage collection (containerd internal/cri/labels)."""
_MANAGED = "io.cri-containerd.image=managed"
"""Label that CRI sets on every image that it manages."""
_NAMESPACE = "k8s.io"
_PART = re.compile(r"(\S+) @(sha256:[0-9a-f]{64}) \((\d+) bytes\)")
SIZES = "winkube-sizes"
"""The containerd namespace for reading image sizes from registries. It is never removed and never has containers."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class ContainerdStore(Store):
    """The image store of containerd."""

    ctr: str
    crictl: str
    endpoint: str
    """The CRI endpoint, such as npipe:////./pipe/containerd-containerd."""
    path: str
    hosts_dir: str | None = None
    """Folder of hosts.toml files for ctr's own requests. For pulls, containerd uses the folder in its own
    configuration."""
    environment: t.Mapping[str, str] = dataclasses.field(default_factory=dict)

    def list_calls(self) -> tuple[Call, ...]:
        # `list` prints labels. `check` shows which images are unpacked: an interrupted pull may leave only a name.
        return (self._question("images", "images", "list"), self._question("check", "images", "check"))

    def read(self, seen: Results) -> dict[str, StoredImage]:
        result = seen.get("images")
        unpacked = _unpacked(seen.get("check"))
        images: dict[str, StoredImage] = {}
        for line in result.stdout.splitlines() if result is not None and result.ok else ():
            columns = line.split()
            digest_at = next((index for index, word in enumerate(columns) if DIGEST.fullmatch(word)), 0)
            # The first word may also be a digest: CRI names every image by the digest of its configuration.
            digest_at = 2 if digest_at == 0 and len(columns) > 2 and DIGEST.fullmatch(columns[2]) else digest_at
            if digest_at:
                size = size_of(*columns[digest_at + 1 : digest_at + 3]) if len(columns) > digest_at + 2 else None
                images[columns[0]] = StoredImage(
                    identity=columns[digest_at],
                    digests=frozenset({columns[digest_at]}),
                    labels=frozenset(columns[-1].split(",")),
                    size=size,
                    complete=unpacked.get(columns[0], True),
                )
        return images

    def container_calls(self) -> tuple[Call, ...]:
        return (
            self._question("containers", "containers", "list"),
            dataclasses.replace(self._cri("ps", "ps", "--all", "--output", "json"), timeout=60, on_error="continue"),
        )

    def in_use(self, seen: Results, images: t.Mapping[str, StoredImage]) -> frozenset[str] | None:
        listed, ps_result = seen.get("containers"), seen.get("ps")
        if listed is None or ps_result is None or not (listed.ok and ps_result.ok):
            return None
        # ctr also lists sandboxes, with the name of their pause image. CRI reports the image with which each container
        # started, even if the name refers to another image now.
        names = {columns[1] for line in listed.stdout.splitlines()[1:] if len(columns := line.split()) > 1}
        try:
            for container in json.loads(ps_result.stdout or "{}").get("containers") or ():
                image = container.get("image") or {}
                names |= {str(image.get("image")), str(container.get("imageRef")), str(container.get("imageId"))}
        except (ValueError, AttributeError):
            return None
        return frozenset(
            stored.identity for name, stored in images.items() if name in names or stored.identity in names
        )

    def pull(self, reference: str, how: TransferOptions) -> Call:
        return _retried(self._cri("pull", "pull", reference), how)

    def load(self, path: str, how: TransferOptions) -> tuple[Call, ...]:
        # Only `import --local` can discard unpacked layers, and only since containerd 1.7. If it fails, the second call
        # imports without that option.
        lean = self._ctr("load-lean", "images", "import", "--local", "--discard-unpacked-layers", path)
        lean = dataclasses.replace(lean, timeout=how.timeout, long=True, parallel=how.parallel, on_error="continue")
        plain = dataclasses.replace(lean, id="load", arguments=("-n", _NAMESPACE, "images", "import", path))
        return lean, dataclasses.replace(plain, unless=("load-lean",), on_error="stop", parallel=None)

    def check(self, reference: str) -> tuple[Call, ...]:
        # `images label` is the only command in all versions that fails for an unknown name and changes nothing else.
        return (self._ctr("check", "images", "label", reference, _MANAGED),)

    def tag(self, call_id: str, reference: str, names: t.Sequence[str]) -> tuple[Call, ...]:
        return (self._ctr(call_id, "images", "tag", "--force", reference, *names),)

    def pin(self, reference: str) -> tuple[Call, ...]:
        return (self._ctr("pin", "images", "label", reference, PINNED),)

    def remove(self, names: t.Sequence[str]) -> tuple[Call, ...]:
        # With --sync, the disk space is free when the call ends.
        return (self._ctr("remove", "images", "remove", "--sync", *names),)

    def push(self, reference: str, how: TransferOptions) -> Call:
        hosts = ("--hosts-dir", self.hosts_dir) if self.hosts_dir else ()
        call = self._ctr("push", "images", "push", *hosts, reference)
        return _retried(dataclasses.replace(call, environment=dict(self.environment)), how)

    def ask_size(self, reference: str) -> tuple[Call, ...]:
        # A separate namespace keeps these names out of the kubelet's store. Do not use `remove --sync`, because it
        # collects garbage immediately, including content that an interrupted pull would resume (containerd
        # core/metadata: an ingest lives as long as its pull's lease, or until the next collection).
        hosts = ("--hosts-dir", self.hosts_dir) if self.hosts_dir else ()
        asked = (
            ("fetch", ("content", "fetch", "--metadata-only", *hosts, reference), ()),
            ("size", ("images", "list", f"name=={reference}"), ("fetch",)),
            # `images inspect` exists since containerd 2.0. For older versions, only the total size is known.
            ("layers", ("images", "inspect", reference), ("fetch",)),
            ("forget", ("images", "remove", reference), ("size",)),
        )
        return tuple(
            query(
                name,
                self.ctr,
                arguments=("-n", SIZES, *arguments),
                environment=dict(self.environment),
                timeout=60,
                needs=needs,
            )
            for name, arguments, needs in asked
        )

    def read_size(self, seen: t.Mapping[str, CallResult], build: int) -> int | None:
        listed = self.read({"images": seen["size"]} if "size" in seen else {})
        return next((image.size for image in listed.values()), None)

    def read_layers(self, seen: t.Mapping[str, CallResult], build: int) -> dict[str, int]:
        inspected = seen.get("layers")
        manifests = _tree(inspected.stdout) if inspected is not None and inspected.ok else []
        if len(manifests) > 1:
            # Newer versions of Windows can run images of older versions, so several manifests may match. The total size
            # shows which one containerd uses.
            whole = self.read_size(seen, build)
            manifests.sort(key=lambda layers: abs(sum(layers.values()) - (whole or 0)))
        return manifests[0] if manifests else {}

    def _question(self, call_id: str, *arguments: str) -> Call:
        return query(call_id, self.ctr, arguments=("-n", _NAMESPACE, *arguments), output_limit=LISTING, timeout=60)

    def _ctr(self, call_id: str, *arguments: str) -> Call:
        return action(call_id, self.ctr, arguments=("-n", _NAMESPACE, *arguments), timeout=300)

    def _cri(self, call_id: str, *arguments: str) -> Call:
        endpoints = ("--runtime-endpoint", self.endpoint, "--image-endpoint", self.endpoint)
        return query(call_id, self.crictl, arguments=(*endpoints, *arguments), output_limit=LISTING, on_error="stop")


def _retried(call: Call, how: TransferOptions) -> Call:
    return dataclasses.replace(
        call,
        retries=how.retries,
        delay=how.delay,
        timeout=how.timeout,
        output_limit=4096,
        long=True,
        parallel=how.parallel,
    )


def _tree(text: str) -> list[dict[str, int]]:
    """Return the layers of each manifest that `ctr images inspect` found, as maps from digests to sizes in bytes.

    A line of the command's output is `TYPE @DIGEST (N bytes)`; entries for other platforms have no children (containerd
    pkg/display/manifest_printer.go).
    """
    manifests: list[dict[str, int]] = []
    for kind, digest, size in _PART.findall(text):
        if "manifest" in kind:
            manifests.append({})
        elif manifests and ("layer" in kind or "rootfs" in kind):
            manifests[-1][digest] = int(size)
    return [layers for layers in manifests if layers]


def _unpacked(result: CallResult | None) -> dict[str, bool]:
    """Return whether each image is unpacked for this node. The keys are the names that `ctr images check` lists.

    If the command cannot check an image, it fails only after it has printed the table, so its output is still used.
    """
    lines = result.stdout.splitlines() if result is not None else []
    return {
        columns[0]: columns[-1] == "true"
        for line in lines
        if (columns := line.split()) and columns[-1] in ("true", "false") and DIGEST.search(line)
    }
