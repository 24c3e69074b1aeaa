# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Pull, import, tag or remove a container image in the image store of the node's container runtime."""

from __future__ import annotations

import dataclasses
import typing as t

from ..engine.changes import create, remove, update
from ..engine.resource import Change, Resource, SizeProbe, SpaceRequirement
from ..image_stores import archives
from ..image_stores.archives import ImageArchive
from ..image_stores.containerd import PINNED, ContainerdStore
from ..image_stores.docker import DockerStore
from ..image_stores.store import (
    UNPACKED,
    Store,
    StoredImage,
    TransferOptions,
    meaning,
    names_of,
)
from ..values.errors import ResourceError
from ..values.image_reference import DIGEST, ImageReference
from ..windows import node_paths
from ..windows.windows_info import WindowsInfo
from ..wire.messages import Call, CallResult, Results


@dataclasses.dataclass(frozen=True, kw_only=True)
class InStore(Resource):
    """Properties of all resources that describe an image in a container runtime's image store."""

    runtime: t.Literal["containerd", "docker"] = dataclasses.field(
        default="containerd",
        metadata={"help": "The runtime whose image store is used. containerd and Docker do not share images."},
    )
    hosts_dir: str | None = dataclasses.field(
        default=None,
        metadata={
            "help": "Folder with a `hosts.toml` for each registry. ctr reads these files for its own requests "
            "to registries."
        },
    )
    environment: t.Mapping[str, str] = dataclasses.field(
        default_factory=dict,
        metadata={"help": "Environment variables for ctr's own requests to registries, such as `HTTPS_PROXY`."},
    )
    ctr: str = dataclasses.field(
        default="C:\\Program Files\\containerd\\bin\\ctr.exe",
        metadata={"help": "Path of containerd's client ctr.exe on the node."},
    )
    crictl: str = dataclasses.field(
        default="C:\\Program Files\\containerd\\crictl\\crictl.exe",
        metadata={"help": "Path of crictl.exe on the node, which pulls images through CRI."},
    )
    cri_endpoint: str = dataclasses.field(
        default=node_paths.CONTAINERD_PIPE, metadata={"help": "The named pipe on which containerd serves CRI."}
    )
    docker: str = dataclasses.field(
        default="C:\\Program Files\\docker\\docker.exe", metadata={"help": "Path of Docker's client on the node."}
    )
    docker_config: str | None = dataclasses.field(
        default=None,
        metadata={"help": "Folder of the `config.json` from which Docker's client and buildctl read credentials."},
    )
    store_dir: str | None = dataclasses.field(
        default=None,
        metadata={
            "help": "The runtime's data folder, on whose volume the free space is checked (by default a folder in"
            " `C:\\ProgramData`)."
        },
    )
    parallel: int = dataclasses.field(
        default=4, metadata={"help": "Maximum number of parallel pulls, imports or pushes."}
    )
    retries: int = dataclasses.field(
        default=3, metadata={"help": "Number of retries after a failed pull, push or build."}
    )
    delay: float = dataclasses.field(default=10.0, metadata={"help": "Seconds between attempts."})
    timeout: int = dataclasses.field(default=3600, metadata={"help": "Time limit of one attempt, in seconds."})

    def __post_init__(self) -> None:
        for option in ("ctr", "crictl", "docker"):
            if not str(getattr(self, option)).lower().endswith(".exe"):
                raise ResourceError(option, getattr(self, option), f"expected the path of {option}.exe")
        for option, least in (("parallel", 1), ("retries", 0), ("delay", 0), ("timeout", 1)):
            if getattr(self, option) < least:
                raise ResourceError(option, getattr(self, option), f"expected {least} or more")

    @property
    def store(self) -> Store:
        """The runtime's image store."""
        if self.runtime == "docker":
            path = self.store_dir or node_paths.DOCKER_DATA
            return DockerStore(docker=self.docker, path=path, config_dir=self.docker_config)
        return ContainerdStore(
            ctr=self.ctr,
            crictl=self.crictl,
            endpoint=self.cri_endpoint,
            path=self.store_dir or node_paths.CONTAINERD_DATA,
            hosts_dir=self.hosts_dir,
            environment=self.environment,
        )

    @property
    def how(self) -> TransferOptions:
        """Options for pulls, imports and pushes."""
        return TransferOptions(retries=self.retries, delay=self.delay, timeout=self.timeout, parallel=self.parallel)

    def explain(self, call_id: str, result: CallResult) -> str | None:
        """Return an explanation of the runtime's error message, or None if the message is unknown."""
        if call_id == "check":
            return "the archive contains no container image with this name for this version of Windows"
        error = result.error.message if result.error else ""
        return meaning(f"{result.stderr} {result.stdout} {error}")


@dataclasses.dataclass(frozen=True, kw_only=True)
class ContainerImage(InStore):
    """An OCI image in the image store of the node's container runtime, unpacked for the node's version of Windows."""

    type: t.ClassVar[str] = "ContainerImage"
    independent: t.ClassVar[bool] = True
    name: str = dataclasses.field(
        metadata={"help": "The image's full reference: `registry/repository:tag`, or `…@sha256:…`."}
    )
    digest: str | None = dataclasses.field(
        default=None,
        metadata={
            "help": "The digest (`sha256:…`) that the tag must refer to. If the tag refers to a different digest, the"
            " image is pulled or imported again."
        },
    )
    aliases: tuple[str, ...] = dataclasses.field(default=(), metadata={"help": "Additional references to the image."})
    pinned: bool = dataclasses.field(
        default=False,
        metadata={"help": "Whether the kubelet's garbage collection must never remove the image (containerd only)."},
    )
    archive: str | None = dataclasses.field(
        default=None,
        metadata={
            "help": "Path of an archive on the node (OCI or Docker format) to import instead of pulling the image."
        },
    )
    archives: tuple[ImageArchive, ...] = dataclasses.field(
        default=(),
        metadata={
            "help": "Archives to download and import. The first one that fits the node's version of Windows is used. If"
            " none fits, the image is pulled."
        },
    )
    size: int | None = dataclasses.field(
        default=None,
        metadata={"help": "Number of bytes to download, if known. If omitted, the registry is asked before a pull."},
    )
    likely_size: int | None = dataclasses.field(
        default=None,
        metadata={"help": "Approximate number of bytes to download, used if the registry reports no size."},
    )
    state: t.Literal["present", "absent"] = dataclasses.field(
        default="present", metadata={"help": "Whether the image is in the store."}
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        for option, reference in (("name", self.name), *(("aliases", alias) for alias in self.aliases)):
            named = ImageReference.parse(reference, option)
            if option == "aliases" and named.digest:
                raise ResourceError("aliases", self.aliases, "expected references without a digest")
        if self.digest is not None and not DIGEST.fullmatch(self.digest):
            raise ResourceError("digest", self.digest, "expected sha256: followed by 64 hexadecimal digits")
        if self.digest is not None and "@" in self.name and not self.name.endswith(self.digest):
            raise ResourceError(
                "digest", self.digest, "expected the same digest as in the name, or a name without a digest"
            )
        for option in ("size", "likely_size"):
            if (getattr(self, option) or 0) < 0:
                raise ResourceError(option, getattr(self, option), "expected a number of bytes, 0 or more")
        if self.pinned and self.runtime == "docker":
            raise ResourceError("pinned", True, "expected false", "Only containerd supports pinned images.")

    def joined(self, other: t.Self) -> t.Self | None:
        """Merge `aliases` and `pinned` of two resources for one image, or return None if other properties differ."""
        aliases = tuple(dict.fromkeys((*self.aliases, *other.aliases)))
        pinned = self.pinned or other.pinned
        mine, others = (dataclasses.replace(one, pinned=pinned, aliases=aliases) for one in (self, other))
        return mine if mine == others else None

    def observe(self) -> tuple[Call, ...]:
        """Return the calls that list the images in the store. These calls run once, not once for each image."""
        return self.store.list_calls()

    def plan(self, seen: Results, windows: WindowsInfo) -> Change | None:
        images = self.store.read(seen)
        image = images.get(self.name)
        if self.state == "absent":
            return self._removal(images)
        after = {"digest": self.digest, "aliases": sorted(self.aliases), "pinned": self.pinned or None}
        desired = {key: value for key, value in after.items() if value}
        why = "is not in the store"
        if image is None or not image.complete:
            why = why if image is None else "is incomplete in the store"
            return self._with_space(
                create(self, desired, [*self._fetch(windows), *self._named(), *self._kept()], why=why), seen, windows
            )
        # In Docker, images from archives and builds have no digest and are identified by name.
        right = self.digest is None or self.digest in image.digests or (self.runtime == "docker" and not image.digests)
        tagged = sorted(alias for alias in self.aliases if alias in images and images[alias].identity == image.identity)
        digest = self.digest if right else ", ".join(sorted(image.digests)) or image.identity
        before = {"digest": digest, "aliases": tagged, "pinned": PINNED in image.labels}
        calls = [] if right else [*self._fetch(windows)]
        calls += self._named() if not right or tagged != sorted(self.aliases) else ()
        calls += self._kept() if not right or not before["pinned"] else ()
        change = update(self, before, desired, calls)
        return change if right or change is None else self._with_space(change, seen, windows)

    def _fetch(self, windows: WindowsInfo) -> t.Iterator[Call]:
        """Yield the calls that put the image into the store."""
        chosen = archives.supported_archive(self.archives, windows)
        if self.archive is not None:
            yield from self.store.load(self.archive, self.how)
            yield from self.store.check(self.name)
        elif chosen is not None:
            yield from archives.fetched(chosen, self.store, self.how, self.name)
            yield from self.store.check(self.name)
        else:
            # Pull by digest if one is given, because the tag may have moved.
            reference = self._pull_reference()
            yield self.store.pull(reference, self.how)
            if reference != self.name:
                yield from self.store.tag("tag", reference, (self.name,))

    def _pull_reference(self) -> str:
        if self.digest is None or "@" in self.name:
            return self.name
        return f"{ImageReference.parse(self.name).repository}@{self.digest}"

    def _named(self) -> t.Iterator[Call]:
        if self.aliases:
            yield from self.store.tag("aliases", self.name, self.aliases)

    def _kept(self) -> t.Iterator[Call]:
        if self.pinned:
            yield from self.store.pin(self.name)

    def _with_space(self, change: Change, seen: Results, windows: WindowsInfo) -> Change:
        """Return the change with a description of its download and the disk space that the image needs."""
        store, name = self.store, self._pull_reference()
        chosen = archives.supported_archive(self.archives, windows)
        is_local = self.archive is not None or (chosen is not None and chosen.url.startswith("file:"))
        change = dataclasses.replace(change, downloads="" if is_local else f"container image of {self.runtime}")
        size = self.size if self.size is not None else chosen.size if chosen is not None else None
        if size is not None or self.archive is not None or chosen is not None:
            stored = SpaceRequirement(path=store.path, size=None if size is None else needed_space(size))
            space: tuple[SpaceRequirement, ...] = (stored,)
            if chosen is not None and self.archive is None:
                # The downloaded archive stays in this folder until the import is complete.
                download = size if chosen.size is None else chosen.size
                space = (SpaceRequirement(path=archives.FOLDER, size=download), stored)
            return dataclasses.replace(change, space=space)
        # If the runtime is not installed yet (on a node's first run), the size is read later.
        listed = seen.get("images")
        absent = listed is None or not listed.ok
        probe = _ImageSize(
            calls=store.ask_size(name), later=absent, store=store, build=windows.build, likely=self.likely_size
        )
        return dataclasses.replace(change, space=(SpaceRequirement(path=store.path, probe=probe),))

    def _removal(self, images: t.Mapping[str, StoredImage]) -> Change | None:
        present = [reference for reference in (self.name, *self.aliases) if reference in images]
        if not present:
            return None
        gone = list(present)
        for identity in dict.fromkeys(images[reference].identity for reference in present):
            # When the last tag is removed, also remove the names that contain digests, and CRI's names, which are ids.
            # Otherwise the store would keep the content.
            others = [name for name in names_of(identity, images) if name not in present]
            if not any(_is_tag(name) for name in others):
                gone += [name for name in others if self.runtime == "containerd"]
        return remove(self, {"references": present}, self.store.remove(sorted(set(gone), key=gone.index)))


def _is_tag(name: str) -> bool:
    return "@" not in name and not DIGEST.fullmatch(name)


@dataclasses.dataclass(frozen=True, kw_only=True)
class _ImageSize(SizeProbe):
    """A probe that reads the size of an image, or the sizes of its layers, from its registry."""

    store: Store
    build: int
    """The node's Windows build."""
    likely: int | None
    """Bytes to assume if the registry does not report a size."""

    def size(self, results: Results) -> int | t.Mapping[str, int] | None:
        # Return the size of each layer, because images with the same base image share most of their layers.
        layers = self.store.read_layers(results, self.build)
        if layers:
            return {digest: needed_space(size) for digest, size in layers.items()}
        reported = self.store.read_size(results, self.build) or self.likely
        return None if reported is None else needed_space(reported)


def needed_space(size: int) -> int:
    """Return the space that an image of the given download size needs for its compressed and unpacked layers."""
    return int(size * (1 + UNPACKED))
