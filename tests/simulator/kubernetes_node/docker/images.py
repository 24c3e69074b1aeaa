# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Docker's container images, in a store below dockerd's data-root. An image's id is the digest of its configuration.

The stores of Docker and containerd are separate. A name is a tag (`host/path:tag`) or a pulled digest
(`host/path@sha256:…`, with the digest of the manifest list if there is one). An image without a name is dangling.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from simulator.kubernetes_node.images import oci
from simulator.kubernetes_node.images.store import ImageStore, StoredImage

if TYPE_CHECKING:
    from simulator.machine.machine import Machine

_ANY = 0  # the store contains one platform per name, so no build has to be selected


class DockerError(Exception):
    """Raised if dockerd rejects a request. The exception's message is dockerd's."""


@dataclass
class DockerImage:
    """A Docker image.

    Args:
        id: the image id, `sha256:…`.
        tags: the full names with a tag.
        digests: the full names with a digest.
        config: the image's configuration.
        manifest: the image's manifest.
        target: the descriptor of the manifest.
        size: the size of the unpacked image in bytes.
        created: the time at which the image was created.
    """

    id: str
    config: dict[str, Any]
    manifest: dict[str, Any]
    target: dict[str, Any]
    size: int
    created: str
    tags: list[str] = field(default_factory=list)
    digests: list[str] = field(default_factory=list)

    @property
    def build(self) -> int:
        """The image's Windows build, or 0 if the image does not specify a build."""
        parts = str(self.config.get("os.version", "")).split(".")
        return int(parts[2]) if len(parts) > 2 and parts[2].isdigit() else 0


def familiar(name: str) -> str:
    """Return an image name as Docker shows it, without `docker.io/library/` or `docker.io/`."""
    return name.removeprefix("docker.io/library/").removeprefix("docker.io/")


class DockerImages:
    """The images of one dockerd.

    Args:
        machine: the machine that dockerd runs on.
        root: dockerd's data-root folder.
    """

    def __init__(self, machine: Machine, root: str) -> None:
        self._machine = machine
        self.store = ImageStore(machine.files, f"{root}\\image\\windowsfilter")
        machine.files.make_directory(f"{root}\\windowsfilter")

    def all(self) -> list[DockerImage]:
        """Return the images, newest first."""
        found: dict[str, DockerImage] = {}
        for item in self.store.images():
            pair = self.store.manifest(item, _ANY, exact=True)
            if pair is None:
                continue
            manifest = pair[1]
            identity = str(manifest["config"]["digest"])
            if identity not in found:
                size = self.store.unpacked_size(manifest)
                config = self.store.document(identity)
                found[identity] = DockerImage(identity, config, manifest, item.target, size, item.created)
            image = found[identity]
            image.created = min(image.created, item.created)
            if item.name != identity:
                (image.digests if "@" in item.name else image.tags).append(item.name)
        return sorted(found.values(), key=lambda image: image.created, reverse=True)

    def find(self, name: str) -> DockerImage:
        """Return an image by a name, its id, or at least the first four digits of its id.

        Raises:
            DockerError: the image does not exist.
        """
        whole = normal(name)
        images = self.all()
        bare = name.removeprefix("sha256:")
        for image in images:
            if whole in (*image.tags, *image.digests) or image.id == name:
                return image
        for image in images:
            if len(bare) >= 4 and image.id.removeprefix("sha256:").startswith(bare):
                return image
        raise DockerError(f"No such image: {familiar(whole or name)}")

    def keep(self, identity: str, target: Mapping[str, Any], names: Iterable[str]) -> None:
        """Store the names of an image. If another image has one of these names, that image loses the name."""
        for name in (identity, *names):
            self.store.put(StoredImage(name, dict(target)))

    def write(self, config: bytes, layers: Iterable[bytes], names: Iterable[str]) -> str:
        """Add a loaded or built image with the given configuration and layers, and return its id.

        Raises:
            DiskFullError: the drive is full.
            ValueError: a layer is not an archive.
        """
        described = [self._put(oci.LAYER, data) for data in layers]
        configured = self._put(oci.CONFIG, config)
        document = {"schemaVersion": 2, "mediaType": oci.MANIFEST, "config": configured, "layers": described}
        target = self._put(oci.MANIFEST, oci.encode(document))
        self.store.unpack(document, discard_layers=False)
        self.keep(configured["digest"], target, names)
        return str(configured["digest"])

    def _put(self, media_type: str, data: bytes) -> dict[str, Any]:
        described = oci.descriptor(media_type, data)
        self.store.write(described["digest"], data)
        return described

    def layers(self, image: DockerImage) -> list[bytes]:
        """Return an image's layers. They are compressed, unless the image was loaded from an archive."""
        return [self.store.read(str(part["digest"])) for part in image.manifest.get("layers", [])]

    def config_bytes(self, image: DockerImage) -> bytes:
        """Return the original bytes of an image's configuration. Their digest is the image's id."""
        return self.store.read(image.id)

    def tag(self, source: str, name: str) -> None:
        """Add a name to an image.

        Raises:
            DockerError: the image does not exist, or the name is invalid.
        """
        image = self.find(source)
        whole = normal(name)
        if not whole or "@" in whole:
            raise DockerError(f'invalid reference format: "{name}"')
        self.store.put(StoredImage(whole, image.target))

    def remove(self, name: str, *, force: bool, used: Mapping[str, str]) -> list[str]:
        """Remove a name of an image, or all its names if `name` is an id.

        If no tag is left, the image itself is removed, too, unless a container uses it.

        Args:
            name: the name, the id or the first digits of the id.
            force: whether to remove the names even if a container uses the image, or if `name` is the id of an image
                with several tags.
            used: maps the id of each image in use to the id of a container that uses the image.

        Returns:
            Docker's output: `Untagged: …`, `Deleted: …`.

        Raises:
            DockerError: the image does not exist, or `force` is needed.
        """
        image = self.find(name)
        whole = normal(name)
        known = [*image.tags, *image.digests]
        by_id = whole not in known
        if by_id and len(image.tags) > 1 and not force:
            raise DockerError(
                f"conflict: unable to delete {image.id[7:19]} (must be forced) - image is referenced in multiple "
                f"repositories"
            )
        going = known if by_id else [whole]
        left = [item for item in image.tags if item not in going]
        if not by_id and not left:
            going = known  # with its last tag an image also loses its digests
        user = used.get(image.id)
        if user and not left and not force:
            what = "repository reference" if not by_id else "image"
            raise DockerError(
                f'conflict: unable to remove {what} "{familiar(whole or name)}" (must force) - container {user[:12]} '
                f"is using its referenced image {image.id[7:19]}"
            )
        message = [f"Untagged: {familiar(item)}" for item in going]
        for item in going:
            self.store.delete(item)
        if not left and not user:
            self.store.delete(image.id)
            message.append(f"Deleted: {image.id}")
        return message

    def prune(self, *, everything: bool, used: Iterable[str]) -> tuple[list[str], int]:
        """Remove unused images. Return the lines of the output, and the number of bytes freed.

        Args:
            everything: whether to remove images with tags, too.
            used: the ids of the images in use.
        """
        message: list[str] = []
        won = 0
        for image in self.all():
            if image.id in set(used) or (image.tags and not everything):
                continue
            message += [f"untagged: {familiar(item)}" for item in (*image.tags, *image.digests)]
            for item in (*image.tags, *image.digests, image.id):
                self.store.delete(item)
            message.append(f"deleted: {image.id}")
            won += image.size
        return message, won


def normal(name: str) -> str:
    """Return the full form of an image name (`docker.io/library/x:latest`), without the tag if it also has a digest.

    Return an empty string if the name is invalid.
    """
    try:
        found = oci.parse(name, familiar=True)
    except oci.ReferenceFormatError:
        return ""
    return str(oci.ImageReference(found.host, found.path, "" if found.digest else found.tag, found.digest))
