# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The program that serves a bundle: which connections it keeps and rejects, and when it ends."""

from __future__ import annotations

import contextlib
import io
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import typing as t
from pathlib import Path

import pytest

from ansible_collections.winkube.node.plugins.plugin_utils.bundle.serving import listener, program, watched
from ansible_collections.winkube.node.plugins.plugin_utils.bundle.serving.files import Files
from ansible_collections.winkube.node.plugins.plugin_utils.bundle.serving.nodes import Nodes, fingerprint

CONTENT = b"0123456789"
pytestmark = pytest.mark.waits


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "h").mkdir()
    (tmp_path / "h/a.exe").write_bytes(CONTENT)
    return tmp_path


class Served:
    """A listener that runs in a thread."""

    def __init__(self, folder: Path, **options: t.Any) -> None:
        self.nodes = Nodes({"a": "~1", "b": "~2"})
        files = Files(str(folder), {"h/a.exe": (len(CONTENT), "ab" * 32)})
        self.listener = listener.RequestListener("127.0.0.1", 0, self.nodes, files, **options)
        threading.Thread(target=self.listener.serve, daemon=True).start()

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.listener.port), timeout=20)


@pytest.fixture
def served(folder: Path) -> Served:
    return Served(folder)


def head(token: str = "~1", path: str = "h/a.exe", **more: str) -> bytes:
    lines = [f"GET /{token}/{path} HTTP/1.1", "Host: h", *(f"{name}: {value}" for name, value in more.items())]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


def reply(connection: socket.socket) -> tuple[bytes, dict[bytes, bytes], bytes]:
    """Return the status line, the headers and the body of a response."""
    data = b""
    while b"\r\n\r\n" not in data:
        part = connection.recv(65536)
        assert part, data
        data += part
    first, *rest = data.partition(b"\r\n\r\n")[0].split(b"\r\n")
    headers = {line.partition(b": ")[0]: line.partition(b": ")[2] for line in rest}
    body = data.partition(b"\r\n\r\n")[2]
    while len(body) < int(headers[b"Content-Length"]):
        body += connection.recv(65536)
    return first, headers, body


def is_closed(connection: socket.socket) -> bool:
    try:
        return connection.recv(1) == b""
    except ConnectionResetError:
        return True


def until(holds: t.Callable[[], bool]) -> None:
    """Wait briefly until a condition is true."""
    end = time.monotonic() + 20
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.005)


def test_a_connection_is_kept_for_the_next_request(served: Served) -> None:
    with served.connect() as connection:
        for dummy in range(3):
            connection.sendall(head())
            status, dummy_headers, body = reply(connection)
            assert (status, body) == (b"HTTP/1.1 200 OK", CONTENT)
        # Data that arrived together with the previous request is not lost.
        connection.sendall(head() + head()[:20])
        assert reply(connection)[2] == CONTENT
        connection.sendall(head()[20:])
        assert reply(connection)[2] == CONTENT
        connection.sendall(head(Connection="close"))
        assert reply(connection)[2] == CONTENT
        assert is_closed(connection)
    until(lambda: not served.listener._waiting)
    assert served.listener._busy["a"] == 0


@pytest.mark.parametrize("request_head", [head("~3"), b"GET\r\n\r\n", b"\r\n\r\n", head("")])
def test_strangers_get_nothing(served: Served, request_head: bytes) -> None:
    with served.connect() as connection:
        connection.sendall(request_head)
        status, headers, body = reply(connection)
        assert (status, body) == (b"HTTP/1.1 404 Not Found", b"")
        assert headers == {b"Content-Length": b"0", b"Connection": b"close"}
        assert is_closed(connection)


def test_a_client_with_too_many_requests_has_to_wait(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listener, "_RATE", 0.2)
    with served.connect() as connection:
        connection.sendall(head())
        assert reply(connection)[0] == b"HTTP/1.1 200 OK"
        connection.sendall(head())
        status, headers, _body = reply(connection)
        assert (status, headers[b"Retry-After"]) == (b"HTTP/1.1 429 Too Many Requests", b"1")
        assert is_closed(connection)
    # The others are not affected.
    with served.connect() as connection:
        connection.sendall(head("~2"))
        assert reply(connection)[0] == b"HTTP/1.1 200 OK"
    monkeypatch.setattr(listener, "_STRANGERS", 0.2)
    statuses = []
    for dummy in range(2):
        with served.connect() as connection:
            connection.sendall(head("~3"))
            statuses.append(reply(connection)[0])
    assert statuses == [b"HTTP/1.1 404 Not Found", b"HTTP/1.1 429 Too Many Requests"]


def test_parallel_downloads_of_a_node_are_limited(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listener, "_AT_ONCE", 1)
    blocked, go = threading.Event(), threading.Event()
    handler = listener.Handler

    def slow(connection: socket.socket, request: bytes, files: Files) -> t.Any:
        blocked.set()
        go.wait(20)
        return handler(connection, request, files)

    monkeypatch.setattr(listener, "Handler", slow)
    with served.connect() as first, served.connect() as second, served.connect() as other:
        first.sendall(head())
        assert blocked.wait(20)
        second.sendall(head())
        status, headers, _body = reply(second)
        assert (status, headers[b"Retry-After"]) == (b"HTTP/1.1 503 Service Unavailable", b"1")
        assert is_closed(second)
        other.sendall(head("~2"))
        go.set()
        assert reply(first)[2] == reply(other)[2] == CONTENT
        first.sendall(head())
        assert reply(first)[2] == CONTENT


def test_slow_or_large_requests_are_aborted(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    with served.connect() as long:
        with contextlib.suppress(OSError):
            long.sendall(b"GET / HTTP/1.1\r\nX: " + b"x" * 40_000)
        assert is_closed(long)
    monkeypatch.setattr(listener, "_CHECK_INTERVAL", 0.0)
    monkeypatch.setattr(listener, "_HEAD_TIME", 0.05)
    monkeypatch.setattr(listener, "_IDLE", 0.05)
    with served.connect() as silent, served.connect() as idle:
        idle.sendall(head())
        assert reply(idle)[2] == CONTENT
        # The next iteration of the loop detects the exceeded time limit.
        time.sleep(0.1)
        with served.connect():
            assert is_closed(silent)
            assert is_closed(idle)
    with served.connect() as gone:
        gone.sendall(b"GET")
    until(lambda: not served.listener._waiting)


def test_one_address_cannot_occupy_all_connections(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listener, "_WAITING", 2)
    with contextlib.ExitStack() as stack:
        connections = [stack.enter_context(served.connect()) for _number in range(3)]
        assert is_closed(connections[0])
        connections[1].sendall(head())
        assert reply(connections[1])[2] == CONTENT


@pytest.mark.parametrize(("limit", "most", "threads"), [(1024, 704, 128), (65_536, 63_424, 1024), (8, 16, 1)])
def test_descriptors_are_shared_out(folder: Path, limit: int, most: int, threads: int) -> None:
    found = Served(folder, limit=limit).listener
    assert (found._most, found._pool._max_workers) == (most, threads)


def test_without_free_descriptors_the_oldest_idle_connection_is_closed(folder: Path) -> None:
    served = Served(folder)
    served.listener._most = 1
    with served.connect() as first, served.connect() as second:
        assert is_closed(first)
        second.sendall(head())
        assert reply(second)[2] == CONTENT


def test_an_address_that_is_taken_is_an_error(served: Served) -> None:
    with pytest.raises(OSError, match="in use"):
        listener.RequestListener("127.0.0.1", served.listener.port, Nodes({}), Files("/", {}))


def test_a_listener_for_all_addresses_has_both_families(folder: Path) -> None:
    found = listener.RequestListener("::", 0, Nodes({}), Files(str(folder), {}))
    with socket.create_connection(("127.0.0.1", found.port), timeout=5), socket.create_connection(("::1", found.port)):
        pass


class Program:
    """A run of the program in this process instead of a separate one."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, folder: Path, **settings: t.Any) -> None:
        self.revoked = folder / "winkube-bundle-x" / "revoked"
        self.revoked.parent.mkdir()
        self.output = Kept()
        self.ends: list[t.Callable[..., None]] = []
        self.sessions = 0
        given = {
            "directory": str(folder),
            "files": [["h/a.exe", len(CONTENT), "ab" * 32]],
            "bind": "127.0.0.1",
            "port": 0,
            "tokens": {"a": "~1", "b": "~2"},
            "revoked": str(self.revoked),
            "certificate": "",
            "key": "",
            "parent": os.getpid(),
            "born": watched.birth(os.getpid()),
        }
        monkeypatch.setattr(sys, "stdin", io.StringIO(json.dumps({**given, **settings})))
        monkeypatch.setattr(sys, "stdout", self.output)
        monkeypatch.setattr(signal, "signal", self._signal)
        monkeypatch.setattr(os, "setsid", self._setsid)
        monkeypatch.setattr(program, "_CHECK_INTERVAL", 0.02)
        monkeypatch.setattr(program, "raised_limit", lambda: 1024)

    def _signal(self, number: int, handler: t.Callable[..., None]) -> None:
        assert number == signal.SIGTERM
        self.ends.append(handler)

    def _setsid(self) -> None:
        self.sessions += 1

    def start(self) -> threading.Thread:
        thread = threading.Thread(target=program.main, daemon=True)
        thread.start()
        until(lambda: self.output.closed)
        return thread

    def ask(self, token: str) -> bytes:
        with socket.create_connection(("127.0.0.1", json.loads(self.output.text)["port"]), timeout=20) as connection:
            connection.sendall(head(token))
            return reply(connection)[0]


class Kept(io.StringIO):
    """Output that can be read after it was closed."""

    text = ""

    def close(self) -> None:
        self.text = self.getvalue()
        super().close()


def test_the_program_serves_until_it_is_stopped(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    run = Program(monkeypatch, folder)
    thread = run.start()
    assert run.output.text.endswith("}\n")
    assert (run.ask("~1"), run.ask("~2")) == (b"HTTP/1.1 200 OK",) * 2
    run.revoked.write_text(f"{fingerprint('~2')}\n", encoding="ascii")
    until(lambda: run.ask("~2") == b"HTTP/1.1 404 Not Found")
    assert run.ask("~1") == b"HTTP/1.1 200 OK"
    run.ends[0](signal.SIGTERM, None)
    thread.join(20)
    assert not thread.is_alive()
    assert not run.revoked.parent.exists()
    assert run.sessions == 1


def test_the_program_ends_with_the_play(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE) as play:
        run = Program(monkeypatch, folder, parent=play.pid, born=watched.birth(play.pid))
        thread = run.start()
        assert run.ask("~1") == b"HTTP/1.1 200 OK"
    thread.join(20)
    assert not thread.is_alive()


@pytest.mark.parametrize(
    ("settings", "error"),
    [
        ({"certificate": "/none/such.pem"}, "No such file or directory"),
        ({"bind": "192.0.2.1"}, "Cannot assign requested address"),
        ({"parent": "x"}, "invalid literal for int() with base 10: 'x'"),
    ],
)
def test_a_failed_start_of_the_program_is_reported_with_the_reason(
    monkeypatch: pytest.MonkeyPatch, folder: Path, settings: dict[str, t.Any], error: str
) -> None:
    run = Program(monkeypatch, folder, **settings)
    assert program.main() == 1
    assert json.loads(run.output.getvalue()) == {"error": error}


def test_a_list_of_revoked_tokens_that_cannot_be_read_is_empty(tmp_path: Path) -> None:
    assert program._revoked("") == program._revoked(str(tmp_path)) == []
    (tmp_path / "list").write_bytes(b"\xff")
    assert program._revoked(str(tmp_path / "list")) == []
    program._remove("")
    program._remove(str(tmp_path / "none"))
    assert (tmp_path / "list").exists()


@pytest.mark.parametrize(
    ("soft", "hard", "raised", "limit"),
    [
        (1024, 4096, 4096, 4096),
        (1024, 1_000_000, 65_536, 65_536),
        (1024, -1, 65_536, 65_536),
        (100_000, 1_000_000, None, 65_536),
        (4096, 4096, None, 4096),
        (-1, -1, None, 65_536),
    ],
)
def test_the_limit_of_descriptors_is_raised_to_the_maximum(
    monkeypatch: pytest.MonkeyPatch, soft: int, hard: int, raised: int | None, limit: int
) -> None:
    asked: list[tuple[int, int]] = []
    monkeypatch.setattr(program.resource, "getrlimit", lambda _kind: (soft, hard))
    monkeypatch.setattr(program.resource, "setrlimit", lambda _kind, limits: asked.append(limits))
    assert program.raised_limit() == limit
    assert asked == ([] if raised is None else [(raised, hard)])


def test_a_limit_that_cannot_be_raised_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_limits: object) -> None:
        raise ValueError("not allowed")

    monkeypatch.setattr(program.resource, "getrlimit", lambda _kind: (1024, 4096))
    monkeypatch.setattr(program.resource, "setrlimit", refuse)
    assert program.raised_limit() == 1024
