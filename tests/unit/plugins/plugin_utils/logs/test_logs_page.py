# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The index page: a row for every node, whatever its result."""

from __future__ import annotations

import html.parser
import re
import typing as t

import pytest
from unit.pages import Tables

from ansible_collections.winkube.node.plugins.plugin_utils.logs import page as logs_page

WINDOWS = {
    "product": "Windows Server 2022 Datacenter",
    "version": "2022",
    "build": 20348,
    "ubr": 2849,
    "pending_reboot": [],
}
GOOD: dict[str, t.Any] = {
    "archive": "/srv/build/logs/win-1.tar.gz",
    "size": 4_200_000,
    "files": 12,
    "problems": [],
    "windows": WINDOWS,
    "versions": {
        "kubelet": "Kubernetes v1.34.2",
        "containerd": "containerd example.com/containerd v2.2.5 x",
    },
    "services_not_running": [],
    "without_log": [],
    "hns": {"networks": 1, "endpoints": 6, "policy_lists": 2, "namespaces": 4, "stale": 0},
}


def rows(**results: t.Any) -> list[dict[str, t.Any]]:
    return [logs_page.entry(name, result, "/srv/build/logs") for name, result in results.items()]


class Reader(html.parser.HTMLParser):
    """Collects the cells of tables, the links, and the elements that are open at the end."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.texts: list[str] = []
        self.open: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in ("meta", "link", "br"):
            self.open.append(tag)
        for name, value in attrs:
            if tag == "a" and name == "href":
                self.links.append(value or "")
            elif name in ("src", "href", "srcset"):
                self.loaded.append(value or "")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if data.strip() and "style" not in self.open:
            self.texts.append(" ".join(data.split()))


def read(**results: t.Any) -> Reader:
    page = logs_page.page(rows(**results), written="Collected now", since="3d")
    reader = Reader(page)
    assert reader.open == []
    # One file without external resources.
    assert reader.loaded == []
    assert not re.search(r"@import|url\(|<script", page)
    return reader


def test_a_node_with_collected_logs() -> None:
    reader = read(win1=GOOD)
    start = reader.texts.index("win1")
    assert reader.texts[start : start + 14] == [
        *("win1", "complete", "4.2 MB", "12 files", "20348.2849", "Server 2022 Datacenter"),
        *("v1.34.2", "v2.2.5", "none", "1", "6", "0", "2", "4"),
    ]
    assert reader.links == ["win-1.tar.gz"]


@pytest.mark.parametrize(
    ("result", "status", "message"),
    [
        ({"unreachable": True, "msg": "connection refused"}, "unreachable", "connection refused"),
        ({"failed": True, "msg": "gather logs: no room", "windows": WINDOWS}, "failed", "gather logs: no room"),
        ({**GOOD, "problems": ["HNS: did not answer"]}, "partial", "HNS: did not answer"),
        (None, "skipped", "an earlier step failed"),
        ({**GOOD, "without_log": ["kubelet"]}, "complete", "kubelet runs without a log"),
        ({**GOOD, "windows": {**WINDOWS, "pending_reboot": ["update"]}}, "complete", "waits for a reboot: update"),
        ({**GOOD, "services_not_running": ["hns (manual)"]}, "complete", "hns (manual)"),
    ],
)
def test_every_node_is_listed_with_its_reason(result: t.Any, status: str, message: str) -> None:
    reader = read(win1=GOOD, win2=result)
    assert [row["status"] for row in rows(win1=GOOD, win2=result)] == ["complete", status]
    assert "win2" in reader.texts
    assert any(message in text for text in reader.texts)


def test_missing_logs_come_first_and_a_hang_is_reported_in_its_row() -> None:
    hangs = {**GOOD, "problems": ["HNS: late"], "hns_problem": "HNS did not respond to Get-HnsEndpoint"}
    plain = {**GOOD, "hns_problem": "this machine has no HNS (the Windows feature Containers is not installed)"}
    reader = read(win1=GOOD, win2=plain, win3=hangs, win4={"unreachable": True, "msg": "refused"})
    names = [text for text in reader.texts if re.fullmatch(r"win\d", text)]
    assert names[:4] == ["win4", "win3", "win1", "win2"]
    assert "HNS did not respond to Get-HnsEndpoint" in reader.texts
    assert "no HNS" in reader.texts
    # Nothing is missing for a machine that has no such program.
    assert rows(win2=plain)[0]["status"] == "complete"


def test_unknown_numbers_are_not_shown_as_zero() -> None:
    unknown = {**GOOD, "hns": {"networks": 1, "endpoints": 6, "policy_lists": 0, "namespaces": 4, "stale": None}}
    reader = read(win1=unknown)
    start = reader.texts.index("win1")
    assert reader.texts[start + 9 : start + 14] == ["1", "6", "–", "0", "4"]


def test_the_archive_of_an_earlier_run_is_not_linked() -> None:
    assert read(win1={"failed": True, "msg": "no", "windows": WINDOWS}).links == []


def test_text_from_a_node_never_becomes_markup() -> None:
    evil = "<script>alert(1)</script>"
    named = {**GOOD, "problems": [evil], "archive": "/srv/build/logs/a b&c.tar.gz"}
    reader = read(**{evil: named})
    assert any(evil in text for text in reader.texts)
    assert reader.links == ["a%20b%26c.tar.gz"]


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("Kubernetes v1.34.2", "v1.34.2"),
        ("containerd github.com/containerd/containerd v1.7.29 4d", "v1.7.29"),
        ("", ""),
    ],
)
def test_versions(text: str, version: str) -> None:
    assert logs_page.version(text) == version


def test_no_table_makes_the_page_wider_than_a_phone() -> None:
    found = Tables()
    found.feed(logs_page.page(rows(), written="now", since="3d"))
    assert found.tables == found.boxed == 2
