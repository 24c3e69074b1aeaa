# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Arrange release notes as tables, for both the Markdown document and the HTML page (no I/O)."""

from __future__ import annotations

import dataclasses

from .contents import ImageContents, NotedArtifact, NotedComponent


@dataclasses.dataclass(frozen=True, kw_only=True)
class NotesSection:
    """A section of the release notes, with one table."""

    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    right: frozenset[int] = frozenset()
    """Indexes of the columns that are aligned to the right."""
    nothing: str = "none"
    """The text that is shown if the table has no rows."""


def shown_size(size: int | None) -> str:
    """Return a size in bytes as text with a decimal unit.

    >>> shown_size(298_400_000)
    '298.4 MB'
    """
    if size is None:
        return "unknown"
    number, unit = float(size), "B"
    for larger in ("kB", "MB", "GB", "TB"):
        if number < 1000:
            break
        number, unit = number / 1000, larger
    return f"{size} B" if unit == "B" else f"{number:.1f} {unit}"


def summary(contents: ImageContents) -> str:
    """Return a summary of an image's contents in one line, for the terminal."""
    windows = contents.windows
    counts = (
        (len(contents.features), "feature"),
        (len(contents.updates), "update"),
        (len(contents.artifacts), "artifact"),
        (len(contents.container_images), "container image"),
    )
    parts = [f"{count} {name}{'' if count == 1 else 's'}" for count, name in counts]
    return f"{windows.product} {windows.build}, {', '.join(parts)}, {shown_size(contents.disk.free)} free"


def facts(contents: ImageContents) -> tuple[tuple[str, str], ...]:
    """Return the facts at the top of the release notes, as pairs of name and value."""
    windows, disk = contents.windows, contents.disk
    fixes = [fix.state for fix in contents.registry_fixes]
    return (
        ("Release", contents.release),
        ("Built on", contents.host),
        ("Time", contents.time),
        ("Windows", windows.product),
        ("OS build", f"{windows.build}{f' ({windows.display_version})' if windows.display_version else ''}"),
        ("Edition", windows.edition),
        ("Installation type", windows.installation),
        ("Test signing", "on" if windows.test_signing else "off"),
        ("Secure Boot", "on" if windows.secure_boot else "off"),
        ("Container runtime", contents.runtime),
        ("Registry fixes", f"{fixes.count('set')} of {len(fixes)} set"),
        ("Free disk space", f"{shown_size(disk.free)} of {shown_size(disk.total)}"),
    )


def sections(contents: ImageContents) -> tuple[NotesSection, ...]:
    """Return the sections of the release notes in the order in which they are shown."""
    return (
        NotesSection(
            title="Container images",
            head=("image", "digest", "size"),
            rows=tuple(
                (", ".join(image.names), image.digest or "none", shown_size(image.size))
                for image in contents.container_images
            ),
            right=frozenset({2}),
        ),
        NotesSection(
            title="Cached artifacts",
            head=("artifact", "version", "file", "SHA-256", "size", "source", "verified"),
            rows=tuple(_artifact(artifact) for artifact in contents.artifacts),
            right=frozenset({4}),
        ),
        NotesSection(
            title="Versions that a machine may choose",
            head=("component", "in the image", "also available"),
            rows=tuple(_component(component) for component in contents.components),
        ),
        NotesSection(
            title="Windows features",
            head=("feature", "name"),
            rows=tuple((feature.name, feature.display_name) for feature in contents.features),
        ),
        NotesSection(
            title="Installed updates",
            head=("update", "description", "installed on"),
            rows=tuple((update.id, update.description, update.installed_on) for update in contents.updates),
        ),
        NotesSection(
            title="Services",
            head=("service", "start mode", "state"),
            rows=tuple((service.name, service.start_mode, service.state) for service in contents.services),
        ),
        NotesSection(
            title="Registry fixes",
            head=("value", "data", "state", "what it fixes"),
            rows=tuple(
                (f"{fix.path}\\{fix.value_name}", str(fix.expected), fix.state, fix.why)
                for fix in contents.registry_fixes
            ),
            right=frozenset({1}),
            nothing="this version of Windows has none",
        ),
    )


def _component(component: NotedComponent) -> tuple[str, ...]:
    others = [version for version in component.versions if version != component.image]
    return component.title, component.image, ", ".join(others) or "none"


def _artifact(artifact: NotedArtifact) -> tuple[str, ...]:
    source = f"{artifact.source or 'unknown'}{' (custom)' if artifact.custom else ''}"
    name = artifact.path.rpartition("\\")[2]
    verified = "yes" if artifact.verified else "no"
    return (artifact.kind, artifact.version, name, artifact.sha256, shown_size(artifact.size), source, verified)
