# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Determine the sources of an artifact, its path in a node's cache, and how its file is verified."""

from __future__ import annotations

import dataclasses
import hashlib
import re
import typing as t
import urllib.parse

from ...module_utils.redaction.urls import redact_url
from ..downloads import curl
from ..windows import windows_versions
from . import catalogue as artifacts_catalogue
from . import sites as artifacts_sites
from . import verification
from .catalogue import ArtifactError, Kind, UnknownKindError, catalogue

__all__ = ["ArtifactError", "ArtifactSource", "SourceLocation", "UnknownKindError", "catalogue", "locate", "mirrored"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class SourceLocation:
    """A URL from which an artifact can be downloaded, and the URL of its checksum file."""

    url: str
    checksum_url: str = ""
    """URL of the checksum file; empty if there is none."""
    site: artifacts_sites.ArtifactSite | None = None
    """The site that provides the file, or None if the publisher or the host of the user's own URL provides it."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class ArtifactSource:
    """One version of a kind of artifact, with its sources and its path in a node's cache."""

    kind: Kind
    version: str
    sources: tuple[SourceLocation, ...]
    """The sources in the order of use; at least one."""
    path: str
    """Windows path of the file in the node's cache."""
    upstream: str
    """The publisher's URL or the user's own URL, even if the file comes only from sites in `artifact_sites`."""
    upstream_checksum: str = ""
    sha256: str = ""
    """Expected SHA-256, as given by the user, the catalogue or a site. Empty if none of them gives one."""
    custom: bool = False
    """Whether the URL is a user's own, which means that the file is not the official release."""

    @property
    def url(self) -> str:
        """URL of the first source."""
        return self.sources[0].url

    @property
    def checksum_url(self) -> str:
        """URL of the first source's checksum file; empty if there is none."""
        return self.sources[0].checksum_url

    @property
    def unverified(self) -> str:
        """Why nothing verifies the artifact; empty if a checksum verifies it."""
        sums = [source.checksum_url for source in self.sources]
        return verification.why_not(self.sha256, sums, custom=self.custom)

    @property
    def name(self) -> str:
        """The artifact's name in messages."""
        return f"{self.kind.name} {self.version}{' (custom)' if self.custom else ''}"


def mirrored(url: str, mirror: str) -> str:
    """Return the URL of a publisher's file on a mirror, which has one folder for each publisher's host.

    >>> mirrored("https://dl.k8s.io/v1.37.1/a.tar.gz", "http://mirror:8080/")
    'http://mirror:8080/dl.k8s.io/v1.37.1/a.tar.gz'
    """
    return artifacts_sites.ArtifactSite(url=mirror).at(url) if mirror else url


def checked_folder(path: object, where: str) -> str:
    """Return the path of a cache folder without a trailing backslash.

    Raises:
        ArtifactError: the value is not the absolute path of a folder below the root of a drive.
    """
    bare = path.rstrip("\\") if isinstance(path, str) else ""
    if not re.fullmatch(r"[A-Za-z]:(\\[^\\/:*?\"<>|\x00-\x1f]+)+", bare) or ".." in bare.split("\\"):
        expected = (
            "expected the absolute path of a folder below the root of a drive, such as C:\\ProgramData\\winkube\\cache"
        )
        raise ArtifactError(where, path, expected)
    return bare


def is_own_url(url: str) -> bool:
    """Return whether a user may set this URL for an artifact, that is, whether it is valid and ends in a file name."""
    try:
        return curl.is_url(url) and bool(_file_name(url, ""))
    except ArtifactError:
        return False


def custom_key(url: str) -> str:
    """Return the name of the cache folder for the file at a user's own URL.

    The name does not depend on the URL's signature, which may change while the file stays the same.
    """
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
    """Return the sources of one version of a kind of artifact, and its path in the cache.

    Args:
        kind: name of a kind in the catalogue or in `kinds`, or any name if `url` is given.
        version: the version, with or without a leading `v`.
        cache_dir: Windows path of the node's cache folder.
        mirror: base URL of a mirror, which is used like one more site.
        sites: `artifact_sites` (see sites.py).
        upstream: whether the publisher is used after the sites; without sites, it is always used.
        url: a URL that replaces the catalogue's URL. A file from such a URL has no checksum file.
        sha256: expected SHA-256 of the file.
        kinds: `artifact_kinds` (see catalogue.py).
        verify: `artifact_verify`; `strict` rejects unverified downloads.

    Raises:
        ArtifactError: a value is invalid.
    """
    verification.check_mode(verify)
    entry = artifacts_catalogue.find_kind(kind, artifacts_catalogue.kinds(kinds), has_url=bool(url))
    version = artifacts_catalogue.checked_version(version, f"version of {kind}")
    what = f"{kind} {version}"
    cache_dir = checked_folder(cache_dir, "cache_dir (artifact_cache)")
    pinned = artifacts_catalogue.checked_sha256(sha256, f"sha256 of {what}")
    parsed_sites = artifacts_sites.parse(sites, mirror)
    if url:
        published, sums = url, ""
        sources, folders = _of_users(url, what, parsed_sites), ["custom", custom_key(url)]
    else:
        published, sums = _published(entry, version)
        sources, folders = _of_publishers(published, sums, parsed_sites, upstream=upstream), [version]
        pinned = pinned or entry.digests.get(version, "")
    # A site may provide the checksum if the user does not.
    from_site = "" if pinned else next((digest for site in parsed_sites if (digest := site.digest(published))), "")
    source = ArtifactSource(
        kind=entry,
        version=version,
        sources=sources,
        path="\\".join((cache_dir, entry.name, *folders, _file_name(published, what))),
        upstream=published,
        upstream_checksum=sums,
        sha256=pinned or from_site,
        custom=bool(url),
    )
    if verify == verification.STRICT and (why := source.unverified):
        expected = "expected a checksum, because artifact_verify is strict"
        raise ArtifactError(f"sha256 of {what}", None, expected, f"Nothing verifies the file: {why}.")
    return source


def _published(kind: Kind, version: str) -> tuple[str, str]:
    """Return the URL of a version at its publisher, and the URL of its checksum file (empty if there is none)."""
    url = kind.filled(kind.url, version)
    if not kind.has_checksum(version):
        return url, ""
    return url, url + kind.checksum_suffix if kind.checksum_suffix else kind.filled(kind.checksum_url, version)


def _of_publishers(
    url: str, checksum_url: str, sites: t.Sequence[artifacts_sites.ArtifactSite], *, upstream: bool
) -> tuple[SourceLocation, ...]:
    """Return the sources of a publisher's file in the order of use: first the sites, then the publisher."""
    sources = [
        SourceLocation(url=site.at(url), checksum_url=site.at(checksum_url) if checksum_url else "", site=site)
        for site in sites
    ]
    if upstream or not sources:
        sources.append(SourceLocation(url=url, checksum_url=checksum_url))
    return tuple(sources)


def _of_users(url: str, what: str, sites: t.Sequence[artifacts_sites.ArtifactSite]) -> tuple[SourceLocation, ...]:
    """Return the sources of the file at a user's own URL: first the sites that have a copy, then the URL itself.

    Raises:
        ArtifactError: the URL is malformed.
    """
    if not curl.is_url(url):
        raise ArtifactError(
            f"url of {what}", redact_url(url), "expected a URL (http, https or file) with a path and without spaces"
        )
    return (
        *(SourceLocation(url=site.at(url), site=site) for site in sites if site.overrides),
        SourceLocation(url=url),
    )


def _file_name(url: str, what: str) -> str:
    name = urllib.parse.unquote(urllib.parse.urlsplit(url).path.rpartition("/")[2])
    if not name or name in (".", "..") or set('<>:"/\\|?*') & set(name) or not name.isprintable():
        raise ArtifactError(f"url of {what}", redact_url(url), "expected a URL that ends in a file name")
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
    """Return an artifact as a resource for node_state.

    Args:
        kind: as in `locate`.
        version: as in `locate`.
        cache_dir: as in `locate`.
        proxy: URL of the proxy for the downloads.
        no_proxy: addresses for which the proxy is not used.
        limit_rate: maximum bytes per second of each download, in curl's notation (`500K`, `2M`).
        ignore_revocation: whether to continue if the revocation status of a certificate cannot be checked.
        parallel: number of parallel downloads, or None for the resource's default.
        allowed_signers: `artifact_allowed_signers`, the allowed signers of the programs, for all kinds or by kind.
        where: `mirror`, `sites`, `upstream`, `url`, `sha256`, `kinds` and `verify`, as in `locate`.

    Raises:
        ArtifactError: a value is invalid.
    """
    artifact = locate(kind, version, cache_dir=cache_dir, **where)
    described: dict[str, t.Any] = {
        "type": "Artifact",
        "name": artifact.name,
        "path": artifact.path,
        "kind": artifact.kind.name,
        "version": artifact.version,
        "custom": artifact.custom,
    }
    described |= _source_properties(artifact)
    if proxy:
        described |= {"proxy": proxy, "no_proxy": no_proxy}
    if ignore_revocation:
        described["ignore_revocation"] = True
    signers = artifacts_catalogue.signers(allowed_signers, artifact.kind.name)
    if signers:
        described["allowed_signers"] = signers
    if limit_rate:
        described["limit_rate"] = limit_rate
    if parallel is not None:
        described["parallel"] = parallel
    if set(artifact.kind.windows) != set(windows_versions.SUPPORTED_NAMES):
        described["windows"] = list(artifact.kind.windows)
    return described


def _source_properties(artifact: ArtifactSource) -> dict[str, t.Any]:
    """Return the sources and the verification of a file as properties of its resource."""
    described: dict[str, t.Any] = {}
    extra = [_source(source.url, source.checksum_url, source.site) for source in artifact.sources if source.site]
    if extra:
        described["sites"] = extra
    own = [source for source in artifact.sources if source.site is None]
    described["urls"] = [source.url for source in own]
    described["upstream"] = artifact.upstream
    if artifact.upstream_checksum:
        # Set this URL even for a pinned file, because a later run without the pin needs the publisher's checksum file.
        described["upstream_checksum"] = artifact.upstream_checksum
    if artifact.kind.algorithm != "SHA256":
        described["checksum_algorithm"] = artifact.kind.algorithm
    if artifact.sha256:
        described["sha256"] = artifact.sha256
        for site in extra:
            site.pop("checksum_url", None)
    elif artifact.checksum_url:
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
