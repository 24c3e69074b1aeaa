# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Which downloads nothing verifies: no checksum at all, or one from the plain-HTTP place that it is to check."""

from __future__ import annotations

import typing as t
import urllib.parse

from ..downloads import curl
from . import sites as artifacts_sites
from .catalogue import ArtifactError, Kind, catalogue

VARIABLE = "artifact_verify"
WARN, STRICT = "warn", "strict"


class Unverified(t.NamedTuple):
    """Something that nothing verifies."""

    variable: str
    value: str
    """As it may be shown."""
    why: str
    fix: str

    def __str__(self) -> str:
        return f"{self.why}: accepted unverified; {self.fix}"


def check_mode(verify: object) -> None:
    """Checks the value of `artifact_verify`.

    Raises:
        ArtifactError: there is no such value.
    """
    if verify not in (WARN, STRICT):
        raise ArtifactError(VARIABLE, verify, f"accepted are {WARN} and {STRICT}")


def is_clear(url: str) -> bool:
    """Whether whoever is on the way can change what a URL brings."""
    return url.lower().startswith("http:")


def host(url: str) -> str:
    """Host and port of a URL."""
    return urllib.parse.urlsplit(url).netloc.rpartition("@")[2]


def why_not(sha256: str, checksum_urls: t.Iterable[str], *, custom: bool) -> str:
    """Why nothing verifies a download; empty where something does.

    Args:
        sha256: pinned, or vouched for by a site.
        checksum_urls: the checksum file of each place that is asked; empty where it has none.
        custom: it is a user's own URL.
    """
    urls = list(checksum_urls)
    if sha256:
        return ""
    if custom:
        return "a URL of one's own comes without a checksum"
    if not any(urls):
        return "its publisher has no checksum"
    clear = next((url for url in urls if is_clear(url)), "")
    return f"its checksum comes over plain HTTP as well ({curl.redacted(clear)})" if clear else ""


def of_roles(values: t.Mapping[str, t.Any], roles: t.Collection[str]) -> list[Unverified]:
    """What nothing verifies of the artifacts that roles install, the same for all hosts.

    Args:
        values: the roles' variables, as far as they are set.
        roles: roles whose artifacts are downloaded.
    """
    found: list[Unverified] = []
    clear: dict[str, list[Kind]] = {}
    for kind in _used(values, roles):
        # The URL itself may carry a signature.
        if values.get(f"{kind.variables}_url"):
            why = f"{kind.variables}_url comes without a checksum"
        elif not (kind.checksum_suffix or kind.checksum_url):
            why = f"upstream publishes no checksum of {kind.name}"
        else:
            for site in _clear_sites(kind, values):
                clear.setdefault(curl.redacted(site.url), []).append(kind)
            continue
        pin = f"{kind.variables}_sha256"
        found.append(Unverified(pin, "", why, f"{pin} verifies it"))
    return [*found, *(_of_site(url, kinds) for url, kinds in clear.items())]


def _of_site(url: str, kinds: t.Sequence[Kind]) -> Unverified:
    names = ", ".join(kind.name for kind in kinds)
    pins = ", ".join(f"{kind.variables}_sha256" for kind in kinds)
    why = f"{url} is plain HTTP, and the checksums come from there as well, so nothing verifies {names}"
    return Unverified("artifact_sites", url, why, f"use https, or pin them ({pins})")


def _used(values: t.Mapping[str, t.Any], roles: t.Collection[str]) -> t.Iterator[Kind]:
    """The kinds that roles install and nobody pins."""
    for kind in catalogue().values():
        if not kind.variables or not any(
            kind.variables == role or kind.variables.startswith(f"{role}_") for role in roles
        ):
            continue
        only, dummy, wanted = kind.only.partition("=")
        if values.get(f"{kind.variables}_sha256") or (only and str(values.get(only)) not in wanted.split(",")):
            continue
        version = str(values.get(f"{kind.variables}_version", "")).removeprefix("v")
        if version in kind.digests and not values.get(f"{kind.variables}_url"):
            continue
        yield kind


def _clear_sites(kind: Kind, values: t.Mapping[str, t.Any]) -> list[artifacts_sites.ArtifactSite]:
    """The sites that a kind is asked for over plain HTTP, its checksum too; none where a site vouches for it."""
    role = next((name for name in values if name.endswith("_artifact_sources") and _is_of(kind, name)), "")
    sources = values.get(role) or {}
    mirror = values.get(role.replace("_artifact_sources", "_artifact_mirror")) or ""
    places = artifacts_sites.parse(sources.get("sites"), str(mirror)) if isinstance(sources, t.Mapping) else ()
    version = str(values.get(f"{kind.variables}_version", "")).removeprefix("v")
    published = kind.filled(kind.url, version)
    if any(site.digest(published) for site in places):
        return []
    return [site for site in places if is_clear(site.url)]


def _is_of(kind: Kind, sources: str) -> bool:
    role = sources.removesuffix("_artifact_sources")
    return kind.variables == role or kind.variables.startswith(f"{role}_")
