# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Check a request to publish an image release in Azure (no I/O).

A release is published as a copy of its VHD, as a version in a compute gallery, or both.

playbooks/publish_image.yml publishes the release with modules of azure.azcollection. Source of the rules for names:
learn.microsoft.com, Naming rules and restrictions for Azure resources (Microsoft.Storage, Microsoft.Compute).
"""

from __future__ import annotations

import dataclasses
import re
import typing as t

from ..specification.convert import convert
from ..values.errors import ResourceError
from ..values.shown import AsItIs
from .release import ImageRelease

MODULES = (
    "azure.azcollection.azure_rm_storageblob",
    "azure.azcollection.azure_rm_storageblob_info",
    "azure.azcollection.azure_rm_galleryimageversion",
    "azure.azcollection.azure_rm_galleryimageversion_info",
)
OLDEST = "3.4.0"
"""The first version of azure.azcollection whose azure_rm_galleryimageversion module has the option timeout.

Source: the collection's CHANGELOG.
"""
_ACCOUNT = re.compile(r"[a-z0-9]{3,24}")
_CONTAINER = re.compile(r"(?=.{3,63}\Z)[a-z0-9](?:-?[a-z0-9])*")
_BLOB = re.compile(r"[^\s?#\\]{1,1020}[.]vhd", re.IGNORECASE)
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,79}")
_GROUP = re.compile(r"[\w.()-]{0,89}[\w()-]")
_REGION = re.compile(r"[a-z0-9]+")
_SUFFIX = re.compile(r"[a-z0-9]+(?:[.-][a-z0-9]+)+")


@dataclasses.dataclass(frozen=True, kw_only=True)
class StoredVhd:
    """A VHD in a storage account."""

    resource_group: str
    storage_account: str
    container: str
    blob: str = ""

    def check(self, where: str) -> None:
        """Check the names of the resource group, storage account, container and blob.

        Raises:
            ResourceError: Azure does not accept one of the names.
        """
        _check(where, "resource_group", self.resource_group, _GROUP, "the name of a resource group")
        _check(where, "storage_account", self.storage_account, _ACCOUNT, "3 to 24 lower-case letters and digits")
        expected = "3 to 63 lower-case letters, digits and single dashes, with a letter or digit at both ends"
        _check(where, "container", self.container, _CONTAINER, expected)
        _check(where, "blob", self.blob, _BLOB, "the name of a blob that ends in .vhd")

    def url(self, suffix: str) -> str:
        """Return the URL of the VHD's blob."""
        return f"https://{self.storage_account}.blob.{suffix}/{self.container}/{self.blob}"


@dataclasses.dataclass(frozen=True, kw_only=True)
class ManagedImage:
    """A managed image in Azure."""

    resource_group: str
    name: str

    def check(self, where: str) -> None:
        """Check the names of the managed image and its resource group.

        Raises:
            ResourceError: Azure does not accept one of the names.
        """
        _check(where, "resource_group", self.resource_group, _GROUP, "the name of a resource group")
        _check(where, "name", self.name, _NAME, "the name of a managed image")


@dataclasses.dataclass(frozen=True, kw_only=True)
class GalleryPlace:
    """An image definition in a compute gallery, and where its versions are stored."""

    resource_group: str
    gallery: str
    definition: str
    location: str
    regions: tuple[str, ...] = ()
    replicas: int = 1
    storage_account_type: t.Literal["Standard_LRS", "Standard_ZRS"] = "Standard_LRS"
    exclude_from_latest: bool = False

    def check(self, where: str) -> None:
        """Check the names of the Azure resources and regions, and the number of replicas.

        Raises:
            ResourceError: Azure does not accept a name or the number.
        """
        _check(where, "resource_group", self.resource_group, _GROUP, "the name of a resource group")
        _check(where, "gallery", self.gallery, _NAME, "the name of a compute gallery")
        _check(where, "definition", self.definition, _NAME, "the name of an image definition")
        for region in (self.location, *self.regions):
            _check(where, "location", region, _REGION, "the name of a region, such as westeurope")
        if not 1 <= self.replicas <= 100:
            raise ResourceError(f"{where}.replicas", self.replicas, "expected 1 to 100")

    @property
    def all_regions(self) -> tuple[str, ...]:
        """The regions with replicas. Azure requires that these include the location of the gallery version itself."""
        return tuple(dict.fromkeys((self.location, *self.regions)))


@dataclasses.dataclass(frozen=True, kw_only=True)
class Publication:
    """A checked request to publish a release."""

    release: ImageRelease
    version: str
    """The version number of the image in the compute gallery."""
    vhd: StoredVhd | None
    image: ManagedImage | None
    copy: StoredVhd | None
    gallery: GalleryPlace | None
    suffix: str

    @classmethod
    def of(cls, options: t.Mapping[str, t.Any]) -> Publication:
        """Read the options of the image_publication module.

        Raises:
            ResourceError: an option is invalid, or the options contradict each other.
        """
        release = ImageRelease.parse(options["release"], "publish_image_release")
        vhd = _place(options, "vhd", StoredVhd)
        image = _place(options, "managed_image", ManagedImage)
        copy = _place(options, "copy", StoredVhd)
        gallery = _place(options, "gallery", GalleryPlace)
        if (vhd is None) == (image is None):
            actual = AsItIs("both" if vhd else "neither")
            raise ResourceError(
                "publish_image_vhd", actual, "expected either publish_image_vhd or publish_image_managed_image"
            )
        if copy is None and gallery is None:
            raise ResourceError(
                "publish_image_gallery", None, "expected publish_image_gallery, publish_image_copy, or both"
            )
        if copy is not None:
            if vhd is None:
                raise ResourceError(
                    "publish_image_copy", copy.storage_account, "expected nothing, because only a VHD can be copied"
                )
            copy = dataclasses.replace(copy, blob=copy.blob or vhd.blob.rpartition("/")[2])
        for name, place in (("vhd", vhd), ("managed_image", image), ("copy", copy), ("gallery", gallery)):
            if place is not None:
                place.check(f"publish_image_{name}")
        if copy is not None and vhd is not None and copy.url("") == vhd.url(""):
            raise ResourceError("publish_image_copy", copy.blob, "expected a blob that differs from publish_image_vhd")
        suffix = str(options["endpoint_suffix"])
        if not _SUFFIX.fullmatch(suffix):
            raise ResourceError("publish_image_endpoint_suffix", suffix, "expected a domain, such as core.windows.net")
        return cls(
            release=release,
            version=release.gallery_version(options["number"]),
            vhd=vhd,
            image=image,
            copy=copy,
            gallery=gallery,
            suffix=suffix,
        )

    @property
    def published(self) -> StoredVhd | None:
        """The VHD (or its copy, if any) from which the gallery version is created, or None for a managed image."""
        return self.copy or self.vhd

    def steps(self) -> list[str]:
        """Return the steps that publish_image.yml performs, one line for each."""
        lines = []
        if self.copy is not None and self.vhd is not None:
            lines.append(f"copy {self.vhd.url(self.suffix)} to {self.copy.url(self.suffix)}")
        if self.gallery is not None:
            source = (
                self.published.url(self.suffix)
                if self.published
                else f"the managed image {self.image and self.image.name}"
            )
            place = f"{self.gallery.gallery}/{self.gallery.definition}"
            lines.append(
                f"publish {source} as version {self.version} of {place} in {', '.join(self.gallery.all_regions)}"
            )
        return lines

    def to_result(self) -> dict[str, t.Any]:
        """Return the module's result: the values that publish_image.yml passes to the modules of azure.azcollection."""
        gallery = self.gallery
        return {
            "release": str(self.release),
            "gallery_version": self.version,
            "tags": {"release": str(self.release)},
            "vhd": dataclasses.asdict(self.vhd) if self.vhd else None,
            # Not `copy`, which Jinja takes for the method of a mapping.
            "target": dataclasses.asdict(self.copy) if self.copy else None,
            "gallery": dataclasses.asdict(gallery) if gallery else None,
            "storage_profile": self._storage_profile(),
            "publishing_profile": {
                "target_regions": [
                    {
                        "name": region,
                        "regional_replica_count": gallery.replicas,
                        "storage_account_type": gallery.storage_account_type,
                    }
                    for region in gallery.all_regions
                ],
                "exclude_from_latest": gallery.exclude_from_latest,
            }
            if gallery
            else None,
        }

    def _storage_profile(self) -> dict[str, t.Any]:
        if self.published is None:
            return {"source_image": dataclasses.asdict(self.image) if self.image else None}
        place = self.published
        source = {
            "resource_group": place.resource_group,
            "storage_account": place.storage_account,
            "uri": place.url(self.suffix),
        }
        return {"os_disk": {"source": source}}


def _check(where: str, name: str, value: str, pattern: re.Pattern[str], expected: str) -> None:
    if not pattern.fullmatch(value):
        raise ResourceError(f"{where}.{name}", value, f"expected {expected}")


def _place(options: t.Mapping[str, t.Any], name: str, annotation: type[t.Any]) -> t.Any:
    """Return the Azure resource that an option describes, or None if the option is not set."""
    return convert(options[name], annotation, f"publish_image_{name}") if options[name] else None
