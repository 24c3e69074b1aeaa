# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The node's network is interrupted: ports really close, and the certificate is that of the fleet."""

from __future__ import annotations

import socket
from collections.abc import Callable

import pytest
import requests
from simulator_tests.transport.clients import Node, run_psrp, run_winrm
from simulator_tests.transport.echo_host import EchoHost
from simulator_tests.waiting import wait_for
from winrm.exceptions import WSManFaultError

from simulator.transport.certificates import FleetCertificate
from simulator.transport.server import NodeServer

pytestmark = pytest.mark.waits


def refuses(node: Node, scheme: str) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex((node.server.address, node.port(scheme))) != 0


def test_ports_close_and_open_on_the_same_numbers(node: Node) -> None:
    ports = (node.server.http_port, node.server.https_port)
    client = node.winrm()
    shell = client.open_shell()
    node.server.close_ports()
    assert refuses(node, "http")
    assert refuses(node, "https")
    with pytest.raises(requests.ConnectionError):
        client.run_command(shell, "hello")
    node.server.open_ports()
    assert ports == (node.server.http_port, node.server.https_port)
    with pytest.raises(WSManFaultError):
        client.run_command(shell, "hello")
    assert run_winrm(client, client.open_shell(), "hello")[2] == 0


def test_closing_ports_may_keep_the_shells(node: Node) -> None:
    client = node.winrm()
    shell = client.open_shell()
    node.server.close_ports(forget_shells=False)
    node.server.open_ports()
    assert run_winrm(client, shell, "hello")[2] == 0


def test_a_dropped_link_does_not_bring_a_node_back_that_is_off(node: Node) -> None:
    node.server.drop_link(0.2)
    node.server.close_ports()
    with pytest.raises(AssertionError):
        wait_for(lambda: node.server.is_listening, seconds=0.6)
    node.server.drop_link(0.1)
    assert not node.server.is_listening
    node.server.open_ports()
    assert node.server.is_listening


def test_a_command_can_reboot_its_node(node: Node) -> None:
    pool = node.psrp()
    pool.open()
    other = node.winrm()
    sleeping = other.run_command(other.open_shell(), "sleep", ["30"])
    assert sleeping
    with pytest.raises(requests.ConnectionError):
        run_psrp(pool, "reboot 0.5")
    node.host.wait_for_stopped("sleep 30")
    assert refuses(node, "http")
    wait_for(lambda: node.server.is_listening)
    with node.psrp() as fresh:
        assert run_psrp(fresh, "hello").output == ["echo=hello"]


def test_nodes_share_nothing_but_the_certificate(
    make_node: Callable[..., Node], fleet_certificate: FleetCertificate
) -> None:
    first, second = make_node(), make_node()
    for node in (first, second):
        client = node.winrm("https", validation="validate", ca_trust_path=str(fleet_certificate.certificate))
        assert client.open_shell()
    first.server.close_ports()
    assert refuses(first, "https")
    with second.psrp("https", validation=str(fleet_certificate.certificate)) as pool:
        assert run_psrp(pool, "hello").output == ["echo=hello"]
    assert first.host.runs == []


def test_a_taken_port_is_an_error(node: Node) -> None:
    second = NodeServer(node.server.address, EchoHost(), http_port=node.server.http_port)
    with pytest.raises(OSError, match=f"cannot listen on {node.server.address}:{node.server.http_port}"):
        second.start()


def test_without_a_certificate_https_is_not_served(node: Node) -> None:
    server = NodeServer("127.10.8.1", EchoHost(), http_port=0, https_port=0)
    server.start()
    assert (server.http_port > 0, server.https_port) == (True, 0)
    server.stop()
