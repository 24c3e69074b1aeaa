# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Inspecting HTML pages in tests."""

from __future__ import annotations

import html.parser


class Tables(html.parser.HTMLParser):
    """Counts the tables of a page, and those in a scrolling box."""

    def __init__(self) -> None:
        super().__init__()
        self.boxes: list[bool] = []
        self.tables = self.boxed = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "div":
            self.boxes.append(dict(attrs).get("class") == "wide")
        elif tag == "table":
            self.tables += 1
            self.boxed += any(self.boxes)

    def handle_endtag(self, tag: str) -> None:
        if tag == "div":
            self.boxes.pop()
