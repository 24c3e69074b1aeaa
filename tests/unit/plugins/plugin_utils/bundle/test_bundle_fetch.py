# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Downloading a bundle's files from servers that redirect, break connections, or change the file in the meantime."""

from __future__ import annotations

import hashlib
import http.server
import threading
import typing as t
from collections.abc import Iterator
from pathlib import Path

import pytest

from ansible_collections.winkube.node.plugins.plugin_utils.bundle.fetch import (
    Checksum,
    ContentError,
    Fetcher,
    FetchSource,
)

OLD, NEW = b"o" * 3000, b"n" * 4000
SECRET = "Bearer s3cret"


class Server(http.server.ThreadingHTTPServer):
    """A server that supports ranges, with and without ETags, and records the requests."""

    def __init__(self, address: str) -> None:
        super().__init__((address, 0), Handler)
        self.asked: list[dict[str, str]] = []
        self.content, self.tag = NEW, '"new"'
        self.moved = ""
        """The target of its redirect."""
        self.cut = 0
        """The number of bytes after which the first response breaks off. After that, the server has a new file."""
        threading.Thread(target=self.serve_forever, args=(0.01,), daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://{self.server_address[0]}:{self.server_address[1]}/file"


class Handler(http.server.BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        server = self.server
        server.asked.append(dict(self.headers))
        if server.moved:
            self.send_response(302)
            self.send_header("Location", server.moved)
            self.end_headers()
            return
        start = int(self.headers.get("Range", "bytes=0-").removeprefix("bytes=").rstrip("-"))
        # RFC 9110, 13.1.5: if If-Range identifies another file, the whole current file is sent.
        start = start if self.headers.get("If-Range", server.tag) == server.tag else 0
        self.send_response(206 if start else 200)
        if start:
            self.send_header("Content-Range", f"bytes {start}-{len(server.content) - 1}/{len(server.content)}")
        self.send_header("ETag", server.tag)
        self.send_header("Content-Length", str(len(server.content) - start))
        self.end_headers()
        if not server.cut:
            self.wfile.write(server.content[start:])
            return
        self.wfile.write(server.content[start : start + server.cut])
        server.cut, server.content, server.tag = 0, NEW, '"new"'

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class names it
        """Log nothing."""


@pytest.fixture
def servers() -> Iterator[tuple[Server, Server]]:
    """Yield two servers on different hosts."""
    found = Server("127.0.0.1"), Server("127.0.0.2")
    yield found
    for one in found:
        one.shutdown()
        one.server_close()


def fetcher() -> Fetcher:
    return Fetcher(attempts=3, sleep=lambda _: None)


def source(url: str, **more: t.Any) -> FetchSource:
    return FetchSource(url=url, headers={"Authorization": SECRET}, proxy="", **more)


def sha256(content: bytes) -> Checksum:
    return Checksum(algorithm="SHA256", digest=hashlib.sha256(content).hexdigest())


def test_credentials_do_not_follow_to_another_host(servers: tuple[Server, Server], tmp_path: Path) -> None:
    first, second = servers
    first.moved = second.url
    assert fetcher().document(source(first.url))[0] == NEW
    fetcher().file(source(first.url), tmp_path / "file", sha256(NEW))
    assert [asked.get("Authorization") for asked in first.asked] == [SECRET, SECRET]
    assert [asked.get("Authorization") for asked in second.asked] == [None, None]


def test_an_unverified_file_is_downloaded_from_its_beginning(servers: tuple[Server, Server], tmp_path: Path) -> None:
    target = tmp_path / "file"
    target.write_bytes(OLD)
    fetcher().file(source(servers[0].url), target)
    assert target.read_bytes() == NEW
    assert "Range" not in servers[0].asked[0]


@pytest.mark.parametrize("verified", [True, False])
def test_a_file_that_changes_during_its_download_is_downloaded_again(
    servers: tuple[Server, Server], tmp_path: Path, verified: bool
) -> None:
    server, target = servers[0], tmp_path / "file"
    server.content, server.tag, server.cut = OLD, '"old"', 1000
    fetcher().file(source(server.url), target, sha256(NEW) if verified else None)
    assert target.read_bytes() == NEW
    assert [asked.get("If-Range") for asked in server.asked] == [None, '"old"']


def test_a_file_that_stays_wrong_is_removed(servers: tuple[Server, Server], tmp_path: Path) -> None:
    server, target = servers[0], tmp_path / "file"
    target.write_bytes(OLD)
    with pytest.raises(ContentError):
        fetcher().file(source(server.url), target, sha256(b"expected"))
    assert ["Range" in asked for asked in server.asked] == [True, False]
    assert not target.exists()
