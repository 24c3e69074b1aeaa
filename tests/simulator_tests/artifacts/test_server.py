# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The artifact server over HTTP: ranges, conditions, counters, faults, HTTPS."""

from __future__ import annotations

import concurrent.futures
import http.client
import io
import json
import ssl
import subprocess
import sys
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from simulator.artifacts import ArtifactServer
from simulator.artifacts.certificates import PrivateCA

pytestmark = pytest.mark.waits

TESTS = Path(__file__).parents[2]
FILE = "/example.com/file.bin"
CONTENT = bytes(range(256)) * 400


@pytest.fixture
def server() -> Iterator[ArtifactServer]:
    with ArtifactServer() as running:
        running.put(FILE, CONTENT)
        yield running


def ask(
    server: ArtifactServer, path: str = FILE, method: str = "GET", **headers: str
) -> tuple[int, dict[str, str], bytes]:
    connection = http.client.HTTPConnection(server.address, server.port, timeout=60)
    try:
        connection.request(method, path, headers={name.replace("_", "-"): value for name, value in headers.items()})
        answer = connection.getresponse()
        return answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read()
    finally:
        connection.close()


def test_a_file_comes_whole_with_its_size_and_tag(server: ArtifactServer) -> None:
    status, headers, body = ask(server)
    assert (status, body) == (200, CONTENT)
    assert headers["content-length"] == str(len(CONTENT))
    assert headers["accept-ranges"] == "bytes"
    assert ask(server, If_None_Match=headers["etag"])[0] == 304


def test_head_has_the_headers_alone(server: ArtifactServer) -> None:
    status, headers, body = ask(server, method="HEAD")
    assert (status, headers["content-length"], body) == (200, str(len(CONTENT)), b"")


@pytest.mark.parametrize(
    ("header", "status", "start", "stop"),
    [
        ("bytes=0-9", 206, 0, 10),
        ("bytes=100-", 206, 100, len(CONTENT)),
        ("bytes=-5", 206, len(CONTENT) - 5, len(CONTENT)),
        ("bytes=10-99999999", 206, 10, len(CONTENT)),
        ("bytes=999999999-", 416, 0, 0),
        ("lines=1-2", 200, 0, len(CONTENT)),
        ("bytes=5-2", 200, 0, len(CONTENT)),
        ("bytes=0-1,5-6", 200, 0, len(CONTENT)),
    ],
)
def test_ranges(server: ArtifactServer, header: str, status: int, start: int, stop: int) -> None:
    answer = ask(server, Range=header)
    assert (answer[0], answer[2]) == (status, CONTENT[start:stop])


def test_a_range_of_a_file_that_has_changed_is_the_whole_file(server: ArtifactServer) -> None:
    assert ask(server, Range="bytes=5-", If_Range='"other"')[::2] == (200, CONTENT)


def test_a_proxy_request_gets_the_same_file(server: ArtifactServer) -> None:
    assert ask(server, "http://example.com/file.bin")[::2] == (200, CONTENT)
    assert ask(server, server.url + FILE)[::2] == (200, CONTENT)


def test_counters_by_path(server: ArtifactServer) -> None:
    ask(server)
    ask(server, Range="bytes=0-9")
    ask(server, "/example.com/none")
    status = json.loads(ask(server, "/simulator/status")[2])
    assert status["requests"][FILE] == 2
    assert status["bytes"][FILE] == len(CONTENT) + 10
    assert status["requests"]["/example.com/none"] == 1


def test_a_failing_status_is_sent_as_often_as_requested(server: ArtifactServer) -> None:
    server.fault("status", "*.bin", status=429, retry_after=7, times=2)
    assert [ask(server)[0] for _ in range(3)] == [429, 429, 200]
    server.fault("status", status=401, retry_after=7)
    status, headers, _ = ask(server)
    assert (status, headers["retry-after"], "www-authenticate" in headers) == (401, "7", True)


def test_a_cut_connection_is_noticed_by_the_client(server: ArtifactServer) -> None:
    server.fault("cut", at=1000, times=1)
    with pytest.raises(http.client.IncompleteRead) as error:
        ask(server)
    assert error.value.partial == CONTENT[:1000]
    assert ask(server)[2] == CONTENT


def test_a_truncated_file_is_not(server: ArtifactServer) -> None:
    server.fault("truncated", at=1000)
    assert ask(server)[::2] == (200, CONTENT[:1000])


def test_wrong_bytes_and_a_captive_portal(server: ArtifactServer) -> None:
    server.fault("wrong", times=1)
    _, _, body = ask(server)
    assert len(body) == len(CONTENT)
    assert body != CONTENT
    server.fault("html")
    status, headers, body = ask(server)
    assert (status, headers["content-type"]) == (200, "text/html")
    assert b"<html>" in body


def test_a_slow_answer_takes_its_time(server: ArtifactServer) -> None:
    server.fault("slow", rate=len(CONTENT) * 2)
    start = time.monotonic()
    assert ask(server)[2] == CONTENT
    assert 0.4 < time.monotonic() - start < 5


def test_a_connection_may_be_cut_before_and_in_the_head(server: ArtifactServer) -> None:
    for at in (-1, -9):
        server.fault("cut", at=at, times=1)
        with pytest.raises((http.client.RemoteDisconnected, http.client.BadStatusLine, http.client.IncompleteRead)):
            ask(server)
    assert ask(server)[2] == CONTENT


def test_an_archive_that_wants_out(server: ArtifactServer) -> None:
    server.put("example.com/a.zip", b"")
    server.fault("unsafe")
    with zipfile.ZipFile(io.BytesIO(ask(server, "/example.com/a.zip")[2])) as archive:
        assert {"../outside.txt", "/outside.txt", "C:/outside.txt"} < set(archive.namelist())


def test_a_site_with_a_user() -> None:
    with ArtifactServer(user="ci:secret") as server:
        server.put(FILE, CONTENT)
        status, headers, _ = ask(server)
        assert (status, headers["www-authenticate"]) == (401, 'Basic realm="artifacts"')
        assert ask(server, Authorization="Basic Y2k6c2VjcmV0")[2] == CONTENT


def test_a_storage_account_wants_its_whole_signature() -> None:
    with ArtifactServer(query="sv=2024-11-04&sig=a%2Fb%3D") as server:
        server.put(FILE, CONTENT)
        status, headers, body = ask(server, FILE + "?sv=2024-11-04&sig=other")
        assert (status, headers["x-ms-error-code"], b"<Code>" in body) == (403, "AuthenticationFailed", True)
        assert ask(server, FILE + "?sig=a%2Fb%3D&sv=2024-11-04")[2] == CONTENT


def test_connections_are_limited_each_and_counted_together() -> None:
    with ArtifactServer(rate=len(CONTENT) * 4) as server:
        server.put(FILE, CONTENT)
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            assert [answer[2] for answer in pool.map(lambda _: ask(server), range(4))] == [CONTENT] * 4
        status = server.status()
        assert (status["most_at_once"], status["total"]) == (4, 4)
        server.reset()
        assert server.status()["total"] == 0


def test_redirects(server: ArtifactServer) -> None:
    server.fault("loop", times=1)
    status, headers, _ = ask(server)
    assert (status, headers["location"]) == (302, FILE)
    server.fault("redirect", location="http://127.0.0.1:1/x")
    assert ask(server)[1]["location"] == "http://127.0.0.1:1/x"


def test_a_signature_is_demanded(server: ArtifactServer) -> None:
    server.fault("signature", signature="s3cret")
    assert [ask(server, FILE + query)[0] for query in ("", "?sig=other", "?sv=1&sig=s3cret")] == [403, 403, 200]


def test_ranges_can_be_ignored(server: ArtifactServer) -> None:
    server.fault("no-range")
    status, headers, body = ask(server, Range="bytes=10-")
    assert (status, body, "accept-ranges" in headers) == (200, CONTENT, False)


def test_faults_are_set_over_http(server: ArtifactServer) -> None:
    connection = http.client.HTTPConnection(server.address, server.port)
    for faults, status in (('[{"kind": "status", "status": 404}]', 204), ('[{"kind": "gremlin"}]', 400), ("{", 400)):
        connection.request("POST", "/simulator/faults", faults)
        answer = connection.getresponse()
        answer.read()
        assert answer.status == status
    connection.close()
    assert ask(server)[0] == 404


def test_the_server_runs_as_a_program() -> None:
    command = [sys.executable, "-m", "simulator.artifacts", "--port", "0"]
    with subprocess.Popen(command, cwd=TESTS, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        url = urlsplit(process.stdout.readline().split()[-1])
        connection = http.client.HTTPConnection(str(url.hostname), url.port, timeout=60)
        connection.request("HEAD", "/nssm.cc/release/nssm-2.24.zip")
        assert connection.getresponse().status == 200
        connection.close()
        process.terminate()
        assert process.wait(timeout=60) == 0


def test_https_by_a_private_ca_is_trusted_with_its_root_only() -> None:
    authority = PrivateCA(crl_url="http://127.0.0.1:1/ca.crl")
    with ArtifactServer(tls=authority.server_context(["127.0.0.1", "mirror.example"])) as server:
        server.put(FILE, CONTENT)
        trusting = ssl.create_default_context(cadata=authority.pem.decode())
        connection = http.client.HTTPSConnection(server.address, server.port, context=trusting)
        connection.request("GET", FILE)
        assert connection.getresponse().read() == CONTENT
        connection.close()
        with pytest.raises(ssl.SSLCertVerificationError):
            http.client.HTTPSConnection(server.address, server.port, context=ssl.create_default_context()).request(
                "GET", FILE
            )


def test_a_certificate_may_have_expired() -> None:
    authority = PrivateCA()
    with ArtifactServer(tls=authority.server_context(["127.0.0.1"], expired=True)) as server:
        context = ssl.create_default_context(cadata=authority.pem.decode())
        connection = http.client.HTTPSConnection(server.address, server.port, context=context, timeout=60)
        with pytest.raises(ssl.SSLCertVerificationError, match="expired"):
            connection.request("GET", FILE)
