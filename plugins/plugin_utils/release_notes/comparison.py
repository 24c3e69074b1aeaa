# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Compare two releases of an image (no I/O)."""

from __future__ import annotations

import dataclasses
import typing as t

from ..values.text_table import text_table
from .contents import ImageContents, NotedArtifact, NotedImage
from .sections import shown_size

Change = t.Literal["added", "removed", "changed"]
HEAD = ("SECTION", "CHANGE", "ITEM", "BEFORE", "AFTER")
_WIDEST = (18, 8, 60, 40)
_SHORT = 19
"""Length of a shortened digest: `sha256:` and 12 digits."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Difference:
    """One difference between two releases."""

    section: str
    item: str
    change: Change
    before: str = ""
    after: str = ""


Items = t.Mapping[str, str]
"""Maps the name of each compared item to a short description of the item."""


def compare(before: ImageContents, after: ImageContents) -> tuple[Difference, ...]:
    """Return the differences between two releases, section by section.

    The free disk space, the identity of the build machine, and the time and place of a build differ in every build.
    They are not compared, and neither is the list of cached versions from which a new machine may choose.

    Args:
        before: the older release.
        after: the newer release.
    """
    earlier, later = _sections(before), _sections(after)
    return tuple(difference for name in earlier for difference in _differences(name, earlier[name], later[name]))


def _sections(contents: ImageContents) -> dict[str, Items]:
    windows = contents.windows
    return {
        "Windows": {
            "product": windows.product,
            "OS build": windows.build,
            "edition": windows.edition,
            "installation type": windows.installation,
            "display version": windows.display_version,
            "test signing": "on" if windows.test_signing else "off",
            "Secure Boot": "on" if windows.secure_boot else "off",
            "container runtime": contents.runtime,
        },
        "Container images": _images(contents.container_images),
        "Cached artifacts": _artifacts(contents.artifacts),
        "Windows features": {one.name: one.display_name or one.name for one in contents.features},
        "Installed updates": {one.id: one.description or one.id for one in contents.updates},
        "Services": {one.name: f"{one.start_mode}, {one.state}" for one in contents.services},
        "Registry fixes": {
            f"{one.path}\\{one.value_name}": f"{one.expected}: {one.state}" for one in contents.registry_fixes
        },
    }


def _images(images: t.Iterable[NotedImage]) -> Items:
    return {
        name: f"{image.digest or 'no digest'} ({shown_size(image.size)})" for image in images for name in image.names
    }


def _artifacts(artifacts: t.Iterable[NotedArtifact]) -> Items:
    items: dict[str, str] = {}
    for artifact in artifacts:
        file = artifact.path.rpartition("\\")[2]
        name = " ".join(part for part in (artifact.kind, artifact.version) if part)
        # A version may have several files, and a user's own file may have the version of an official release.
        own = ", custom" if artifact.custom else ""
        items[f"{name} ({file}{own})"] = f"sha256:{artifact.sha256}"
    return items


def _differences(section: str, before: Items, after: Items) -> t.Iterator[Difference]:
    for item in sorted({*before, *after}, key=str.casefold):
        old, new = before.get(item), after.get(item)
        if old == new:
            continue
        change: Change = "added" if old is None else "removed" if new is None else "changed"
        yield Difference(section=section, item=item, change=change, before=old or "", after=new or "")


def table(differences: t.Sequence[Difference], width: int = 170) -> list[str]:
    """Return the lines of a table of differences for the terminal, with shortened digests.

    Args:
        differences: the differences.
        width: maximum line width; the last column is shortened, but keeps at least 60 characters.
    """
    rows = [(one.section, one.change, one.item, _short(one.before), _short(one.after)) for one in differences]
    return text_table([HEAD, *rows], width=width, widest=_WIDEST)


def _short(text: str) -> str:
    """Return a description whose digest is shortened."""
    if not text.startswith("sha256:"):
        return text
    digest, space, rest = text.partition(" ")
    return f"{digest[:_SHORT]}{space}{rest}"


def counts(differences: t.Sequence[Difference]) -> dict[str, int]:
    """Return the number of differences by kind of change."""
    return {change: sum(1 for one in differences if one.change == change) for change in t.get_args(Change)}


def total(before: ImageContents, after: ImageContents, differences: t.Sequence[Difference]) -> str:
    """Return a summary of the differences in one line, which is printed below the table.

    Args:
        before: the older release.
        after: the newer release.
        differences: the differences.
    """
    number = counts(differences)
    return (
        f"{before.release} ({before.host}) and {after.release} ({after.host}): {number['added']} added, "
        f"{number['removed']} removed, {number['changed']} changed"
    )
