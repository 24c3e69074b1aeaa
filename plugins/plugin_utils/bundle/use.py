# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Build the variables that make roles use a bundle, without any I/O."""

from __future__ import annotations

import typing as t

from ..windows.node_paths import TRUSTED_FOLDER
from .index import BundleError, IndexEntry, quoted

PUSHED = f"{TRUSTED_FOLDER}\\bundle"
"""Folder on nodes for uploaded files. Only administrators can create or change files in it."""


def file_url(folder: str) -> str:
    r"""Return the file URL of a folder on a node.

    >>> file_url("C:\Windows")
    'file:///C:/Windows'
    """
    return "file:///" + quoted(folder.replace("\\", "/"))


def site(url: str, entries: t.Iterable[IndexEntry]) -> dict[str, t.Any]:
    """Return an entry of `artifact_sites` for the bundle.

    Nodes reach the bundle without a proxy. The entry sets `overrides`, because the bundle also contains the files
    whose URLs users have set themselves.

    Args:
        url: URL of the bundle for the node.
        entries: entries of the signed index. Nodes verify downloads by the checksums in them.
    """
    apart = ("checksum", "container-image", "patch")
    digests = {entry.path: entry.sha256 for entry in entries if entry.kind not in apart}
    return {"url": url, "overrides": True, "proxy": "", "digests": digests, **_revocation(url)}


def _revocation(url: str) -> dict[str, bool]:
    """Return the setting `ignore_revocation` for an HTTPS URL. Windows cannot get revocation lists when offline."""
    return {"ignore_revocation": True} if url.startswith("https:") else {}


def images(entries: t.Iterable[IndexEntry], url: str) -> dict[str, list[dict[str, t.Any]]]:
    """Return the archives of the container images in a bundle, by image reference.

    Each archive has its URL, Windows versions, SHA-256 and size.

    Args:
        entries: entries of the index.
        url: URL of the bundle for the node.
    """
    by_name: dict[str, list[dict[str, t.Any]]] = {}
    for entry in sorted(entries, key=lambda entry: entry.path):
        if entry.kind == "container-image":
            archive = {
                "windows": list(entry.windows),
                "url": f"{url}/{quoted(entry.path)}",
                "sha256": entry.sha256,
                "size": entry.size,
                **_revocation(url),
            }
            by_name.setdefault(entry.name, []).append(archive)
    return by_name


def patches(entries: t.Iterable[IndexEntry], base: str) -> dict[str, str]:
    """Return the locations of the patch files in a bundle, by SHA-256.

    Args:
        entries: entries of the index.
        base: URL of the bundle, or its folder on the controller.
    """
    quote = quoted if "://" in base else str
    return {entry.sha256: f"{base}/{quote(entry.path)}" for entry in entries if entry.kind == "patch"}


def bundled_patches(entries: t.Sequence[t.Any], locations: t.Mapping[str, str]) -> list[t.Any]:
    """Return a list of patches in which each patch that the bundle contains has its location in the bundle.

    Args:
        entries: entries of `windows_patches_private`.
        locations: locations of patch files by SHA-256, as returned by `patches`.
    """
    return [_bundled(entry, locations) if isinstance(entry, t.Mapping) else entry for entry in entries]


def _bundled(entry: t.Mapping[str, t.Any], locations: t.Mapping[str, str]) -> dict[str, t.Any]:
    changed = dict(entry)
    location = locations.get(str(entry.get("sha256") or "").strip().lower().removeprefix("sha256:"))
    if location is not None and (entry.get("file") or entry.get("url")):
        changed = {key: value for key, value in changed.items() if key not in ("file", "url")}
        changed["url" if "://" in location else "file"] = location
    if isinstance(entry.get("requires"), list):
        changed["requires"] = bundled_patches(entry["requires"], locations)
    return changed


def windows_path(folder: str, entry: IndexEntry) -> str:
    """Return an uploaded file's path on the node.

    Raises:
        BundleError: the path contains a colon, which is not allowed in file names on Windows.
    """
    if ":" in entry.path:
        raise BundleError(
            f"{entry.path}: expected a URL without a port and without an IPv6 address, because the host becomes the "
            "name of a folder on Windows. Change the URL, or set bundle_push: false"
        )
    return "\\".join((folder, *entry.path.split("/")))
