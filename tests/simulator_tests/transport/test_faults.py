# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Faults: how each affects the clients, and what the node does in the meantime."""

from __future__ import annotations

import time

import pytest
import requests
from pypsrp.powershell import PowerShell
from simulator_tests.transport.clients import Node, run_psrp, run_winrm
from simulator_tests.waiting import wait_for
from winrm.exceptions import WSManFaultError
from winrm.protocol import Protocol

from simulator.transport.faults import FaultPlan, TransportFault

pytestmark = pytest.mark.waits

SCHEMES = ["http", "https"]


def open_winrm(node: Node, scheme: str = "http") -> tuple[Protocol, str]:
    client = node.winrm(scheme, operation_timeout=2)
    return client, client.open_shell()


@pytest.mark.parametrize("scheme", SCHEMES)
def test_before_the_request_nothing_ran(node: Node, scheme: str) -> None:
    client, shell = open_winrm(node, scheme)
    node.server.set_fault(TransportFault("before", action="Command"))
    with pytest.raises(requests.ConnectionError):
        run_winrm(client, shell, "hello")
    assert node.host.runs == []
    assert run_winrm(client, shell, "hello") == (b"echo=hello\r\n", b"", 0)


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("kind", ["after", "during"])
def test_after_the_request_the_command_runs_on(node: Node, scheme: str, kind: str) -> None:
    client, shell = open_winrm(node, scheme)
    node.server.set_fault(TransportFault(kind, action="Command"))
    with pytest.raises((requests.ConnectionError, requests.exceptions.ChunkedEncodingError)):
        run_winrm(client, shell, "sleep", "0.5")
    wait_for(lambda: node.host.finished == ["sleep 0.5"])
    assert node.host.stopped == []
    assert run_winrm(client, shell, "hello")[2] == 0


@pytest.mark.parametrize("kind", ["before", "after", "during"])
@pytest.mark.parametrize("auth", ["basic", "ntlm"])
def test_a_pool_survives_its_connection(node: Node, kind: str, auth: str) -> None:
    pool = node.psrp(auth=auth)
    pool.open()
    node.server.set_fault(TransportFault(kind, action="Command"))
    with pytest.raises((requests.ConnectionError, requests.exceptions.ChunkedEncodingError)):
        PowerShell(pool).add_script("sleep 0.5").invoke()
    if kind != "before":
        wait_for(lambda: node.host.finished == ["sleep 0.5"])
    assert len(node.server.status()["open_shells"]) == 1  # type: ignore[arg-type]
    # The session key of the broken connection is no longer valid, so pypsrp has to log on again.
    pool.connection.transport.encryption = None
    assert run_psrp(pool, "hello").output == ["echo=hello"]


def test_silence_is_bounded_by_the_client(node: Node) -> None:
    client, shell = open_winrm(node)
    client.transport.read_timeout_sec = 0.5
    node.server.set_fault(TransportFault("silence", action="Command"))
    with pytest.raises(requests.ReadTimeout):
        client.run_command(shell, "hello")
    assert node.host.runs == []
    node.server.set_fault(TransportFault("silence_after", action="Command"))
    with pytest.raises(requests.ReadTimeout):
        client.run_command(shell, "hello")
    wait_for(lambda: node.host.runs == ["hello"])


def test_a_lost_answer_to_receive_can_be_asked_for_again(node: Node) -> None:
    """pypsrp repeats a Receive with the same message id after a read timeout. No output may be lost."""
    pool = node.psrp(read_timeout=1, operation_timeout=1, reconnection_backoff=0.01)
    pool.open()
    node.server.set_fault(TransportFault("silence_after", action="Receive"))
    assert run_psrp(pool, "hello").output == ["echo=hello"]
    node.server.set_fault(TransportFault("silence", action="Receive", count=2))
    assert run_psrp(pool, "hello again").output == ["echo=hello again"]


def test_a_second_receive_takes_over_from_one_whose_client_has_gone(node: Node) -> None:
    client, shell = open_winrm(node)
    client.transport.read_timeout_sec = 1
    command_id = client.run_command(shell, "sleep", ["1.5"])
    with pytest.raises(requests.ReadTimeout):
        client.get_command_output(shell, command_id)
    client.transport.read_timeout_sec = 10
    assert client.get_command_output(shell, command_id)[0] == b"echo=sleep 1.5\r\n"


def test_shells_can_be_dropped(node: Node) -> None:
    client, shell = open_winrm(node)
    node.server.set_fault(TransportFault("shell_gone", action="Command"))
    with pytest.raises(WSManFaultError) as raised:
        client.run_command(shell, "hello")
    assert raised.value.wsman_fault_code == 2150858843
    assert node.host.closed_shells == [shell]


def test_the_link_drops_at_a_request_and_recovers(node: Node) -> None:
    client, shell = open_winrm(node)
    node.server.set_fault(TransportFault("link_down", action="Command", seconds=0.7))
    with pytest.raises(requests.ConnectionError):
        client.run_command(shell, "hello")
    with pytest.raises(requests.ConnectionError):
        client.run_command(shell, "hello")
    wait_for(lambda: node.server.is_listening)
    assert run_winrm(client, shell, "hello")[2] == 0


def test_a_command_that_takes_the_link_down_ends_all_the_same(node: Node) -> None:
    client, shell = open_winrm(node)
    command_id = client.run_command(shell, "sleep", ["0.6"])
    node.server.set_fault(TransportFault("link_down", request=0, seconds=0.3))
    with pytest.raises(requests.ConnectionError):
        client.get_command_output(shell, command_id)
    wait_for(lambda: node.server.is_listening)
    assert client.get_command_output(shell, command_id)[0] == b"echo=sleep 0.6\r\n"


def test_requests_can_be_slow(node: Node) -> None:
    client, shell = open_winrm(node)
    node.server.set_fault(TransportFault("slow", action="Command", seconds=0.5))
    begin = time.monotonic()
    client.run_command(shell, "hello")
    slow = time.monotonic() - begin
    client.run_command(shell, "hello")
    assert slow > 0.5 > time.monotonic() - begin - slow


def test_a_callback_is_called_at_its_request(node: Node) -> None:
    client, shell = open_winrm(node)
    seen: list[int] = []
    node.server.set_fault(TransportFault("call", request=3, callback=lambda: seen.append(len(node.host.runs))))
    client.run_command(shell, "one")
    client.run_command(shell, "two")
    assert seen == []
    wait_for(lambda: len(node.host.runs) == 2)
    client.run_command(shell, "three")
    assert seen == [2]


def test_a_plan_counts_requests_from_when_a_fault_was_set() -> None:
    plan = FaultPlan()
    plan.add(TransportFault("after", request=2, action="Send"))
    plan.add(TransportFault("slow", request=3, count=2, seconds=1))
    verbs = ["Create", "Send", "Command", "Send", "Send"]
    assert [hit and hit.kind for hit in map(plan.next, verbs)] == [None, None, "slow", "after", None]
    assert plan.pending() == []


@pytest.mark.parametrize(
    "data",
    [
        {"kind": "storm"},
        {"kind": "after", "request": 0},
        {"kind": "after", "count": 0},
        {"kind": "slow", "seconds": -1},
        {"kind": "slow", "seconds": "2"},
        {"kind": "slow", "callback": "x"},
        {"kind": "slow", "count": True},
    ],
)
def test_an_invalid_fault_is_refused(data: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        TransportFault.from_json(data)
