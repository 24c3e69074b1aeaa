# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Find downloads that nothing verifies: they have no checksum, or their checksum is downloaded over plain HTTP."""

from __future__ import annotations

import typing as t
import urllib.parse

from ...module_utils.redaction.urls import redact_url
from . import sites as artifacts_sites
from .catalogue import ArtifactError, Kind, catalogue

VARIABLE = "artifact_verify"
WARN, STRICT = "warn", "strict"


class Unverified(t.NamedTuple):
    """An unverified download, or a site whose downloads nothing verifies."""

    variable: str
    value: str
    """The value of `variable`, without secrets."""
    why: str
    fix: str

    def __str__(self) -> str:
        return f"{self.why}: accepted unverified; {self.fix}"


def check_mode(verify: object) -> None:
    """Check the value of `artifact_verify`.

    Raises:
        ArtifactError: the value is invalid.
    """
    if verify not in (WARN, STRICT):
        raise ArtifactError(VARIABLE, verify, f"expected {WARN} or {STRICT}")


def is_clear(url: str) -> bool:
    """Return whether a URL uses plain HTTP, which lets an attacker on the network change the file."""
    return url.lower().startswith("http:")


def host(url: str) -> str:
    """Return the host and port of a URL."""
    return urllib.parse.urlsplit(url).netloc.rpartition("@")[2]


def why_not(sha256: str, checksum_urls: t.Iterable[str], *, custom: bool) -> str:
    """Return why nothing verifies a download, or an empty string if a checksum verifies it.

    Args:
        sha256: expected SHA-256, or empty if it is not known in advance.
        checksum_urls: URL of each source's checksum file; an empty string for a source without one.
        custom: whether the URL is a user's own.
    """
    urls = list(checksum_urls)
    if sha256:
        return ""
    if custom:
        return "a custom URL has no checksum"
    if not any(urls):
        return "its publisher provides no checksum"
    clear = next((url for url in urls if is_clear(url)), "")
    return f"its checksum comes over plain HTTP as well ({redact_url(clear)})" if clear else ""


def of_roles(values: t.Mapping[str, t.Any], roles: t.Collection[str]) -> list[Unverified]:
    """Return the roles' downloads without a checksum, and the sites that deliver files and checksums over plain HTTP.

    No entry names an inventory host, so that reports can merge equal entries.

    Args:
        values: the roles' variables that are set.
        roles: the roles whose artifacts are downloaded.
    """
    downloads: list[Unverified] = []
    clear: dict[str, list[Kind]] = {}
    for kind in _used(values, roles):
        # Messages name the variable instead of its URL, which may contain a signature.
        if values.get(f"{kind.variables}_url"):
            why = f"{kind.variables}_url has no checksum"
        elif not kind.has_checksum(str(values.get(f"{kind.variables}_version", "")).removeprefix("v")):
            why = f"the publisher provides no checksum for {kind.name}"
        else:
            for site in _clear_sites(kind, values):
                clear.setdefault(redact_url(site.url), []).append(kind)
            continue
        pin = f"{kind.variables}_sha256"
        downloads.append(Unverified(pin, "", why, f"set {pin} to verify it"))
    return [*downloads, *(_of_site(url, kinds) for url, kinds in clear.items())]


def _of_site(url: str, kinds: t.Sequence[Kind]) -> Unverified:
    names = ", ".join(kind.name for kind in kinds)
    pins = ", ".join(f"{kind.variables}_sha256" for kind in kinds)
    why = f"{url} uses plain HTTP and also provides the checksums, so nothing verifies {names}"
    return Unverified("artifact_sites", url, why, f"use https, or pin the checksums ({pins})")


def _used(values: t.Mapping[str, t.Any], roles: t.Collection[str]) -> t.Iterator[Kind]:
    """Yield the kinds of artifacts that roles install without a pinned checksum."""
    for kind in catalogue().values():
        if not kind.variables or not any(
            kind.variables == role or kind.variables.startswith(f"{role}_") for role in roles
        ):
            continue
        if values.get(f"{kind.variables}_sha256") or not kind.is_used(values):
            continue
        if not kind.url and not values.get(f"{kind.variables}_url"):
            continue  # nothing to download
        version = str(values.get(f"{kind.variables}_version", "")).removeprefix("v")
        if version in kind.digests and not values.get(f"{kind.variables}_url"):
            continue
        yield kind


def _clear_sites(kind: Kind, values: t.Mapping[str, t.Any]) -> list[artifacts_sites.ArtifactSite]:
    """Return the sites that deliver a kind of artifact and its checksum over plain HTTP.

    The list is empty if a site has a trusted checksum of the artifact.
    """
    role = next((name for name in values if name.endswith("_artifact_sources") and _is_of(kind, name)), "")
    sources = values.get(role) or {}
    mirror = values.get(role.replace("_artifact_sources", "_artifact_mirror")) or ""
    sites = artifacts_sites.parse(sources.get("sites"), str(mirror)) if isinstance(sources, t.Mapping) else ()
    version = str(values.get(f"{kind.variables}_version", "")).removeprefix("v")
    published = kind.filled(kind.url, version)
    if any(site.digest(published) for site in sites):
        return []
    return [site for site in sites if is_clear(site.url)]


def _is_of(kind: Kind, sources: str) -> bool:
    role = sources.removesuffix("_artifact_sources")
    return kind.variables == role or kind.variables.startswith(f"{role}_")
