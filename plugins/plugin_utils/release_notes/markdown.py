# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Format an image's release notes as Markdown (no I/O).

Every text that may come from the machine is in a code span, in which Markdown and HTML syntax has no meaning. Only a
grave accent could end the code span, and only a vertical bar could end the table cell. These two characters are
replaced with similar ones. The release notes in JSON contain the exact texts.

Sources: https://spec.commonmark.org/0.31.2/#code-spans and https://github.github.com/gfm/#tables-extension-.
"""

from __future__ import annotations

import typing as t

from ..values.printable import printable
from .contents import ImageContents
from .sections import NotesSection, facts, sections

_REPLACED = {ord("`"): "'", ord("|"): "¦"}


def code(text: str) -> str:
    """Return a string as a code span, or a dash if the string is empty.

    >>> code("a|b")
    '`a¦b`'
    """
    one_line = " ".join(printable(text).split())
    return f"`{one_line.translate(_REPLACED)}`" if one_line else "–"


def markdown(contents: ImageContents) -> str:
    """Return the release notes as a Markdown document."""
    lines = [f"# Release notes of the image {code(contents.release)}", ""]
    lines += _table(("what", "value"), ((name, code(value)) for name, value in facts(contents)))
    for section in sections(contents):
        lines += ["", f"## {section.title} ({len(section.rows)})", "", *_section(section)]
    return "\n".join(lines) + "\n"


def _section(section: NotesSection) -> list[str]:
    if not section.rows:
        return [f"{section.nothing.capitalize()}."]
    rows = (tuple(map(code, row)) for row in section.rows)
    return _table(section.head, rows, section.right)


def _table(
    head: t.Sequence[str], rows: t.Iterable[t.Sequence[str]], right: t.Container[int] = frozenset()
) -> list[str]:
    rule = ["---:" if index in right else "---" for index in range(len(head))]
    return [f"| {' | '.join(row)} |" for row in (head, rule, *rows)]
