# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What a call of the module services_check returns for each kind of answer."""

from __future__ import annotations

import http.server
import socket
import threading
from collections.abc import Iterator

import pytest

from ansible_collections.winkube.node.plugins.modules.services_check import get


class Answer(http.server.BaseHTTPRequestHandler):
    """Answers with the status in the path."""

    def do_GET(self) -> None:
        self.send_response(int(self.path.strip("/")))
        self.end_headers()

    def log_message(self, *_arguments: object) -> None:
        """Write no log."""


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answer) as running:
        threading.Thread(target=running.serve_forever, args=(0.01,), daemon=True).start()
        yield f"http://127.0.0.1:{running.server_port}"
        running.shutdown()


@pytest.mark.parametrize("status", [204, 404, 500])
def test_only_the_status_200_counts(server: str, status: int) -> None:
    assert get(f"{server}/200", 5) == ""
    assert get(f"{server}/{status}", 5) == f"expected the status 200, got {status}"


def test_a_proxy_of_the_environment_is_not_used(server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    assert get(f"{server}/200", 5) == ""


def test_an_answer_that_is_not_http_is_a_problem() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def answer() -> None:
            connection, _address = listening.accept()
            with connection:
                connection.recv(1000)
                connection.sendall(b"SSH-2.0-x\r\n")

        thread = threading.Thread(target=answer)
        thread.start()
        assert "SSH-2.0-x" in get(f"http://127.0.0.1:{listening.getsockname()[1]}/", 5)
        thread.join()


def test_a_closed_port_is_named() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    assert "Connection refused" in get(f"http://127.0.0.1:{port}/", 5)
