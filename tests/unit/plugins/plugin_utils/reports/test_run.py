# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
from __future__ import annotations

import html.parser

from unit.pages import Tables

from ansible_collections.winkube.node.plugins.plugin_utils.reports.run import Run, Task, page


def task(**changes: object) -> Task:
    values: dict[str, object] = {
        "name": "Converge the node",
        "status": "ok",
        "seconds": 1.5,
        "changed": True,
        "remote_commands": 3,
        "rebooted": False,
        "message": "",
        "changes": [{"type": "File", "name": "C:\\<a>&b", "action": "create", "why": "does not exist"}],
    }
    return Task(**{**values, **changes})  # type: ignore[arg-type]


RUN = Run(
    playbook="site.yml",
    seconds=9.5,
    nodes={"b": [task(), task(changes=[])], "a": [task(status="failed", message="no")]},
)


def test_a_row_for_each_node() -> None:
    first, second = RUN.summary()
    assert (first["node"], second["node"]) == ("a", "b")
    assert second["remote_commands"] == 6
    assert second["changes"] == 2
    assert [item.message for item in first["failed"]] == ["no"]


class Texts(html.parser.HTMLParser):
    """Collects the visible texts of the page, and the tags that load something."""

    def __init__(self) -> None:
        super().__init__()
        self.text = ""
        self.loads: list[str] = []

    def handle_data(self, data: str) -> None:
        self.text += data

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.loads += [tag for name, _ in attrs if name in ("src", "href")]


def test_the_page_is_self_contained_and_escapes_text_of_nodes() -> None:
    texts = Texts()
    texts.feed(page("A <title>", [RUN], [{"title": "T", "head": ["x"], "rows": [["<script>"]]}]))
    assert texts.loads == []
    assert "C:\\<a>&b" in texts.text
    assert "<script>" in texts.text


def test_no_table_makes_the_page_wider_than_a_phone() -> None:
    found = Tables()
    found.feed(page("T", [RUN], [{"title": "T", "head": ["x"], "rows": [["y"]]}]))
    assert found.tables == found.boxed == 3
    assert found.boxes == []


def test_counts_of_one_are_singular() -> None:
    run = Run(playbook="p", seconds=1, nodes={"a": [task(remote_commands=1)]})
    text = " ".join(page("T", [run]).split())
    assert "1 change<" in text
    assert "1 remote command " in text
    assert "6 remote commands" in page("T", [RUN])


def test_a_task_that_changes_no_resource_counts_as_one_change() -> None:
    tasks = [task(), task(changes=[]), task(changes=[], changed=False), task(changes=[{"type": "File"}] * 3)]
    (row,) = Run(playbook="p", seconds=1, nodes={"a": tasks}).summary()
    assert row["changes"] == 1 + 1 + 0 + 3
