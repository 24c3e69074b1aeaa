# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""How a node gets what a bundle has: the variables that lead its roles there. Pure."""

from __future__ import annotations

import typing as t

from .index import BundleError, IndexEntry, quoted

PUSHED = "C:\\Windows\\winkube\\bundle"
"""Where pushed files lie: nobody but administrators makes or changes a file there."""


def file_url(folder: str) -> str:
    r"""A folder of the node as a URL.

    >>> file_url("C:\Windows")
    'file:///C:/Windows'
    """
    return "file:///" + quoted(folder.replace("\\", "/"))


def site(url: str, entries: t.Iterable[IndexEntry]) -> dict[str, t.Any]:
    """The bundle as one of `artifact_sites`: it has users' own URLs too, and no proxy leads to it.

    Args:
        url: of the bundle, as the node reaches it.
        entries: of the signed index, which vouches for every file: nothing else that came the same way would.
    """
    apart = ("checksum", "container-image", "patch")
    digests = {entry.path: entry.sha256 for entry in entries if entry.kind not in apart}
    return {"url": url, "overrides": True, "proxy": "", "digests": digests, **_revocation(url)}


def _revocation(url: str) -> dict[str, bool]:
    """Windows asks for revocation lists, which such a site cannot reach, and private authorities often have none."""
    return {"ignore_revocation": True} if url.startswith("https:") else {}


def images(entries: t.Iterable[IndexEntry], url: str) -> dict[str, list[dict[str, t.Any]]]:
    """The container images' archives by reference.

    Args:
        entries: of the index.
        url: of the bundle, as the node reaches it.
    """
    found: dict[str, list[dict[str, t.Any]]] = {}
    for entry in sorted(entries, key=lambda entry: entry.path):
        if entry.kind == "container-image":
            archive = {
                "windows": list(entry.windows),
                "url": f"{url}/{quoted(entry.path)}",
                "sha256": entry.sha256,
                "size": entry.size,
                **_revocation(url),
            }
            found.setdefault(entry.name, []).append(archive)
    return found


def patches(entries: t.Iterable[IndexEntry], base: str) -> dict[str, str]:
    """Where patches' files are, by SHA-256.

    Args:
        entries: of the index.
        base: URL of the bundle, or its folder on the controller.
    """
    quote = quoted if "://" in base else str
    return {entry.sha256: f"{base}/{quote(entry.path)}" for entry in entries if entry.kind == "patch"}


def bundled_patches(entries: t.Sequence[t.Any], found: t.Mapping[str, str]) -> list[t.Any]:
    """The list of patches with the files that a bundle has taken from there.

    Args:
        entries: as `windows_patches_private` has them.
        found: of `patches`.
    """
    return [_bundled(entry, found) if isinstance(entry, t.Mapping) else entry for entry in entries]


def _bundled(entry: t.Mapping[str, t.Any], found: t.Mapping[str, str]) -> dict[str, t.Any]:
    changed = dict(entry)
    place = found.get(str(entry.get("sha256") or "").strip().lower().removeprefix("sha256:"))
    if place is not None and (entry.get("file") or entry.get("url")):
        changed = {key: value for key, value in changed.items() if key not in ("file", "url")}
        changed["url" if "://" in place else "file"] = place
    if isinstance(entry.get("requires"), list):
        changed["requires"] = bundled_patches(entry["requires"], found)
    return changed


def windows_path(folder: str, entry: IndexEntry) -> str:
    """Where a file of the bundle lies on a node that it is pushed to.

    Raises:
        BundleError: Windows has no such file names.
    """
    if ":" in entry.path:
        raise BundleError(
            f"{entry.path} cannot be pushed: its host has a port, and Windows has no such folder; "
            "accepted is a URL without one, or bundle_push: false"
        )
    return "\\".join((folder, *entry.path.split("/")))
