# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The messages of a download for each response of a server, and which ones are retried."""

from __future__ import annotations

import dataclasses
import hashlib
import http.server
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from unit import outcomes

from ansible_collections.winkube.node.plugins.plugin_utils.bundle import fetch
from ansible_collections.winkube.node.plugins.plugin_utils.bundle.fetch import Checksum, Fetcher, FetchSource
from ansible_collections.winkube.node.plugins.plugin_utils.bundle.index import BundleError

pytestmark = pytest.mark.waits
DATA = b"0123456789" * 100
PEM = "-----BEGIN CERTIFICATE-----\nx\n-----END CERTIFICATE-----"


@dataclasses.dataclass
class Reply:
    """A response of the server."""

    status: int = 200
    body: bytes = DATA
    headers: dict[str, str] = dataclasses.field(default_factory=dict)
    missing: int = 0
    """The number of bytes at the end of the body that are not sent."""


class Site:
    """A server with scripted responses for each path. The last one repeats."""

    def __init__(self) -> None:
        site = self
        self.replies: dict[str, list[Reply]] = {}
        self.asked: list[tuple[str, dict[str, str]]] = []

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                expected = ("Range", "If-Range", "Authorization", "Accept-Encoding", "User-Agent", "X-Own")
                found = {name: self.headers[name] for name in expected if name in self.headers}
                site.asked.append((self.path, found))
                replies = site.replies[self.path.partition("?")[0].rpartition("/")[2]]
                reply = replies.pop(0) if len(replies) > 1 else replies[0]
                self.send_response(reply.status)
                for name, value in reply.headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(reply.body)))
                self.end_headers()
                self.wfile.write(reply.body[: len(reply.body) - reply.missing])

            def log_message(self, *_arguments: object) -> None:
                """Log nothing."""

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_port}"


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"):
        monkeypatch.delenv(name, raising=False)
    found = Site()
    yield found
    found.server.shutdown()
    found.server.server_close()


def moved(target: str, status: int = 302) -> list[Reply]:
    return [Reply(status, b"", {"Location": target})]


PAGE = b"  <!DOCTYPE html><p>Please log in"
RIGHT = Checksum(algorithm="SHA256", digest=hashlib.sha256(DATA).hexdigest().upper())
CASES: dict[str, tuple[list[Reply], Checksum | None]] = {
    "a file": ([Reply()], None),
    "a file with its checksum": ([Reply()], RIGHT),
    "a file with its long checksum": ([Reply()], Checksum(algorithm="SHA512", digest=hashlib.sha512(DATA).hexdigest())),
    "another file": ([Reply(body=b"other")], RIGHT),
    "a page": ([Reply(body=PAGE)], None),
    "a page in place of a file": ([Reply(body=PAGE)], RIGHT),
    "an empty file": ([Reply(body=b"")], None),
    "nothing there": ([Reply(404)], None),
    "not allowed": ([Reply(401)], None),
    "an error that passes": ([Reply(503), Reply(429), Reply()], None),
    "an error that stays": ([Reply(500)], None),
    "a wait that is asked for": ([Reply(503, headers={"Retry-After": "7"}), Reply()], None),
    "one redirect": (moved("/end"), None),
    "a redirect without a target": ([Reply(302, b"")], None),
    "ten redirects": ([*moved("/file") * 10, Reply()], None),
    "eleven redirects": ([*moved("/file") * 11, Reply()], None),
    "a redirect to a file": (moved("file:///etc/passwd"), None),
    "a connection that breaks off": ([Reply(missing=10), Reply()], None),
    "a connection that always breaks off": ([Reply(missing=10)], None),
    "a part that was not requested": (
        [Reply(missing=990), Reply(206, DATA[5:], {"Content-Range": "bytes 5-999/1000"})],
        RIGHT,
    ),
    "the part that was asked for": (
        [Reply(missing=990), Reply(206, DATA[10:], {"Content-Range": "bytes 10-999/*"})],
        RIGHT,
    ),
    "the whole in place of a part": ([Reply(missing=990, headers={"ETag": '"1"'}), Reply()], RIGHT),
    "a weak mark": ([Reply(missing=990, headers={"ETag": 'W/"1"'}), Reply()], RIGHT),
    "nothing left": ([Reply(missing=1), Reply(416, b"")], RIGHT),
}


def test_each_http_response_has_its_outcome(site: Site, tmp_path: Path) -> None:
    found: dict[str, object] = {}
    for number, (name, (replies, checksum)) in enumerate(CASES.items()):
        site.replies = {"file": [dataclasses.replace(one) for one in replies], "end": [Reply()]}
        site.asked.clear()
        slept: list[float] = []
        target = tmp_path / str(number)
        fetcher = Fetcher(attempts=3, sleep=slept.append)
        try:
            done: object = fetcher.file(FetchSource(url=f"{site.url}/file?sig=s3cret"), target, checksum)
        except BundleError as error:
            done = str(error).replace(site.url, "http://site")
        asked = [{name: value for name, value in one[1].items() if "Range" in name} for one in site.asked]
        found[name] = {"done": done, "slept": slept, "asked": asked, "left": target.exists()}
    outcomes.check("bundle/downloads", found)


def test_each_request_has_the_expected_headers(site: Site, tmp_path: Path) -> None:
    site.replies = {"file": [Reply()]}
    fetcher = Fetcher(attempts=1)
    headers = {"Authorization": "Bearer x", "X-Own": "1"}
    fetcher.file(FetchSource(url=f"{site.url}/file", headers=headers, proxy=""), tmp_path / "a")
    assert site.asked == [("/file", {**headers, "Accept-Encoding": "identity", "User-Agent": "winkube.node"})]
    assert fetcher.bytes == len(DATA)
    # A proxy request contains the whole URL.
    site.asked.clear()
    host = site.url.removeprefix("http://")
    for proxy in (site.url, host):
        source = FetchSource(url="http://far.example/file", proxy=proxy, no_proxy=("other.example",))
        fetcher.file(source, tmp_path / "b")
    assert [path for path, _headers in site.asked] == ["http://far.example/file"] * 2
    with pytest.raises(BundleError, match=r"the name of the host cannot be resolved \(attempts: 1\)"):
        fetcher.file(
            dataclasses.replace(source, url="http://far.invalid/file", no_proxy=("far.invalid",)), tmp_path / "c"
        )


def test_a_host_that_was_named_by_others_is_not_in_the_own_network(site: Site, tmp_path: Path) -> None:
    site.replies = {"file": [Reply()], "far": moved(f"{site.url}/file")}
    source = FetchSource(url=f"{site.url}/file", inside=frozenset())
    with pytest.raises(BundleError, match="it leads to an address that is not public"):
        Fetcher(attempts=1).file(source, tmp_path / "a")
    assert site.asked == []
    Fetcher(attempts=1).file(dataclasses.replace(source, inside=frozenset({"127.0.0.1"})), tmp_path / "a")


def test_documents_have_a_limit(site: Site) -> None:
    site.replies = {"file": [Reply(headers={"X": "y"})]}
    fetcher, source = Fetcher(attempts=1), FetchSource(url=f"{site.url}/file")
    data, headers = fetcher.document(source, limit=len(DATA))
    assert (data, headers["X"]) == (DATA, "y")
    with pytest.raises(BundleError, match="expected at most 999 bytes"):
        fetcher.document(source, limit=999)


def test_a_long_download_reports_progress(site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetch, "_BLOCK", 500_000)
    site.replies = {"file": [Reply(body=b"x" * 2_000_000)]}
    times, lines = iter(range(0, 1000, 6)), []
    fetcher = Fetcher(attempts=1, notify=lines.append, clock=lambda: float(next(times)))
    fetcher.file(FetchSource(url=f"{site.url}/file?sig=1"), tmp_path / "a")
    assert lines == [f"bundle: {site.url}/file: {done} of 2 MB" for done in (1, 2)]


def test_which_authorities_are_trusted(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"):
        monkeypatch.delenv(name, raising=False)
    known = fetch._Authorities()
    source = FetchSource(url="https://h/f")
    assert known.of(source) is True
    assert known.of(dataclasses.replace(source, verify=False, ca=PEM)) is False
    assert known.of(dataclasses.replace(source, ca="/ca.pem")) == "/ca.pem"
    monkeypatch.setenv("CURL_CA_BUNDLE", "/curl.pem")
    assert known.of(source) == "/curl.pem"
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", "/requests.pem")
    assert known.of(source) == "/requests.pem"
    file = known.of(dataclasses.replace(source, ca=PEM))
    assert Path(str(file)).read_text(encoding="ascii") == PEM
    assert known.of(dataclasses.replace(source, ca=PEM)) == file
