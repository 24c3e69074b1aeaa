# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The service's limits: operation timeouts, envelope sizes, quotas, shells that are gone, many clients at once."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
from pypsrp.exceptions import WSManFaultError as PsrpFaultError
from pypsrp.powershell import PowerShell
from simulator_tests.transport.clients import Node, run_psrp, run_winrm
from simulator_tests.waiting import wait_for
from winrm.exceptions import WinRMOperationTimeoutError, WSManFaultError

pytestmark = pytest.mark.waits

SHELL_GONE = 2150858843


def test_receive_times_out_and_is_asked_again(node: Node) -> None:
    client = node.winrm(operation_timeout=1)
    shell = client.open_shell()
    command_id = client.run_command(shell, "sleep", ["2.5"])
    begin = time.monotonic()
    with pytest.raises(WinRMOperationTimeoutError):
        client.get_command_output_raw(shell, command_id)
    assert 0.9 < time.monotonic() - begin < 2
    assert client.get_command_output(shell, command_id) == (b"echo=sleep 2.5\r\n", b"", 0)


def test_a_pipeline_outlives_several_receives(node: Node) -> None:
    with node.psrp(operation_timeout=1) as pool:
        assert run_psrp(pool, "sleep 2.5").output == ["echo=sleep 2.5"]
    # Create, the state of the pool, the pipeline, at least three polls, Delete.
    assert node.server.counters.snapshot()["wsman_requests"] >= 7


def test_a_request_above_the_limit_is_refused(make_node: Callable[..., Node]) -> None:
    node = make_node(max_envelope_size=100_000)
    client = node.winrm()
    shell = client.open_shell()
    command_id = client.run_command(shell, "hello", console_mode_stdin=False)
    with pytest.raises(WSManFaultError) as raised:
        client.send_command_input(shell, command_id, b"x" * 100_000)
    assert raised.value.wsman_fault_code == 0x80338047
    client.send_command_input(shell, command_id, b"y", end=True)
    assert client.get_command_output(shell, command_id)[0].endswith(b"stdin=y\r\n")


def test_the_default_limit_is_500_kb(node: Node) -> None:
    client = node.winrm()
    shell = client.open_shell()
    command_id = client.run_command(shell, "hello", console_mode_stdin=False)
    client.send_command_input(shell, command_id, b"x" * 370_000)
    with pytest.raises(WSManFaultError):
        client.send_command_input(shell, command_id, b"x" * 390_000)


def test_an_unknown_shell_is_a_fault(node: Node) -> None:
    client, pool = node.winrm(), node.psrp()
    shell = client.open_shell()
    pool.open()
    node.server.forget_shells()
    with pytest.raises(WSManFaultError) as raised:
        client.run_command(shell, "hello")
    assert raised.value.wsman_fault_code == SHELL_GONE
    assert raised.value.fault_subcode == "w:InvalidSelectors"
    assert f"ShellId {shell}" in raised.value.response
    with pytest.raises(PsrpFaultError) as raised_by_psrp:
        PowerShell(pool).add_script("hello").invoke()
    assert raised_by_psrp.value.code == SHELL_GONE


def test_a_shell_belongs_to_its_user(node: Node) -> None:
    account = node.host.accounts_by_name["Administrator"]
    node.host.accounts_by_name["other"] = account
    shell = node.winrm().open_shell()
    with pytest.raises(WSManFaultError) as raised:
        node.winrm(user="other").run_command(shell, "hello")
    assert raised.value.wsman_fault_code == SHELL_GONE


def test_shells_of_both_kinds_count_against_the_quota(make_node: Callable[..., Node]) -> None:
    node = make_node(max_shells_per_user=3)
    client, pool = node.winrm(), node.psrp()
    pool.open()
    shells = [client.open_shell(), client.open_shell()]
    with pytest.raises(WSManFaultError) as raised:
        client.open_shell()
    assert raised.value.wsman_fault_code == 2150859173
    with pytest.raises(PsrpFaultError, match="maximum number of 3 concurrent shells"):
        node.psrp().open()
    client.close_shell(shells[0])
    assert client.open_shell()


def test_an_unknown_configuration_is_a_fault(node: Node) -> None:
    pool = node.psrp()
    pool.shell.resource_uri = "http://schemas.microsoft.com/powershell/Nobody.Has.This"
    with pytest.raises(PsrpFaultError) as raised:
        pool.open()
    assert raised.value.code == 0x80338000


def test_a_slow_command_does_not_block_others(make_node: Callable[..., Node]) -> None:
    """Commands of 24 clients run on twelve nodes at the same time. Meanwhile, nodes serve other clients."""
    nodes = [make_node() for _ in range(12)]

    def work(number: int) -> bytes:
        client = nodes[number % 12].winrm("https" if number % 2 else "http")
        shell = client.open_shell()
        stdout, _, _ = run_winrm(client, shell, "held")
        client.close_shell(shell)
        return stdout

    with ThreadPoolExecutor(24) as executor:
        futures = [executor.submit(work, number) for number in range(24)]
        wait_for(lambda: all(len(node.host.runs) == 2 for node in nodes))
        quick = nodes[0].winrm()
        assert run_winrm(quick, quick.open_shell(), "hello")[2] == 0
        assert [node.host.finished for node in nodes] == [["hello"], *[[]] * 11]
        for node in nodes:
            node.host.release.set()
        assert {future.result() for future in futures} == {b"echo=held\r\n"}
    assert {len(node.host.finished) for node in nodes} == {2, 3}
