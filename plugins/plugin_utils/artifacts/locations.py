# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""One version of one kind of artifact: where it is found, where it lies in a node's cache, what verifies it."""

from __future__ import annotations

import dataclasses
import hashlib
import re
import typing as t
import urllib.parse

from ..downloads import curl
from . import catalogue as artifacts_catalogue
from . import sites as artifacts_sites
from . import verification
from .catalogue import ArtifactError, Kind, UnknownKindError, catalogue

__all__ = ["ArtifactError", "ArtifactSource", "SourceLocation", "UnknownKindError", "catalogue", "locate", "mirrored"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class SourceLocation:
    """One place to ask."""

    url: str
    checksum_url: str = ""
    """Empty where there is none."""
    site: artifacts_sites.ArtifactSite | None = None
    """None: the publisher's own."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class ArtifactSource:
    """One version of one kind: where it comes from and where it goes."""

    kind: Kind
    version: str
    sources: tuple[SourceLocation, ...]
    """In the order in which they are asked; at least one."""
    path: str
    """Windows path of the file in the node's cache."""
    upstream: str
    """The publisher's own URL, or the user's, whether it is asked or not."""
    upstream_checksum: str = ""
    sha256: str = ""
    """Pinned, known from the catalogue, or vouched for by a site."""
    custom: bool = False
    """A user's own URL: never the official version of its number."""

    @property
    def url(self) -> str:
        """URL of the first source."""
        return self.sources[0].url

    @property
    def checksum_url(self) -> str:
        """URL of the first source's checksum file, or an empty string."""
        return self.sources[0].checksum_url

    @property
    def unverified(self) -> str:
        """Why nothing verifies it; empty where something does."""
        sums = [source.checksum_url for source in self.sources]
        return verification.why_not(self.sha256, sums, custom=self.custom)

    @property
    def name(self) -> str:
        """What people call it."""
        return f"{self.kind.name} {self.version}{' (custom)' if self.custom else ''}"


def mirrored(url: str, mirror: str) -> str:
    """A URL of upstream at a mirror that keeps upstream's host as its first folder.

    >>> mirrored("https://dl.k8s.io/v1.37.1/a.tar.gz", "http://mirror:8080/")
    'http://mirror:8080/dl.k8s.io/v1.37.1/a.tar.gz'
    """
    return artifacts_sites.ArtifactSite(url=mirror).at(url) if mirror else url


def checked_folder(path: object, where: str) -> str:
    """A cache folder, without a backslash at its end.

    Raises:
        ArtifactError: it is none on a volume of the node; no program on Windows knows where a relative one begins.
    """
    bare = path.rstrip("\\") if isinstance(path, str) else ""
    if not re.fullmatch(r"[A-Za-z]:(\\[^\\/:*?\"<>|\x00-\x1f]+)+", bare) or ".." in bare.split("\\"):
        raise ArtifactError(where, path, "accepted is a folder's whole path, such as C:\\ProgramData\\winkube\\cache")
    return bare


def is_own_url(url: str) -> bool:
    """Whether it is a URL by which a user may replace an artifact."""
    try:
        return curl.is_url(url) and bool(_file_name(url, ""))
    except ArtifactError:
        return False


def custom_key(url: str) -> str:
    """The folder of a user's own URL: signatures change, the file behind them need not."""
    return hashlib.sha256(url.partition("?")[0].partition("#")[0].encode()).hexdigest()[:16]


def locate(
    kind: str,
    version: str,
    *,
    cache_dir: str,
    mirror: str = "",
    sites: object = None,
    upstream: bool = True,
    url: str = "",
    sha256: str = "",
    kinds: object = None,
    verify: str = verification.WARN,
) -> ArtifactSource:
    """Where a version of a kind is found and cached.

    Args:
        kind: a kind of the catalogue or of `kinds`, or any name if `url` is given.
        version: its version, with or without `v`.
        cache_dir: Windows path of the node's cache folder.
        mirror: base URL of a mirror: the short form of one more site.
        sites: `artifact_sites`; see the module `sites`.
        upstream: whether the publisher is asked too, after the sites.
        url: replaces the catalogue's URL (a signed component); it comes without a checksum file.
        sha256: pins the file.
        kinds: `artifact_kinds`; see the module `catalogue`.
        verify: `artifact_verify`: `strict` refuses what nothing verifies.

    Raises:
        ArtifactError: one of these cannot be.
    """
    verification.check_mode(verify)
    entry = artifacts_catalogue.find(kind, artifacts_catalogue.kinds(kinds), has_url=bool(url))
    version = artifacts_catalogue.checked_version(version, f"version of {kind}")
    what = f"{kind} {version}"
    cache_dir = checked_folder(cache_dir, "cache_dir (artifact_cache)")
    pinned = artifacts_catalogue.checked_sha256(sha256, f"sha256 of {what}")
    places = artifacts_sites.parse(sites, mirror)
    if url:
        published, sums = url, ""
        sources, folders = _of_users(url, what, places), ["custom", custom_key(url)]
    else:
        published, sums = _published(entry, version)
        sources, folders = _of_publishers(published, sums, places, upstream=upstream), [version]
        pinned = pinned or entry.digests.get(version, "")
    # Who brings the file may vouch for it, where its user does not.
    vouched = "" if pinned else next((digest for site in places if (digest := site.digest(published))), "")
    found = ArtifactSource(
        kind=entry,
        version=version,
        sources=sources,
        path="\\".join((cache_dir, entry.name, *folders, _file_name(published, what))),
        upstream=published,
        upstream_checksum=sums,
        sha256=pinned or vouched,
        custom=bool(url),
    )
    if verify == verification.STRICT and (why := found.unverified):
        raise ArtifactError(f"sha256 of {what}", "", f"{why}, and artifact_verify is strict")
    return found


def _published(kind: Kind, version: str) -> tuple[str, str]:
    """The publisher's URLs of a version and of its checksum; that one is empty where there is none."""
    url = kind.filled(kind.url, version)
    return url, url + kind.checksum_suffix if kind.checksum_suffix else kind.filled(kind.checksum_url, version)


def _of_publishers(
    url: str, checksum_url: str, places: t.Sequence[artifacts_sites.ArtifactSite], *, upstream: bool
) -> tuple[SourceLocation, ...]:
    """Where a publisher's file is asked for: at the sites, then at its own; at that alone where there are none."""
    sources = [
        SourceLocation(url=site.at(url), checksum_url=site.at(checksum_url) if checksum_url else "", site=site)
        for site in places
    ]
    if upstream or not sources:
        sources.append(SourceLocation(url=url, checksum_url=checksum_url))
    return tuple(sources)


def _of_users(url: str, what: str, places: t.Sequence[artifacts_sites.ArtifactSite]) -> tuple[SourceLocation, ...]:
    """Where a user's own file is asked for: at the sites that hold such files, then at its own.

    Raises:
        ArtifactError: it is no URL.
    """
    if not curl.is_url(url):
        raise ArtifactError(f"url of {what}", curl.redacted(url), "accepted is an http or https URL")
    return (
        *(SourceLocation(url=site.at(url), site=site) for site in places if site.overrides),
        SourceLocation(url=url),
    )


def _file_name(url: str, what: str) -> str:
    name = urllib.parse.unquote(urllib.parse.urlsplit(url).path.rpartition("/")[2])
    if not name or name in (".", "..") or set('<>:"/\\|?*') & set(name) or not name.isprintable():
        raise ArtifactError(f"url of {what}", curl.redacted(url), "accepted is a URL that ends in a file's name")
    return name


def resource(
    kind: str,
    version: str,
    *,
    cache_dir: str,
    proxy: str = "",
    no_proxy: str | t.Sequence[str] = "",
    limit_rate: str = "",
    ignore_revocation: bool = False,
    parallel: int | None = None,
    allowed_signers: object = None,
    **where: t.Any,
) -> dict[str, t.Any]:
    """An artifact as a resource for node_state.

    Args:
        kind: as in `locate`.
        version: as in `locate`.
        cache_dir: as in `locate`.
        proxy: URL of the proxy for the downloads.
        no_proxy: addresses that are reached without it.
        limit_rate: bytes a second of each download, as curl writes them (`500K`, `2M`).
        ignore_revocation: go on where it cannot be asked whether a certificate was revoked.
        parallel: how many downloads run side by side; None: as the resource decides.
        allowed_signers: `artifact_allowed_signers`: who may have signed the programs in it, for all or by kind.
        where: `mirror`, `sites`, `upstream`, `url`, `sha256`, `kinds`, `verify`, as `locate`.

    Raises:
        ArtifactError: one of these cannot be.
    """
    found = locate(kind, version, cache_dir=cache_dir, **where)
    described: dict[str, t.Any] = {
        "type": "Artifact",
        "name": found.name,
        "path": found.path,
        "kind": found.kind.name,
        "version": found.version,
        "custom": found.custom,
    }
    described |= _verified_places(found)
    if proxy:
        described |= {"proxy": proxy, "no_proxy": no_proxy}
    if ignore_revocation:
        described["ignore_revocation"] = True
    signers = artifacts_catalogue.signers(allowed_signers, found.kind.name)
    if signers:
        described["allowed_signers"] = signers
    if limit_rate:
        described["limit_rate"] = limit_rate
    if parallel is not None:
        described["parallel"] = parallel
    if set(found.kind.windows) != set(artifacts_catalogue.WINDOWS):
        described["windows"] = list(found.kind.windows)
    return described


def _verified_places(found: ArtifactSource) -> dict[str, t.Any]:
    """Where a file is asked for, and what verifies it, as properties of its resource."""
    described: dict[str, t.Any] = {}
    extra = [_source(source.url, source.checksum_url, source.site) for source in found.sources if source.site]
    if extra:
        described["sites"] = extra
    own = [source for source in found.sources if source.site is None]
    described["urls"] = [source.url for source in own]
    described["upstream"] = found.upstream
    if found.upstream_checksum:
        # Pinned ones, too: without the pin, later runs know of the publisher's file only.
        described["upstream_checksum"] = found.upstream_checksum
    if found.kind.algorithm != "SHA256":
        described["checksum_algorithm"] = found.kind.algorithm
    if found.sha256:
        described["sha256"] = found.sha256
        for site in extra:
            site.pop("checksum_url", None)
    elif found.checksum_url:
        if own:
            described["checksum_url"] = own[0].checksum_url
    else:
        described["allow_unverified"] = True
    return described


def _source(url: str, checksum_url: str, site: artifacts_sites.ArtifactSite) -> dict[str, t.Any]:
    described: dict[str, t.Any] = {"url": url}
    if checksum_url:
        described["checksum_url"] = checksum_url
    if site.headers:
        described["headers"] = dict(site.headers)
    if site.proxy is not None:
        described["proxy"] = site.proxy
    if site.no_proxy is not None:
        described["no_proxy"] = site.no_proxy
    if site.ignore_revocation:
        described["ignore_revocation"] = True
    return described
