# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Read `artifact_sites`, the sites that have copies of the publishers' files and are used before the publishers."""

from __future__ import annotations

import dataclasses
import typing as t
import urllib.parse

from ...module_utils.redaction import HIDDEN
from ...module_utils.redaction.urls import redact_url
from ..downloads import curl
from ..specification.convert import convert
from ..specification.describe import SECRET
from ..values.errors import ResourceError
from ..values.shown import AsItIs
from .catalogue import ArtifactError, checked_sha256

SITES_VARIABLE = "artifact_sites"
_URL = "an http, https or file:/// URL without query"


@dataclasses.dataclass(frozen=True, kw_only=True)
class ArtifactSite:
    """A site with copies of the publishers' files, in one folder for each publisher's host."""

    url: str = dataclasses.field(metadata={"expected": _URL})
    query: str = dataclasses.field(default="", metadata=SECRET)
    """Query that is appended to every URL, such as the signature of a storage account (SAS). It is secret."""
    headers: t.Mapping[str, str] = dataclasses.field(default_factory=dict, metadata=SECRET)
    """HTTP headers that are sent with every request. They are secret."""
    proxy: str | None = dataclasses.field(default=None, metadata=SECRET)
    """URL of the site's proxy, None to use the proxy of all downloads, or an empty string to use no proxy."""
    no_proxy: str | tuple[str, ...] | None = None
    """Hosts and domains for which the proxy is not used; a list becomes a comma-separated string."""
    overrides: bool = False
    """Whether the site also has overrides (files from users' own URLs), as a bundle for an air-gapped network does."""
    ignore_revocation: bool = False
    """Whether to accept the site's certificate if its revocation status cannot be checked, as is common with private
    CAs."""
    digests: t.Mapping[str, str] = dataclasses.field(default_factory=dict)
    """Maps paths below `url` to trusted SHA-256 checksums of the site's files, such as the checksums in a bundle's
    signed index."""

    def digest(self, url: str) -> str:
        """Return the trusted SHA-256 of the site's copy of a file.

        Args:
            url: the file's URL at its publisher.

        Returns:
            The checksum, or an empty string if the site has none.
        """
        parts = urllib.parse.urlsplit(url)
        return self.digests.get(f"{parts.netloc.rpartition('@')[2]}{urllib.parse.unquote(parts.path)}", "")

    def at(self, url: str) -> str:
        """Return the URL of the site's copy of a publisher's file, including the site's query."""
        parts = urllib.parse.urlsplit(url)
        at_site = f"{self.url.rstrip('/')}/{parts.netloc.rpartition('@')[2]}{parts.path}"
        return f"{at_site}?{self.query}" if self.query else at_site


def parse(given: object, mirror: str = "") -> tuple[ArtifactSite, ...]:
    """Return the sites in the order of use.

    Args:
        given: `artifact_sites`, a list of URLs or of mappings with the fields of `ArtifactSite`.
        mirror: `artifact_mirror`, the URL of one more site, or an empty string.

    Raises:
        ArtifactError: an entry is invalid. The message contains no signature.
    """
    if given is None or given == "":
        given = []
    if isinstance(given, (str, t.Mapping)):
        given = [given]
    if not isinstance(given, t.Sequence):
        raise ArtifactError(SITES_VARIABLE, given, "expected a list of URLs, or of mappings with the key url")
    sites = [_site(item, f"{SITES_VARIABLE}[{index}]") for index, item in enumerate(given)]
    if mirror:
        sites.append(_site(mirror, "artifact_mirror"))
    return tuple(sites)


def _site(item: object, where: str) -> ArtifactSite:
    try:
        given: str | ArtifactSite = convert(item, str | ArtifactSite, where)
    except ResourceError as error:
        raise ArtifactError(error.where, error.value, error.expected, error.hint) from None
    site = ArtifactSite(url=given) if isinstance(given, str) else given
    if not _is_base(site.url):
        hint = "Move the part after the ? to query." if "?" in site.url else ""
        raise ArtifactError(f"{where}.url", redact_url(site.url), f"expected {_URL}", hint)
    if any(letter.isspace() or not letter.isprintable() or letter == "#" for letter in site.query):
        expected = "expected the part of a URL after the ?, without spaces and #"
        raise ArtifactError(f"{where}.query", AsItIs(HIDDEN), expected)
    if any("\n" in part or "\r" in part for header in site.headers.items() for part in header) or "" in site.headers:
        raise ArtifactError(f"{where}.headers", AsItIs(HIDDEN), "expected each header to have a name and no line break")
    if site.proxy is not None and any(letter.isspace() for letter in site.proxy):
        expected = "expected a URL such as http://proxy.example:3128, or an empty string for no proxy"
        raise ArtifactError(f"{where}.proxy", AsItIs(HIDDEN), expected)
    digests = {path: checked_sha256(digest, f"{where}.digests.{path}") for path, digest in site.digests.items()}
    no_proxy = ",".join(site.no_proxy) if isinstance(site.no_proxy, tuple) else site.no_proxy
    return dataclasses.replace(site, query=site.query.removeprefix("?"), digests=digests, no_proxy=no_proxy)


def _is_base(url: str) -> bool:
    # A file:/// URL names the folder on the node that contains uploaded files.
    schemes = ("http://", "https://", "file:///")
    return url.startswith(schemes) and curl.is_url(url.rstrip("/") + "/") and not set("?#") & set(url)
