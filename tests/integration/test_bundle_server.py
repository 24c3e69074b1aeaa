# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The server of a bundle: access to its files, and its end together with Ansible."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import http.client
import os
import resource
import signal
import socket
import ssl
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st
from integration.bundling import Controller, made_and_cut_off
from simulator_tests.waiting import wait_for

from ansible_collections.winkube.node.plugins.plugin_utils.bundle import server as bundle_server
from ansible_collections.winkube.node.plugins.plugin_utils.bundle.index import BundleError
from ansible_collections.winkube.node.plugins.plugin_utils.bundle.serving import files, listener, nodes, watched
from ansible_collections.winkube.node.plugins.plugin_utils.bundle.verify import Bundle
from simulator.artifacts.certificates import PrivateCA
from simulator.artifacts.server import ArtifactServer
from simulator.kubernetes_node.registry.server import SimulatedRegistry

pytestmark = [pytest.mark.waits, pytest.mark.integration, pytest.mark.xdist_group("bundle")]

CRICTL = "github.com/kubernetes-sigs/cri-tools/releases/download/v1.37.0/crictl-v1.37.0-windows-amd64.tar.gz"


@pytest.fixture(scope="module")
def controller(tmp_path_factory: pytest.TempPathFactory) -> Controller:
    return made_and_cut_off(tmp_path_factory.mktemp("controller"))


@pytest.fixture(scope="module")
def bundle(controller: Controller) -> Bundle:
    return controller.verified()


@pytest.fixture(scope="module")
def url(bundle: Bundle) -> Iterator[str]:
    """Serve the bundle, and return its URL."""
    served = bundle_server.start(bundle, nodes=["win"], bind="127.0.0.1")
    yield served.url("win", "127.0.0.1")
    bundle_server.stop(served.pid)


def ask(
    url: str, path: str, method: str = "GET", context: ssl.SSLContext | None = None, **headers: str
) -> tuple[int, bytes]:
    """Return the status and the body of a response."""
    parts = urlsplit(url)
    kind: Any = http.client.HTTPSConnection if context else http.client.HTTPConnection
    connection = kind(parts.hostname, parts.port, timeout=60, **({"context": context} if context else {}))
    try:
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        connection.request(method, f"{parts.path}/{path}", headers=sent)
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


def test_only_files_of_the_index_are_served(bundle: Bundle, url: str) -> None:
    for path, entry in bundle.entries.items():
        status, body = ask(url, path)
        assert (status, hashlib.sha256(body).hexdigest()) == (200, entry.sha256)
    outside = [
        "",
        "index.json",
        "index.json.sig",
        "../key",
        "%2e%2e/key",
        "/etc/passwd",
        f"./{CRICTL}",
        f"{CRICTL}/",
    ]
    assert {ask(url, path)[0] for path in outside} == {404}


def test_without_the_token_no_file_is_served(url: str) -> None:
    base, token = url.rsplit("/", 1)
    for wrong in ("", token[:-1], f"{token}x", "%ff", token.swapcase()):
        assert ask(f"{base}/{wrong}", CRICTL)[0] == 404


def test_each_node_has_a_token_of_its_own_which_can_be_revoked(bundle: Bundle) -> None:
    served = bundle_server.start(bundle, nodes=["one", "two"], bind="127.0.0.1")
    one, two = (served.url(node, "127.0.0.1") for node in ("one", "two"))
    try:
        assert len(set(served.tokens.values())) == 2
        assert "~" not in repr(served)
        assert (ask(one, CRICTL)[0], ask(two, CRICTL)[0]) == (200, 200)
        assert Path(served.revoked).parent.stat().st_mode & 0o777 == 0o700
        served.revoke(["one"])
        wait_for(lambda: ask(one, CRICTL)[0] == 404)
        assert ask(two, CRICTL)[0] == 200
        assert served.tokens["one"] not in Path(served.revoked).read_text()
    finally:
        bundle_server.stop(served.pid)
    wait_for(lambda: not Path(served.revoked).parent.exists())


@contextlib.contextmanager
def idle_connections(
    port: int, requested: int, addresses: Sequence[str], sent: bytes = b""
) -> Iterator[list[socket.socket]]:
    """Open as many connections as this process can, which never complete a request."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    open_now = len(list(Path("/proc/self/fd").iterdir()))
    number = min(requested, hard - open_now - 100)
    connections = []
    try:
        for index in range(number):
            source = (addresses[index % len(addresses)], 0)
            connections.append(socket.create_connection(("127.0.0.1", port), timeout=10, source_address=source))
            if sent:
                connections[-1].send(sent)
        yield connections
    finally:
        for connection in connections:
            connection.close()
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.parametrize("addresses", [["127.0.0.2"], [f"127.0.1.{number}" for number in range(1, 51)]])
@pytest.mark.parametrize("sent", [b"", b"GET /~"])
def test_5000_idle_connections_do_not_block_the_server(bundle: Bundle, addresses: list[str], sent: bytes) -> None:
    """With a thread for each, and a login shell's limit of descriptors, the server ended for good at about 1,100."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(1024, hard), hard))
    try:
        served = bundle_server.start(bundle, nodes=["win"], bind="127.0.0.1")
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    url = served.url("win", "127.0.0.1")
    try:
        with idle_connections(served.port, 5000, addresses, sent) as connections:
            assert len(connections) >= min(5000, hard - 1000)
            assert [ask(url, CRICTL)[0] for _ in range(8)] == [200] * 8
            threads = Path(f"/proc/{served.pid}/status").read_text().partition("Threads:")[2].split()[0]
            assert int(threads) < 16
        assert ask(url, CRICTL)[0] == 200
    finally:
        bundle_server.stop(served.pid)


def test_a_client_with_too_many_requests_gets_retry_after(bundle: Bundle, monkeypatch: pytest.MonkeyPatch) -> None:
    clients = nodes.Nodes({"win": "~token"})
    asked = [clients.may_ask("node win", 2.0, 0.0) for _ in range(12)]
    assert asked == [True] * 10 + [False] * 2
    assert clients.may_ask("node other", 2.0, 0.0)
    assert [clients.may_ask("node win", 2.0, 1.0) for _ in range(3)] == [True, True, False]
    served = bundle_server.start(bundle, nodes=["win"], bind="127.0.0.1")
    try:
        wrong = f"http://127.0.0.1:{served.port}/~wrong"
        found = {ask(wrong, CRICTL)[0] for _ in range(150)}
        assert found == {404, 429}
        # The address does not identify a node.
        assert ask(served.url("win", "127.0.0.1"), CRICTL)[0] == 200
    finally:
        bundle_server.stop(served.pid)


def test_a_request_without_a_timely_head_is_aborted(bundle: Bundle, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listener, "_HEAD_TIME", 0.2)
    own = files.Files(str(bundle.directory), {})
    server = listener.RequestListener("127.0.0.1", 0, nodes.Nodes({}), own, None, 512)
    threading.Thread(target=server.serve, daemon=True).start()
    with socket.create_connection(("127.0.0.1", server.port), timeout=10) as slow:
        slow.send(b"GET /")
        assert slow.recv(1) == b""


@pytest.mark.parametrize(("number", "gone"), [(errno.EMFILE, False), (errno.ENFILE, False), (errno.ENOENT, True)])
def test_running_out_of_descriptors_does_not_look_like_the_end_of_ansible(
    monkeypatch: pytest.MonkeyPatch, number: int, gone: bool
) -> None:
    born = watched.birth(os.getpid())

    def refused(*_arguments: Any, **_named: Any) -> str:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(Path, "read_text", refused)
    assert watched.lives(os.getpid(), born) is not gone


def test_ranges(bundle: Bundle, url: str) -> None:
    whole = bundle.file(CRICTL).read_bytes()
    assert ask(url, CRICTL, Range="bytes=100-199") == (206, whole[100:200])
    assert ask(url, CRICTL, Range=f"bytes={len(whole) - 5}-") == (206, whole[-5:])
    assert ask(url, CRICTL, Range="bytes=-7") == (206, whole[-7:])
    assert ask(url, CRICTL, Range=f"bytes={len(whole)}-")[0] == 416
    assert ask(url, CRICTL, Range="bytes=5-1,9-")[0] == 200
    tag = f'"{bundle.entries[CRICTL].sha256}"'
    assert ask(url, CRICTL, Range="bytes=1-2", If_Range=tag)[0] == 206
    assert ask(url, CRICTL, Range="bytes=1-2", If_Range='"another"')[0] == 200
    assert ask(url, CRICTL, If_None_Match=tag) == (304, b"")
    assert ask(url, CRICTL, "HEAD") == (200, b"")
    assert ask(url, CRICTL, "DELETE")[0] == 501


@given(st.text(max_size=30) | st.from_regex(r"bytes=\d*-\d*", fullmatch=True), st.integers(0, 50))
def test_a_wild_range_is_within_the_file(header: str, size: int) -> None:
    found = files.requested_range(header, size)
    assert found is None or 0 <= found.start <= found.stop <= size


def test_a_file_that_was_changed_is_no_longer_served(controller: Controller, tmp_path: Path) -> None:
    with ArtifactServer() as server, SimulatedRegistry() as registry:
        own = Controller(tmp_path, server, registry)
        own.make([own.own("tool.zip", b"x" * 100)])
    made = own.verified()
    (path,) = made.entries
    served = bundle_server.start(made, nodes=["win"], bind="127.0.0.1")
    try:
        assert ask(served.url("win", "127.0.0.1"), path)[0] == 200
        made.file(path).write_bytes(b"y" * 100)
        assert ask(served.url("win", "127.0.0.1"), path)[0] == 404
    finally:
        bundle_server.stop(served.pid)


def test_https_with_a_certificate(bundle: Bundle, tmp_path: Path) -> None:
    authority = PrivateCA()
    chain, key = authority.issue(["127.0.0.1"])
    (tmp_path / "chain.pem").write_bytes(chain)
    (tmp_path / "key.pem").write_bytes(key)
    served = bundle_server.start(
        bundle, nodes=["win"], bind="127.0.0.1", certificate=str(tmp_path / "chain.pem"), key=str(tmp_path / "key.pem")
    )
    try:
        found = served.url("win", "127.0.0.1")
        assert found.startswith("https://")
        context = ssl.create_default_context(cadata=authority.pem.decode())
        assert ask(found, CRICTL, context=context)[0] == 200
    finally:
        bundle_server.stop(served.pid)


def test_a_server_that_cannot_listen_reports_it(bundle: Bundle, tmp_path: Path) -> None:
    refused = pytest.raises(BundleError, match=r"bundle_port \d+\): Address already in use")
    with socket.create_server(("127.0.0.1", 0)) as taken, refused:
        bundle_server.start(bundle, nodes=["win"], bind="127.0.0.1", port=taken.getsockname()[1])
    with pytest.raises(BundleError, match="bundle_certificate"):
        bundle_server.start(bundle, nodes=["win"], bind="127.0.0.1", certificate=str(tmp_path / "missing.pem"))


def is_refused(port: int) -> bool:
    """Return whether no process listens on the port any more."""
    try:
        socket.create_connection(("127.0.0.1", port), timeout=5).close()
    except ConnectionRefusedError:
        return True
    return False


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_the_server_ends_with_ansible_in_any_case(controller: Controller, number: signal.Signals) -> None:
    program = (
        "import sys, time\n"
        "from ansible_collections.winkube.node.plugins.plugin_utils.bundle import server, verify\n"
        "served = server.start(verify.verify(*sys.argv[1:]), nodes=['win'], bind='127.0.0.1')\n"
        "print(served.port, served.pid, flush=True)\n"
        "time.sleep(60)\n"
    )
    command = [sys.executable, "-c", program, str(controller.bundle), controller.public]
    environment = {**os.environ, "PYTHONPATH": str(Path(bundle_server.__file__).parents[6])}
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment, text=True) as ansible:
        assert ansible.stdout is not None
        port, pid = map(int, ansible.stdout.readline().split())
        socket.create_connection(("127.0.0.1", port), timeout=5).close()
        # Process lists do not show the token.
        assert b"~" not in Path(f"/proc/{pid}/cmdline").read_bytes()
        ansible.send_signal(number)
        ansible.wait(60)
    wait_for(lambda: not watched.lives(pid, watched.birth(pid)))
    # A process that ends becomes a zombie at once, and its port is free after its last thread has ended.
    wait_for(lambda: is_refused(port))
