# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The sources of artifacts in order: the sites of `artifact_sites`, then the publishers."""

from __future__ import annotations

import dataclasses
import difflib
import typing as t
import urllib.parse

from ..downloads import curl
from ..values.shown import AsItIs
from .catalogue import ArtifactError, checked_sha256

SITES_VARIABLE = "artifact_sites"
_KEYS = ("url", "query", "headers", "proxy", "no_proxy", "overrides", "ignore_revocation", "digests")


@dataclasses.dataclass(frozen=True, kw_only=True)
class ArtifactSite:
    """A site with the publishers' files; its first folder is the publisher's host."""

    url: str
    query: str = ""
    """Query that is appended to every URL, such as the signature of a storage account (SAS); secret."""
    headers: t.Mapping[str, str] = dataclasses.field(default_factory=dict)
    """Headers that are sent with every request; secret."""
    proxy: str | None = None
    """Proxy; None: that of all downloads; empty: none."""
    no_proxy: str | None = None
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
    if isinstance(item, str):
        item = {"url": item}
    if not isinstance(item, t.Mapping):
        raise ArtifactError(where, item, "expected a URL, or a mapping with url")
    for key in item:
        if key not in _KEYS:
            close = difflib.get_close_matches(str(key), _KEYS)
            hint = f"Did you mean {close[0]}?" if close else ""
            raise ArtifactError(where, key, f"expected {', '.join(_KEYS)}", hint)
    url = item.get("url")
    if not isinstance(url, str) or not _is_base(url):
        shown = curl.redacted(url) if isinstance(url, str) else url
        hint = "What follows a ? belongs in query." if isinstance(url, str) and "?" in url else ""
        raise ArtifactError(f"{where}.url", shown, "expected an http, https or file:/// URL without query", hint)
    query = item.get("query") or ""
    if not isinstance(query, str) or any(
        letter.isspace() or not letter.isprintable() or letter == "#" for letter in query
    ):
        raise ArtifactError(f"{where}.query", AsItIs("(hidden)"), "expected what follows the ? of a URL, as text")
    return ArtifactSite(
        url=url,
        query=query.removeprefix("?"),
        headers=_headers(item.get("headers"), f"{where}.headers"),
        proxy=_proxy(item.get("proxy"), f"{where}.proxy"),
        no_proxy=_no_proxy(item.get("no_proxy"), f"{where}.no_proxy"),
        overrides=_flag(item.get("overrides"), f"{where}.overrides"),
        ignore_revocation=_flag(item.get("ignore_revocation"), f"{where}.ignore_revocation"),
        digests=_digests(item.get("digests"), f"{where}.digests"),
    )


def _flag(value: object, where: str) -> bool:
    if value not in (None, True, False):
        raise ArtifactError(where, value, "expected true or false")
    return value is True


def _is_base(url: str) -> bool:
    # A folder of the node with uploaded files.
    schemes = ("http://", "https://", "file:///")
    return url.startswith(schemes) and curl.is_url(url.rstrip("/") + "/") and not set("?#") & set(url)


def _headers(value: object, where: str) -> dict[str, str]:
    if not value:
        return {}
    if not isinstance(value, t.Mapping):
        raise ArtifactError(where, "(hidden)", "expected a mapping of names to values")
    headers = {str(name): str(text) for name, text in value.items()}
    if any("\n" in part or "\r" in part or not name for name, text in headers.items() for part in (name, text)):
        raise ArtifactError(where, "(hidden)", "expected headers of one line each")
    return headers


def _digests(value: object, where: str) -> dict[str, str]:
    if not value:
        return {}
    if not isinstance(value, t.Mapping):
        raise ArtifactError(where, value, "expected a mapping of paths below the site to SHA-256")
    return {str(path): checked_sha256(str(digest), f"{where}.{path}") for path, digest in value.items()}


def _proxy(value: object, where: str) -> str | None:
    if value is None:
        return None
    if not isinstance(value, str) or any(letter.isspace() for letter in value):
        raise ArtifactError(where, "(hidden)", "expected a URL such as http://proxy.example:3128, or empty for none")
    return value


def _no_proxy(value: object, where: str) -> str | None:
    if value is None:
        return None
    items = [value] if isinstance(value, str) else value
    if not isinstance(items, t.Sequence) or not all(isinstance(item, str) for item in items):
        raise ArtifactError(where, value, "expected hosts and domains, comma-separated or as a list")
    return ",".join(items)
