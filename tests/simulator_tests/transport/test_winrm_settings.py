# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What a machine accepts and rejects according to its configuration of WinRM."""

from __future__ import annotations

import socket
from dataclasses import replace

import pytest
import requests
from simulator_tests.transport.clients import Node, run_psrp, run_winrm
from winrm.exceptions import InvalidCredentialsError, WinRMTransportError

HTTP_ONLY = frozenset(("HTTP",))


def is_open(node: Node, scheme: str) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex((node.server.address, node.port(scheme))) == 0


def test_a_listener_that_is_removed_takes_its_connections_along(node: Node) -> None:
    removed, other = node.winrm("https"), node.winrm("http")
    shell, other_shell = removed.open_shell(), other.open_shell()
    node.host.settings = replace(node.host.settings, transports=HTTP_ONLY)
    node.server.listeners_changed()
    assert (is_open(node, "http"), is_open(node, "https")) == (True, False)
    with pytest.raises(requests.ConnectionError):
        removed.run_command(shell, "hello")
    assert run_winrm(other, other_shell, "hello")[2] == 0

    # A listener that is created again uses the same port. Shells do not depend on listeners.
    node.host.settings = replace(node.host.settings, transports=frozenset(("HTTP", "HTTPS")))
    node.server.listeners_changed()
    assert run_winrm(node.winrm("https"), shell, "hello")[2] == 0


def test_a_node_that_is_off_opens_no_port_for_a_new_listener(node: Node) -> None:
    node.host.settings = replace(node.host.settings, transports=HTTP_ONLY)
    node.server.close_ports()
    node.server.listeners_changed()
    assert not node.server.is_listening
    node.server.open_ports()
    assert (is_open(node, "http"), is_open(node, "https")) == (True, False)


def test_basic_authentication_may_be_off(node: Node) -> None:
    node.host.settings = replace(node.host.settings, basic=False)
    for scheme in ("http", "https"):
        with pytest.raises(InvalidCredentialsError):
            node.winrm(scheme, auth="basic").open_shell()
        assert node.winrm(scheme, auth="ntlm").open_shell()
    answer = requests.post(f"http://{node.server.address}:{node.port('http')}/wsman", timeout=60)
    assert answer.headers["WWW-Authenticate"] == "Negotiate"


def test_plain_messages_may_need_tls(node: Node) -> None:
    node.host.settings = replace(node.host.settings, allow_unencrypted=False)
    with pytest.raises(InvalidCredentialsError):
        node.winrm("http", auth="basic").open_shell()
    with pytest.raises(WinRMTransportError, match="500"):
        node.winrm("http", auth="ntlm", message_encryption="never").open_shell()
    assert node.winrm("https", auth="basic").open_shell()
    # Messages that NTLM encrypts need no TLS.
    assert node.winrm("http", auth="ntlm").open_shell()
    with node.psrp("http", auth="ntlm") as pool:
        assert run_psrp(pool, "hello").output == ["echo=hello"]
