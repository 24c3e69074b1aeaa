# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Define the data in an image's release notes, and convert it to and from JSON (no I/O)."""

from __future__ import annotations

import dataclasses
import json
import typing as t

from ..specification.convert import convert
from ..values.each_text import each_text
from ..values.errors import ResourceError
from ..values.printable import all_printable, printable

SCHEMA_VERSION = 1


@dataclasses.dataclass(frozen=True, kw_only=True)
class NotedWindows:
    """The installed version and edition of Windows, and its boot settings."""

    product: str
    """The registry value ProductName, such as Windows Server 2022 Datacenter."""
    version: str
    """The version of Windows Server, such as 2022."""
    build: str
    """Build and revision, such as 20348.2849."""
    edition: str = ""
    """The registry value EditionID, such as ServerDatacenter."""
    installation: str = ""
    """The registry value InstallationType: Server or Server Core."""
    display_version: str = ""
    """The registry value DisplayVersion, such as 21H2; empty on Windows Server 2019."""
    test_signing: bool = False
    secure_boot: bool = False


@dataclasses.dataclass(frozen=True, kw_only=True)
class NotedFeature:
    """An installed role or feature of Windows."""

    name: str
    display_name: str = ""


@dataclasses.dataclass(frozen=True, kw_only=True)
class NotedUpdate:
    """An installed update."""

    id: str
    """KB number, or the name of the package for an update that `Get-HotFix` does not list."""
    description: str = ""
    installed_on: str = ""


@dataclasses.dataclass(frozen=True, kw_only=True)
class NotedService:
    """A service from data/image_services.yml that exists on the machine."""

    name: str
    state: str
    start_mode: str


@dataclasses.dataclass(frozen=True, kw_only=True)
class NotedFix:
    """A registry value that enables a fix on this version of Windows."""

    path: str
    value_name: str
    expected: int
    actual: int | str | None = None
    """The value in the registry; None if it is not set."""
    why: str = ""
    """What the value fixes, if known."""

    @property
    def state(self) -> str:
        """`set` if the registry contains the expected value, `set to N` if it contains another one, or `not set`."""
        if self.actual is None:
            return "not set"
        return "set" if self.actual == self.expected else f"set to {self.actual}"


@dataclasses.dataclass(frozen=True, kw_only=True)
class NotedArtifact:
    """A file in the artifact cache."""

    kind: str
    version: str
    path: str
    sha256: str
    """The hash of the file itself, calculated for the release notes."""
    size: int | None = None
    source: str = ""
    """The URL of the download, without credentials; empty if unknown."""
    custom: bool = False
    """Whether the URL comes from a user, which means that the file is not the official release."""
    verified: bool = False
    """Whether the file's manifest contains the same hash as `sha256`. A file that has a manifest may be unverified."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class NotedComponent:
    """A component whose version can be chosen when a machine is started from the image."""

    name: str
    """The component's kind of artifact, such as `containerd`."""
    title: str
    parameter: str
    """The parameter of install-cached-versions.ps1: Kubernetes, Runtime or Network."""
    image: str
    """The version that is installed in the image."""
    versions: tuple[str, ...] = ()
    """All versions that can be chosen, including the one that is installed in the image."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class NotedImage:
    """A container image in the runtime's store."""

    names: tuple[str, ...]
    """References with a tag, or with a digest if there is no tag."""
    digest: str
    """Digest of the image's manifest; empty if Docker built the image or loaded it from an archive."""
    size: int | None = None
    """Size in bytes, as the runtime reports it."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class NotedDisk:
    """The free and total space on the system disk, in bytes."""

    free: int | None = None
    total: int | None = None


@dataclasses.dataclass(frozen=True, kw_only=True)
class NotedIdentity:
    """The identifiers of a machine. A field is empty if the machine lacks this identifier or did not report it."""

    computer_name: str = ""
    sid: str = ""
    """The machine's SID, which is the common first part of the SIDs of its local accounts."""
    host_keys: tuple[str, ...] = ()
    """SHA-256 of the files with the SSH server's public host keys."""
    certificates: tuple[str, ...] = ()
    """Thumbprints of the certificates in the computer's personal store, such as WinRM's certificate."""
    remote_desktop: tuple[str, ...] = ()
    """Thumbprints of Remote Desktop's self-signed certificates."""
    update_client: str = ""
    """The client ID of Windows Update (WSUS)."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class ImageContents:
    """The release notes of one image."""

    schema_version: int = SCHEMA_VERSION
    release: str
    host: str
    """Name of the build machine in the inventory."""
    time: str
    """Time at which the machine's contents were read, in ISO 8601 format and UTC."""
    windows: NotedWindows
    features: tuple[NotedFeature, ...] = ()
    updates: tuple[NotedUpdate, ...] = ()
    services: tuple[NotedService, ...] = ()
    registry_fixes: tuple[NotedFix, ...] = ()
    runtime: str = ""
    """The container runtime: containerd or docker."""
    artifacts: tuple[NotedArtifact, ...] = ()
    container_images: tuple[NotedImage, ...] = ()
    components: tuple[NotedComponent, ...] = ()
    """The components whose version can be chosen when a machine is started; empty if the image does not list any."""
    disk: NotedDisk = NotedDisk()
    identity: NotedIdentity = NotedIdentity()
    """The build machine's identifiers; no machine that is started from the image may have any of them."""


def to_json(contents: ImageContents) -> str:
    """Return the release notes as a JSON document."""
    return json.dumps(dataclasses.asdict(contents), indent=1) + "\n"


def with_texts(contents: ImageContents, change: t.Callable[[str], str]) -> ImageContents:
    """Return the release notes with all texts made printable and then changed by a function.

    Args:
        contents: the release notes.
        change: function that returns the changed text, for example without secrets.
    """
    changed = each_text(dataclasses.asdict(contents), lambda text: change(printable(text)))
    return t.cast("ImageContents", convert(changed, ImageContents, "release notes"))


def from_json(text: str, where: str) -> ImageContents:
    """Read release notes from a JSON document that may come from an untrusted machine. All texts are made printable.

    Args:
        text: the JSON document.
        where: the option that names the file, for messages.

    Raises:
        ResourceError: the text is not a JSON document of release notes.
    """
    hint = "Give the .json file that build_image.yml wrote."
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        raise ResourceError(where, None, "expected release notes as JSON", hint) from None
    if not isinstance(document, t.Mapping) or document.get("schema_version") != SCHEMA_VERSION:
        expected = f"expected release notes with schema_version {SCHEMA_VERSION}"
        raise ResourceError(where, document, expected, hint)
    return t.cast("ImageContents", convert(all_printable(document), ImageContents, where))
