# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The catalogue of artifacts: where upstream publishes a kind's version, and where it lies in a node's cache.

Private to the collection.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import typing as t
import urllib.parse

from .versions import DATA


class UnknownKindError(ValueError):
    """A kind that is neither in the catalogue nor given with a URL."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class ArtifactSource:
    """One version of one kind: where it comes from and where it goes."""

    kind: str
    version: str
    url: str
    checksum_url: str
    """Empty where the publisher offers none."""
    path: str
    """Windows path of the file in the node's cache."""


@functools.cache
def catalogue() -> t.Mapping[str, t.Mapping[str, str]]:
    """The kinds that come with the collection."""
    data = json.loads((DATA / "artifacts.json").read_text(encoding="utf-8"))
    return t.cast("t.Mapping[str, t.Mapping[str, str]]", data["kinds"])


def mirrored(url: str, mirror: str) -> str:
    """A URL of upstream at a mirror that keeps upstream's host as its first folder.

    >>> mirrored("https://dl.k8s.io/v1.37.1/a.tar.gz", "http://mirror:8080/")
    'http://mirror:8080/dl.k8s.io/v1.37.1/a.tar.gz'
    """
    if not mirror:
        return url
    parts = urllib.parse.urlsplit(url)
    return f"{mirror.rstrip('/')}/{parts.netloc}{parts.path}"


def locate(kind: str, version: str, *, cache_dir: str, mirror: str = "", url: str = "") -> ArtifactSource:
    """Where a version of a kind is found and cached.

    Args:
        kind: a kind of the catalogue, or any name if `url` is given.
        version: its version, without `v`.
        cache_dir: Windows path of the node's cache folder.
        mirror: base URL of a mirror; empty: upstream itself.
        url: replaces the catalogue's URL (a signed component); it comes without a checksum file.

    Raises:
        UnknownKindError: the kind is not in the catalogue and no URL is given.
    """
    version = str(version).removeprefix("v")
    if url:
        source, checksum = url, ""
    elif kind in catalogue():
        entry = catalogue()[kind]
        source = mirrored(entry["url"].format(version=version), mirror)
        checksum = source + entry["checksum_suffix"] if entry["checksum_suffix"] else ""
    else:
        known = ", ".join(sorted(catalogue()))
        raise UnknownKindError(f"artifact kind {kind!r} is not known; accepted are {known}, or any kind with a URL")
    name = urllib.parse.unquote(urllib.parse.urlsplit(source).path.rsplit("/", 1)[-1])
    return ArtifactSource(
        kind=kind,
        version=version,
        url=source,
        checksum_url=checksum,
        path="\\".join((cache_dir.rstrip("\\"), kind, version, name)),
    )


def unverified(values: t.Mapping[str, t.Any], roles: t.Collection[str]) -> list[str]:
    """Which downloads nothing verifies, and the variable that would: a sentence each, the same for all hosts.

    Args:
        values: the roles' variables, as far as they are set.
        roles: roles whose artifacts are downloaded.
    """
    found = []
    for kind, entry in catalogue().items():
        variables = entry["variables"]
        only, dummy, wanted = entry.get("only", "").partition("=")
        unused = not any(variables.startswith(f"{role}_") or variables == role for role in roles)
        if unused or values.get(f"{variables}_sha256") or (only and values.get(only) != wanted):
            continue
        # The URL itself may carry a signature.
        if values.get(f"{variables}_url"):
            why = f"{variables}_url comes without a checksum"
        elif not entry["checksum_suffix"]:
            why = f"upstream publishes no checksum of {kind}"
        else:
            continue
        found.append(f"{why}: its archive is accepted unverified; {variables}_sha256 verifies it")
    return found
