# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Parse references to container images (no I/O).

Source of the grammar: github.com/distribution/reference, regexp.go and normalize.go.
"""

from __future__ import annotations

import dataclasses
import re
import typing as t

from .errors import ResourceError

# Without a dot or a port, the first part of a name belongs to the repository, unless it is `localhost`.
_HOST = r"(?:localhost|(?=[^/]*[.:])[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?)(?::[0-9]+)?"
DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
EXPECTED = "expected a complete reference: registry/repository:tag"
_PART = r"[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*"
_REFERENCE = re.compile(
    rf"(?P<host>{_HOST})/(?P<path>{_PART}(?:/{_PART})*)"
    rf"(?::(?P<tag>\w[\w.-]{{0,127}}))?(?:@(?P<digest>{DIGEST.pattern}))?",
    re.ASCII,
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class ImageReference:
    """A complete reference to a container image: a registry, a repository, and a tag, a digest or both."""

    host: str
    path: str
    tag: str = ""
    digest: str = ""

    @classmethod
    def parse(cls, text: str, where: str = "container image") -> t.Self:
        """Parse a reference.

        Args:
            text: `registry/repository:tag` or `registry/repository@sha256:DIGEST`.
            where: the variable or property with the reference, which the error message names.

        Raises:
            ResourceError: the text is not a complete reference.
        """
        match = _REFERENCE.fullmatch(text)
        if match is None or not (match["tag"] or match["digest"]):
            raise ResourceError(where, text, EXPECTED)
        return cls(**{name: value or "" for name, value in match.groupdict().items()})

    @property
    def repository(self) -> str:
        """Registry and repository, without tag and digest."""
        return f"{self.host}/{self.path}"

    @property
    def version(self) -> str:
        """The version to request from a registry: the digest or, if there is no digest, the tag."""
        return self.digest or self.tag

    def __str__(self) -> str:
        tag, digest = self.tag and f":{self.tag}", self.digest and f"@{self.digest}"
        return f"{self.repository}{tag}{digest}"


def is_whole(text: str) -> bool:
    """Return whether a string is a reference with a registry, a repository, and a tag or digest."""
    try:
        ImageReference.parse(text)
    except ResourceError:
        return False
    return True


def with_registry(name: str) -> str:
    """Return an image's name with its registry. Docker omits its own registry: `nginx` is `docker.io/library/nginx`.

    Args:
        name: a repository, perhaps with a tag or digest.
    """
    first, slash, dummy = name.partition("/")
    if not slash:
        return f"docker.io/library/{name}"
    return name if "." in first or ":" in first or first == "localhost" else f"docker.io/{name}"
