# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Choose the archive of a container image for the node's version of Windows, and import it into the image store.

A downloaded archive is removed after its import, because keeping it would take up disk space twice.
"""

from __future__ import annotations

import dataclasses
import hashlib
import typing as t

from ...module_utils.redaction.urls import redact_url
from ..downloads import curl
from ..values.errors import ResourceError
from ..windows.node_paths import TRUSTED_FOLDER
from ..windows.path_calls import discard
from ..windows.windows_info import WindowsInfo
from ..wire.calls import action
from ..wire.messages import Call
from .store import Store, TransferOptions

FOLDER = f"{TRUSTED_FOLDER}\\images"


@dataclasses.dataclass(frozen=True, kw_only=True)
class ImageArchive:
    """An archive of a container image, and where to download it."""

    url: str = dataclasses.field(
        metadata={
            "help": "The archive's URL, for which no proxy is used. A `file:` URL names a file on the node.",
            "secret": True,
        }
    )
    sha256: str = dataclasses.field(metadata={"help": "The archive's SHA-256."})
    size: int | None = dataclasses.field(default=None, metadata={"help": "The archive's size in bytes."})
    windows: tuple[str, ...] = dataclasses.field(
        default=(),
        metadata={"help": "Versions of Windows Server that can run the image. With an empty list, all versions can."},
    )
    ignore_revocation: bool = dataclasses.field(
        default=False,
        metadata={"help": "Whether to continue if the node cannot check the server's certificate for revocation."},
    )

    def __post_init__(self) -> None:
        if not curl.is_url(self.url):
            raise ResourceError("url", redact_url(self.url), "expected an http, https or file URL")
        if len(self.sha256) != 64 or any(letter not in "0123456789abcdefABCDEF" for letter in self.sha256):
            raise ResourceError("sha256", self.sha256, "expected 64 hexadecimal digits")


def supported_archive(archives: t.Sequence[ImageArchive], windows: WindowsInfo) -> ImageArchive | None:
    """Return the first archive with an image that this version of Windows can run, or None if there is none."""
    version = windows.nearest_version
    return next((archive for archive in archives if not archive.windows or version in archive.windows), None)


def fetched(archive: ImageArchive, store: Store, how: TransferOptions, name: str) -> tuple[Call, ...]:
    """Return the calls that download, verify, import and remove an archive."""
    # The file's name depends on the archive and on the image, because images from the same archive must not remove each
    # other's file.
    key = hashlib.sha256(f"{archive.sha256.lower()} {name}".encode()).hexdigest()[:24]
    path = f"{FOLDER}\\{key}.tar"
    # The archives of a bundle are on the controller, or on the node itself (`file:` URLs), so no proxy is used.
    route = curl.DownloadRoute(no_proxy=("*",), ignore_revocation=archive.ignore_revocation)
    download = curl.download("download", archive.url, f"{path}.part", route, timeout=how.timeout)
    commit = {"path": f"{path}.part", "destination": path, "sha256": archive.sha256.lower()}
    return (
        dataclasses.replace(download, parallel=how.parallel),
        action("verify", "@commit-file", dict(commit)),
        *store.load(path, how),
        dataclasses.replace(discard(path, "discard"), always=True),
    )
