# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Remove container images that are neither listed nor used."""

from __future__ import annotations

import dataclasses
import typing as t

from ..engine.changes import ObservationError, remove
from ..engine.resource import Change
from ..image_stores.containerd import PINNED
from ..values.image_reference import ImageReference
from ..windows.windows_info import WindowsInfo
from ..wire.messages import Call, Results
from .container_image import InStore


@dataclasses.dataclass(frozen=True, kw_only=True)
class UnusedContainerImages(InStore):
    """Removes container images that are not listed, not pinned, and not used by a container."""

    type: t.ClassVar[str] = "UnusedContainerImages"
    independent: t.ClassVar[bool] = True
    keep: tuple[str, ...] = dataclasses.field(
        default=(), metadata={"help": "References of images to keep. All names of such an image are kept."}
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        for reference in self.keep:
            ImageReference.parse(reference, "keep")

    def observe(self) -> tuple[Call, ...]:
        return (*self.store.list_calls(), *self.store.container_calls())

    def plan(self, seen: Results, windows: WindowsInfo) -> Change | None:
        images = self.store.read(seen)
        if not images:
            return None
        used = self.store.in_use(seen, images)
        if used is None:
            raise ObservationError(
                self.title, "containers", "the images that containers use are unknown, so no image is removed"
            )
        kept = {image.identity for name, image in images.items() if name in self.keep or PINNED in image.labels} | used
        gone = sorted(name for name, image in images.items() if image.identity not in kept)
        if not gone:
            return None
        count = len({images[name].identity for name in gone})
        calls = self.store.remove(self.store.removable(gone, images))
        return remove(self, {"references": gone}, calls, why=f"unused container images: {count}")
