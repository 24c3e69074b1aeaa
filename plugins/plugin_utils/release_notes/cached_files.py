# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
r"""Describe the files in an artifact cache by means of their paths, hashes and manifests (no I/O).

A file's path is KIND\VERSION\FILE, or KIND\custom\KEY\FILE if a user set the URL of the file (artifacts/locations.py).
"""

from __future__ import annotations

import json
import typing as t

from ...module_utils.redaction.urls import redact_url
from ..wire.messages import CallResult
from .contents import NotedArtifact

FOLDERS = ("*\\*", "*\\custom\\*")
"""Patterns of the folders that contain artifacts, below the cache folder."""
_MANIFEST = ".manifest.json"
_COMPANIONS = (_MANIFEST, ".checksum")
"""File name endings of the files that are stored next to an artifact and describe it."""


def artifacts(
    cache_dir: str, files: CallResult, hashes: CallResult | None, manifests: CallResult | None
) -> tuple[NotedArtifact, ...]:
    """Return the files in an artifact cache, without their manifests and checksum files.

    Args:
        cache_dir: Windows path of the cache.
        files: result of the call that lists the files (`FullName`, `Length`).
        hashes: result of the call that reads the files' hashes (`Path`, `Hash`); None if it did not run.
        manifests: result of the call that reads the lines of all manifests (`Path`, `Line`); None if it did not run.
    """
    paths = {str(item.get("FullName")).casefold() for item in files.output}
    by_path = {str(item.get("Path")).casefold(): str(item.get("Hash")).lower() for item in _output(hashes)}
    recorded = _manifests(_output(manifests))
    noted = []
    for item in files.output:
        path = str(item.get("FullName"))
        folded = path.casefold()
        if any(folded.endswith(end) and folded.removesuffix(end) in paths for end in _COMPANIONS):
            continue
        size = item.get("Length")
        manifest = recorded.get(f"{folded}{_MANIFEST}", {})
        noted.append(_artifact(cache_dir, path, size, by_path.get(folded, ""), manifest))
    return tuple(sorted(noted, key=lambda one: (one.kind, one.path.casefold())))


def _output(result: CallResult | None) -> tuple[t.Any, ...]:
    return result.output if result is not None and result.ok else ()


def _manifests(lines: t.Iterable[t.Mapping[str, t.Any]]) -> dict[str, t.Mapping[str, t.Any]]:
    """Return a mapping from each manifest's path to its content. Manifests that are not JSON objects are left out."""
    texts: dict[str, list[str]] = {}
    for line in lines:
        texts.setdefault(str(line.get("Path")).casefold(), []).append(str(line.get("Line")))
    manifests: dict[str, t.Mapping[str, t.Any]] = {}
    for path, parts in texts.items():
        try:
            manifest = json.loads("\n".join(parts).removeprefix("\ufeff"))
        except (ValueError, RecursionError):
            continue
        if isinstance(manifest, dict):
            manifests[path] = manifest
    return manifests


def _artifact(cache_dir: str, path: str, size: object, sha256: str, manifest: t.Mapping[str, t.Any]) -> NotedArtifact:
    parts = path[len(cache_dir) :].lstrip("\\").split("\\") if path.casefold().startswith(cache_dir.casefold()) else []
    kind, version = (parts[0], parts[1]) if len(parts) > 2 else ("", "")
    custom = version.casefold() == "custom"
    return NotedArtifact(
        kind=str(manifest.get("kind") or kind or path.rpartition("\\")[2]),
        # The folder of a file with a user's own URL is named after the URL.
        version=str(manifest.get("version") or ("" if custom else version)),
        path=path,
        sha256=sha256,
        size=size if isinstance(size, int) else None,
        source=redact_url(str(manifest.get("source") or "")),
        custom=custom or manifest.get("custom") is True,
        verified=bool(sha256) and str(manifest.get("sha256") or "").lower() == sha256,
    )
