# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Write release notes, and the differences between two releases of an image, as self-contained HTML pages."""

from __future__ import annotations

import typing as t

import jinja2

from ..values.printable import all_printable
from ..values.versions import DATA
from .comparison import Difference
from .contents import ImageContents
from .sections import facts, sections


def notes_page(contents: ImageContents) -> str:
    """Return the HTML page with the release notes of an image."""
    shown = [
        {
            "title": section.title,
            "head": section.head,
            "rows": all_printable(section.rows),
            "right": sorted(section.right),
            "nothing": section.nothing,
        }
        for section in sections(contents)
    ]
    return _rendered(
        "release_notes.html.j2",
        title=f"Release notes of the image {contents.release}",
        facts=all_printable(facts(contents)),
        sections=shown,
    )


def comparison_page(before: ImageContents, after: ImageContents, differences: t.Sequence[Difference]) -> str:
    """Return the HTML page that shows the differences between two releases of an image.

    Args:
        before: the older release.
        after: the newer release.
        differences: all differences, in the order in which the page shows them.
    """
    groups: dict[str, list[Difference]] = {}
    for difference in differences:
        groups.setdefault(difference.section, []).append(difference)
    return _rendered(
        "image_comparison.html.j2",
        title=f"Changes from {before.release} to {after.release}",
        releases=[all_printable(facts(one)) for one in (before, after)],
        groups=groups,
        total=len(differences),
    )


def _rendered(template: str, **values: t.Any) -> str:
    environment = jinja2.Environment(loader=jinja2.FileSystemLoader(DATA), autoescape=True)
    return environment.get_template(template).render(**values)
