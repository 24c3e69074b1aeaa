# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The server of a bundle: what it gives to whom, and that it ends with Ansible."""

from __future__ import annotations

import hashlib
import http.client
import os
import signal
import socket
import ssl
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st
from integration.bundling import Controller, made_and_cut_off, until

from ansible_collections.winkube.node.plugins.plugin_utils.bundle import file_server
from ansible_collections.winkube.node.plugins.plugin_utils.bundle import server as bundle_server
from ansible_collections.winkube.node.plugins.plugin_utils.bundle.index import BundleError
from ansible_collections.winkube.node.plugins.plugin_utils.bundle.verify import Bundle
from simulator.artifacts.certificates import PrivateCA
from simulator.artifacts.server import ArtifactServer
from simulator.kubernetes_node.registry import Registry

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
    """The bundle, served."""
    served = bundle_server.start(bundle, bind="127.0.0.1")
    yield served.url("127.0.0.1")
    bundle_server.stop(served.pid)


def ask(
    url: str, path: str, method: str = "GET", context: ssl.SSLContext | None = None, **headers: str
) -> tuple[int, bytes]:
    """Status and body of an answer."""
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


def test_it_has_the_files_of_the_index_and_no_other(bundle: Bundle, url: str) -> None:
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


def test_who_has_not_the_token_gets_nothing(url: str) -> None:
    base, token = url.rsplit("/", 1)
    for wrong in ("", token[:-1], f"{token}x", "%ff", token.swapcase()):
        assert ask(f"{base}/{wrong}", CRICTL)[0] == 404


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
    found = file_server.wanted_bytes(header, size)
    assert found is None or 0 <= found.start <= found.stop <= size


def test_a_file_that_is_changed_meanwhile_is_served_no_more(controller: Controller, tmp_path: Path) -> None:
    with ArtifactServer() as server, Registry() as registry:
        own = Controller(tmp_path, server, registry)
        own.make([own.own("tool.zip", b"x" * 100)])
    made = own.verified()
    (path,) = made.entries
    served = bundle_server.start(made, bind="127.0.0.1")
    try:
        assert ask(served.url("127.0.0.1"), path)[0] == 200
        made.file(path).write_bytes(b"y" * 100)
        assert ask(served.url("127.0.0.1"), path)[0] == 404
    finally:
        bundle_server.stop(served.pid)


def test_https_with_a_certificate(bundle: Bundle, tmp_path: Path) -> None:
    authority = PrivateCA()
    chain, key = authority.issue(["127.0.0.1"])
    (tmp_path / "chain.pem").write_bytes(chain)
    (tmp_path / "key.pem").write_bytes(key)
    served = bundle_server.start(
        bundle, bind="127.0.0.1", certificate=str(tmp_path / "chain.pem"), key=str(tmp_path / "key.pem")
    )
    try:
        found = served.url("127.0.0.1")
        assert found.startswith("https://")
        context = ssl.create_default_context(cadata=authority.pem.decode())
        assert ask(found, CRICTL, context=context)[0] == 200
    finally:
        bundle_server.stop(served.pid)


def test_where_it_cannot_listen_it_says_so(bundle: Bundle, tmp_path: Path) -> None:
    refused = pytest.raises(BundleError, match=r"bundle_port \d+\): Address already in use")
    with socket.create_server(("127.0.0.1", 0)) as taken, refused:
        bundle_server.start(bundle, bind="127.0.0.1", port=taken.getsockname()[1])
    with pytest.raises(BundleError, match="bundle_certificate"):
        bundle_server.start(bundle, bind="127.0.0.1", certificate=str(tmp_path / "missing.pem"))


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_it_ends_with_ansible_however_that_ends(controller: Controller, number: signal.Signals) -> None:
    program = (
        "import sys, time\n"
        "from ansible_collections.winkube.node.plugins.plugin_utils.bundle import server, verify\n"
        "served = server.start(verify.verify(*sys.argv[1:]), bind='127.0.0.1')\n"
        "print(served.port, served.pid, flush=True)\n"
        "time.sleep(60)\n"
    )
    command = [sys.executable, "-c", program, str(controller.bundle), controller.public]
    environment = {**os.environ, "PYTHONPATH": str(Path(bundle_server.__file__).parents[6])}
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment, text=True) as ansible:
        assert ansible.stdout is not None
        port, pid = map(int, ansible.stdout.readline().split())
        socket.create_connection(("127.0.0.1", port), timeout=5).close()
        # No process list shows the token.
        assert len(Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")) == 4
        ansible.send_signal(number)
        ansible.wait(60)
    until(lambda: not file_server.lives(pid, file_server.birth(pid)))
    with pytest.raises(OSError, match="refused"):
        socket.create_connection(("127.0.0.1", port), timeout=5)
