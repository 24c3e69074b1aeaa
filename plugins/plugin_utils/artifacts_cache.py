# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Lists of versions by kind as resources of a node, and what is in its cache as a table.

Private to the collection.
"""

from __future__ import annotations

import dataclasses
import typing as t

from . import artifacts
from .artifacts_catalogue import ArtifactError
from .calls import CallResult
from .plan import prefix
from .resources._base import Resource
from .resources._downloads import FETCHED
from .resources.artifact import Artifact

Status = t.Literal["cached", "fetched", "missing", "failed", "skipped"]
"""Of an artifact: was there and is right; was fetched; would be fetched (check mode); could not be; not for this
Windows."""
_KEYS = ("version", "url", "sha256")


def wanted(
    lists: object,
    where: str = "artifacts",
    *,
    cache_dir: str,
    prune: bool = False,
    keep: t.Iterable[str] = (),
    **options: t.Any,
) -> list[dict[str, t.Any]]:
    """Resources for lists of versions.

    Args:
        lists: versions by kind; a version is text, or a mapping with `version` and, optional, `url` and `sha256`.
        where: the variable that holds them, for messages.
        cache_dir: Windows path of the node's cache folder.
        prune: whether all other versions go.
        keep: files of the cache that stay all the same.
        options: as `artifacts.resource`.

    Returns:
        One resource for each version, each once, in order, and one more for `prune`.

    Raises:
        ArtifactError: one of these cannot be.
    """
    if not isinstance(lists, t.Mapping):
        raise ArtifactError(where, lists, "accepted is a mapping of kinds to lists of versions")
    found: dict[str, dict[str, t.Any]] = {}
    for kind, versions in lists.items():
        if isinstance(versions, (str, t.Mapping)) or not isinstance(versions, t.Sequence):
            raise ArtifactError(f"{where}.{kind}", versions, "accepted is a list of versions")
        for index, version in enumerate(versions):
            resource = _resource(kind, version, f"{where}.{kind}[{index}]", cache_dir=cache_dir, **options)
            found.setdefault(resource["path"].casefold(), resource)
    resources = list(found.values())
    if prune:
        stay = [*(resource["path"] for resource in resources), *keep]
        resources.append({"type": "ArtifactCache", "name": cache_dir, "keep": stay})
    return resources


def _resource(kind: str, item: object, where: str, **options: t.Any) -> dict[str, t.Any]:
    given = item if isinstance(item, t.Mapping) else {"version": item}
    for key in given:
        if key not in _KEYS:
            raise ArtifactError(f"{where}.{key}", given[key], f"accepted are {', '.join(_KEYS)}")
    if not isinstance(given.get("version"), str):
        raise ArtifactError(where, given.get("version"), 'accepted is a version in quotes, such as "1.37.1"')
    own = {key: str(given.get(key) or "") for key in ("url", "sha256")}
    try:
        return artifacts.resource(kind, str(given["version"]), **{**options, **own})
    except ArtifactError as error:
        raise error.within(where) from None


def unverified(resources: t.Iterable[t.Mapping[str, t.Any]]) -> list[str]:
    """Which of the resources nothing verifies: a sentence each."""
    return [
        f"{resource['name']} is accepted unverified: "
        + ("a URL of one's own comes without a checksum" if resource.get("custom") else "its publisher has no checksum")
        + "; sha256 beside its version verifies it"
        for resource in resources
        if resource.get("allow_unverified")
    ]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Entry:
    """One line of the table."""

    kind: str
    version: str
    path: str
    sha256: str | None
    size: int | None
    """Bytes."""
    source: str | None
    """Without signature."""
    status: Status
    custom: bool


def table(
    resources: t.Sequence[Resource],
    seen: t.Callable[[Resource, int], t.Mapping[str, CallResult]],
    applied: t.Mapping[str, CallResult],
    version: str | None,
) -> list[Entry]:
    """What is in the cache, artifact by artifact.

    Args:
        resources: as they were converged.
        seen: what the node said of a resource at a position.
        applied: results of the changes' calls.
        version: of Windows Server.
    """
    entries = []
    for position, resource in enumerate(resources):
        if isinstance(resource, Artifact):
            mine = {
                key[len(prefix(position)) :]: value
                for key, value in applied.items()
                if key.startswith(prefix(position))
            }
            entries.append(_entry(resource, seen(resource, position), mine, version))
    return entries


def _entry(
    artifact: Artifact, seen: t.Mapping[str, CallResult], applied: t.Mapping[str, CallResult], version: str | None
) -> Entry:
    facts: t.Mapping[str, t.Any] = {}
    status: Status = "missing"
    brought = artifact.brought(applied)
    if artifact.windows and version not in artifact.windows:
        status = "skipped"
    elif brought is not None:
        status, facts = "fetched", brought
    elif FETCHED in applied:
        status = "failed"
    else:
        facts = artifact.held(seen)
        status = "cached" if facts else "missing"
    return Entry(
        kind=artifact.kind or "",
        version=artifact.version or "",
        path=artifact.path,
        sha256=facts.get("sha256"),
        size=facts.get("size"),
        source=facts.get("source"),
        status=status,
        custom=artifact.custom,
    )
