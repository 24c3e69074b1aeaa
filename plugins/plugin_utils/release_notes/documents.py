# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Create the files that describe a release of an image, and the copy of the release notes in the image (no I/O)."""

from __future__ import annotations

import datetime
import re
import typing as t
import uuid

from ..values.errors import ResourceError
from ..values.file_names import host_file_name
from ..wire.calls import action
from ..wire.messages import Call
from .contents import ImageContents, to_json
from .markdown import markdown
from .page import notes_page
from .sbom import sbom

_ENDINGS: t.Mapping[str, str] = {"json": ".json", "markdown": ".md", "page": ".html", "sbom": ".cdx.json"}
"""Maps each kind of file to the ending of its name. CycloneDX recommends the ending for `sbom`."""
_WINDOWS_PATH = re.compile(r"[A-Za-z]:(\\[^\\/:*?\"<>|\x00-\x1f]+)+")


def file_name(host: str, kind: str) -> str:
    """Return a file name that is unique to a host, whatever characters the host's name contains.

    Args:
        host: name of the machine in the inventory.
        kind: `json`, `markdown`, `page` or `sbom`.
    """
    return host_file_name(host) + _ENDINGS[kind]


def texts(contents: ImageContents, *, written: datetime.datetime, with_sbom: bool) -> dict[str, str]:
    """Return a mapping from each kind of file that describes a release, such as `markdown`, to the file's content.

    Args:
        contents: the release notes.
        written: the time of writing, for the bill of materials.
        with_sbom: whether to create a bill of materials.
    """
    documents = {"json": to_json(contents), "markdown": markdown(contents), "page": notes_page(contents)}
    if with_sbom:
        documents["sbom"] = sbom(contents, serial=uuid.uuid4(), written=written)
    return documents


def check_image_path(path: str) -> None:
    """Check the path at which the image keeps a copy of its release notes. An empty path is valid, and means no copy.

    Raises:
        ResourceError: the path is not an absolute Windows path of a file.
    """
    if path and (not _WINDOWS_PATH.fullmatch(path) or ".." in path.split("\\")):
        expected = "expected an absolute Windows path such as C:\\ProgramData\\winkube\\release-notes.json"
        raise ResourceError("image_path", path, expected)


def store_call(path: str, text: str) -> Call:
    """Return the call that writes a copy of the release notes to a path in the image.

    The call does not create the folder. The default path's folder exists, because the node creates it when
    it claims the batch's key.
    """
    return action("release-notes", "@write-file", {"path": path, "content": text})
