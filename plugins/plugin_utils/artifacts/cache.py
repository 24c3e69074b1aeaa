# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Turn lists of artifact versions into resources, warn about unverified artifacts, and tabulate a node's cache."""

from __future__ import annotations

import dataclasses
import typing as t

from ...module_utils.redaction.urls import redact_url
from ..downloads import curl
from ..downloads.attempts import FETCHED
from ..engine.answers import Answers
from ..engine.resource import Resource
from ..resources.artifact import Artifact
from ..wire.messages import CallResult
from . import catalogue, locations, sites, verification
from .catalogue import ArtifactError

Status = t.Literal["cached", "fetched", "missing", "failed", "skipped"]
"""Statuses of an artifact: already in the cache, downloaded in this run, missing because no download was attempted (as
in check mode), failed, or skipped because the node's version of Windows Server does not need it."""
_KEYS = ("version", "url", "sha256")


def resources_for_versions(
    lists: object,
    where: str = "artifacts",
    *,
    cache_dir: str,
    prune: bool = False,
    keep: t.Iterable[str] = (),
    urls: t.Mapping[str, str] | None = None,
    **options: t.Any,
) -> list[dict[str, t.Any]]:
    """Return the resources that bring the listed versions of artifacts into a node's cache.

    Args:
        lists: maps each kind to a list of versions. A version is a string, or a mapping with `version` and optionally
            `url` and `sha256`.
        where: the name of the variable, for messages.
        cache_dir: Windows path of the node's cache folder.
        prune: whether to remove all versions that are not in the lists.
        keep: paths of files in the cache that are never removed.
        urls: maps kinds to URLs. A URL replaces the publisher's URL for versions without their own `url`. It contains
            `{version}` or `{underscores}` if it is for several versions.
        options: further arguments of `locations.resource`.

    Returns:
        One resource for each version, in the order of the lists and without duplicates, and one more resource if
        `prune` is true.

    Raises:
        ArtifactError: a value is invalid.
    """
    # An error in one of these options affects all versions, so check the options before the versions.
    catalogue.kinds(options.get("kinds"))
    sites.parse(options.get("sites"), options.get("mirror") or "")
    locations.checked_folder(cache_dir, "cache_dir (artifact_cache)")
    _check_speed(options.get("limit_rate"), options.get("parallel"))
    if not isinstance(lists, t.Mapping):
        raise ArtifactError(where, lists, "expected a mapping of artifact kinds to lists of versions")
    by_path: dict[str, dict[str, t.Any]] = {}
    for kind, versions in lists.items():
        if isinstance(versions, (str, t.Mapping)) or not isinstance(versions, t.Sequence):
            raise ArtifactError(f"{where}.{kind}", versions, "expected a list of versions")
        own = _own_url((urls or {}).get(kind) or "", kind, len(versions))
        for index, version in enumerate(versions):
            resource = _resource(kind, version, f"{where}.{kind}[{index}]", own, cache_dir=cache_dir, **options)
            by_path.setdefault(resource["path"].casefold(), resource)
    resources = list(by_path.values())
    if prune:
        stay = [*(resource["path"] for resource in resources), *keep]
        resources.append({"type": "ArtifactCache", "name": cache_dir, "keep": stay})
    return resources


def _check_speed(limit_rate: object, parallel: object) -> None:
    if limit_rate and not curl.is_rate(str(limit_rate)):
        raise ArtifactError("limit_rate", limit_rate, "expected bytes per second, such as 500K or 2M")
    if isinstance(parallel, int) and parallel < 1:
        raise ArtifactError("parallel", parallel, "expected 1 or more")


def _own_url(url: str, kind: str, versions: int) -> str:
    """Return the URL that the user gave for a kind of artifact, or an empty string if there is none.

    Raises:
        ArtifactError: the URL is invalid, does not name a file, or is the same for several versions.
    """
    if not url:
        return ""
    name = f"{kind.replace('-', '_')}_url"
    filled = catalogue.filled(url, "1.0")
    if not locations.is_own_url(filled):
        raise ArtifactError(name, redact_url(url), "expected a URL (http, https or file) that ends in a file name")
    if versions > 1 and filled == url:
        expected = f"expected a URL with {{version}}, because {versions} versions are listed"
        raise ArtifactError(name, redact_url(url), expected)
    return url


def _resource(kind: str, item: object, where: str, own_url: str, **options: t.Any) -> dict[str, t.Any]:
    given = item if isinstance(item, t.Mapping) else {"version": item}
    for key in given:
        if key not in _KEYS:
            raise ArtifactError(where, key, "expected only the keys version, url and sha256")
    if not isinstance(given.get("version"), str):
        raise ArtifactError(where, given.get("version"), 'expected a version in quotes, such as "1.37.1"')
    own = {key: str(given.get(key) or "") for key in ("url", "sha256")}
    own["url"] = own["url"] or catalogue.filled(own_url, str(given["version"]).removeprefix("v"))
    try:
        return locations.resource(kind, str(given["version"]), **{**options, **own})
    except ArtifactError as error:
        raise error.within(where) from None


def unverified(resources: t.Iterable[t.Mapping[str, t.Any]]) -> list[str]:
    """Return warnings about artifacts that nothing verifies.

    There is one warning for each artifact that is accepted without a checksum, and one for each host that provides
    checksums over plain HTTP.
    """
    sentences = []
    clear: dict[str, list[str]] = {}
    for resource in (one for one in resources if one.get("type") == "Artifact"):
        sums = [resource.get("checksum_url", ""), *(site.get("checksum_url", "") for site in resource.get("sites", ()))]
        why = verification.why_not(resource.get("sha256", ""), sums, custom=bool(resource.get("custom")))
        for host in dict.fromkeys(verification.host(url) for url in sums if why and verification.is_clear(url)):
            clear.setdefault(host, []).append(str(resource["name"]))
        if why and resource.get("allow_unverified"):
            sentences.append(
                f"{resource['name']} is accepted unverified: {why}; add a sha256 to its version to verify it"
            )
    return [*sentences, *(_of_host(host, names) for host, names in clear.items())]


def _of_host(host: str, names: t.Sequence[str]) -> str:
    some = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
    return (
        f"http://{host} uses plain HTTP and also provides the checksums, so nothing verifies {some}, and unverified "
        "files are accepted; use https, or give each version a sha256"
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class CacheEntry:
    """One artifact: a row of the table that the artifact_cache module returns."""

    kind: str
    version: str
    path: str
    sha256: str | None
    size: int | None
    """Size in bytes."""
    source: str | None
    """Source URL without its signature."""
    status: Status
    custom: bool
    msg: str = ""
    """Why each source failed. Signatures in URLs are redacted."""


def table(resources: t.Sequence[Resource], answers: Answers, version: str | None) -> list[CacheEntry]:
    """Return a row for each of the artifacts that a node's cache is to contain.

    Args:
        resources: the converged resources.
        answers: the node's results.
        version: the node's version of Windows Server; None if it is unknown.
    """
    entries = []
    for position, resource in enumerate(resources):
        if isinstance(resource, Artifact):
            entries.append(_entry(resource, *answers.of_resource(position), version))
    return entries


def _entry(
    artifact: Artifact, seen: t.Mapping[str, CallResult], applied: t.Mapping[str, CallResult], version: str | None
) -> CacheEntry:
    facts: t.Mapping[str, t.Any] = {}
    status: Status = "missing"
    message = ""
    downloaded = artifact.downloaded(applied)
    if artifact.windows and version not in artifact.windows:
        status = "skipped"
    elif downloaded is not None:
        status, facts = "fetched", downloaded
    elif FETCHED in applied:
        status, message = "failed", artifact.failure(applied)
    elif seen:
        facts = artifact.file_facts(seen)
        status = "cached" if facts else "missing"
    return CacheEntry(
        kind=artifact.kind or "",
        version=artifact.version or "",
        path=artifact.path,
        sha256=facts.get("sha256"),
        size=facts.get("size"),
        source=facts.get("source"),
        status=status,
        custom=artifact.custom,
        msg=message,
    )
