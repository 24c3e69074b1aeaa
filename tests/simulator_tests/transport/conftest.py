# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Nodes for the tests of the transport: each has its own address and free ports, so that tests can run in parallel."""

from __future__ import annotations

import itertools
import ssl
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from simulator_tests.transport.clients import Node
from simulator_tests.transport.echo_host import EchoHost

from simulator.transport.certificates import FleetCertificate, make_fleet_certificate
from simulator.transport.server import NodeServer

ADDRESSES = [f"127.10.7.{number}" for number in range(1, 41)]


@pytest.fixture(scope="session")
def fleet_certificate(tmp_path_factory: pytest.TempPathFactory) -> FleetCertificate:
    return make_fleet_certificate(tmp_path_factory.mktemp("fleet"), ADDRESSES)


@pytest.fixture(scope="session")
def tls(fleet_certificate: FleetCertificate) -> ssl.SSLContext:
    return fleet_certificate.server_context()


@pytest.fixture
def make_node(tls: ssl.SSLContext) -> Iterator[Callable[..., Node]]:
    """Yield a function that starts a node; its parameters are options of NodeServer."""
    nodes: list[Node] = []
    addresses = iter(ADDRESSES)

    def make(**options: int) -> Node:
        number = len(nodes)
        host = EchoHost(f"ECHO{number}")
        server = NodeServer(next(addresses), host, tls, http_port=0, https_port=0, **options)
        server.start()
        nodes.append(Node(server, host))
        return nodes[-1]

    yield make
    for node in nodes:
        node.server.stop()


@pytest.fixture
def node(make_node: Callable[..., Node]) -> Node:
    return make_node()


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Remove the proxy settings from the environment, because pywinrm's way to ignore them is not thread-safe."""
    for name, case in itertools.product(("http_proxy", "https_proxy", "all_proxy"), (str.lower, str.upper)):
        monkeypatch.delenv(case(name), raising=False)


@pytest.fixture
def ansible_folder(tmp_path: Path) -> Path:
    """Return a folder with an ansible.cfg, so that Ansible does not read another configuration file of this machine."""
    (tmp_path / "ansible.cfg").write_text("[defaults]\nhost_key_checking = false\n")
    return tmp_path
