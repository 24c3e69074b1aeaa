# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The sources of artifacts in order: the sites of `artifact_sites`, then the publishers."""

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
    """A site with the publishers' files; its first folder is the publisher's host."""

    url: str = dataclasses.field(metadata={"expected": _URL})
    query: str = dataclasses.field(default="", metadata=SECRET)
    """Query that is appended to every URL, such as the signature of a storage account (SAS); secret."""
    headers: t.Mapping[str, str] = dataclasses.field(default_factory=dict, metadata=SECRET)
    """Headers that are sent with every request; secret."""
    proxy: str | None = dataclasses.field(default=None, metadata=SECRET)
    """Proxy; None: that of all downloads; empty: none."""
    no_proxy: str | tuple[str, ...] | None = None
    """Hosts and domains that are reached without the proxy; a list becomes a comma-separated text."""
    overrides: bool = False
    """Whether it also has the files of users' own URLs, as a bundle does."""
    ignore_revocation: bool = False
    """Whether to ignore that the revocation of its certificate cannot be checked, as with private authorities."""
    digests: t.Mapping[str, str] = dataclasses.field(default_factory=dict)
    """Verified SHA-256 of its files, by path below `url` (a bundle's signed index)."""

    def digest(self, url: str) -> str:
        """Return the site's verified SHA-256 for a publisher's URL; empty if it has none."""
        parts = urllib.parse.urlsplit(url)
        return self.digests.get(f"{parts.netloc.rpartition('@')[2]}{urllib.parse.unquote(parts.path)}", "")

    def at(self, url: str) -> str:
        """Return the site's URL for a publisher's URL, with the signature."""
        parts = urllib.parse.urlsplit(url)
        at_site = f"{self.url.rstrip('/')}/{parts.netloc.rpartition('@')[2]}{parts.path}"
        return f"{at_site}?{self.query}" if self.query else at_site


def parse(given: object, mirror: str = "") -> tuple[ArtifactSite, ...]:
    """Return the sites in order.

    Args:
        given: `artifact_sites`, a list of URLs or of mappings with the fields of `ArtifactSite`.
        mirror: `artifact_mirror`, a short form of one more site.

    Raises:
        ArtifactError: an entry is not a site; the message contains no signature.
    """
    if given is None or given == "":
        given = []
    if isinstance(given, (str, t.Mapping)):
        given = [given]
    if not isinstance(given, t.Sequence):
        raise ArtifactError(SITES_VARIABLE, given, "expected a list of URLs, or of mappings with url")
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
        hint = "What follows a ? belongs in query." if "?" in site.url else ""
        raise ArtifactError(f"{where}.url", redact_url(site.url), f"expected {_URL}", hint)
    if any(letter.isspace() or not letter.isprintable() or letter == "#" for letter in site.query):
        raise ArtifactError(f"{where}.query", AsItIs(HIDDEN), "expected what follows the ? of a URL, as text")
    if any("\n" in part or "\r" in part for header in site.headers.items() for part in header) or "" in site.headers:
        raise ArtifactError(f"{where}.headers", AsItIs(HIDDEN), "expected headers of one line each")
    if site.proxy is not None and any(letter.isspace() for letter in site.proxy):
        expected = "expected a URL such as http://proxy.example:3128, or empty for none"
        raise ArtifactError(f"{where}.proxy", AsItIs(HIDDEN), expected)
    digests = {path: checked_sha256(digest, f"{where}.digests.{path}") for path, digest in site.digests.items()}
    no_proxy = ",".join(site.no_proxy) if isinstance(site.no_proxy, tuple) else site.no_proxy
    return dataclasses.replace(site, query=site.query.removeprefix("?"), digests=digests, no_proxy=no_proxy)


def _is_base(url: str) -> bool:
    # A folder of the node with uploaded files.
    schemes = ("http://", "https://", "file:///")
    return url.startswith(schemes) and curl.is_url(url.rstrip("/") + "/") and not set("?#") & set(url)
